package files_test

import (
	"errors"
	"testing"

	"batcher/source"
	"batcher/source/files"
)

func ranged(key string, from, to source.Position) source.Range {
	return source.Range{Key: key, ETag: "e", Size: 100, From: from, To: to}
}

func last(r source.Range) source.Range {
	r.Last = true
	return r
}

func other(r source.Range) source.Range {
	r.ETag = "other"
	return r
}

func TestCoveredComparesByKeyAndPosition(t *testing.T) {
	a, b := last(ranged("a", 0, 100)), last(ranged("b", 0, 100))
	empty := source.Range{Key: "empty", ETag: "e", Last: true}
	for name, c := range map[string]struct {
		rivals, own []source.Range
		want        files.Coverage
	}{
		"nothing":                    {nil, nil, files.CoveredNone},
		"no rivals":                  {nil, []source.Range{a, b}, files.CoveredNone},
		"other keys":                 {[]source.Range{b}, []source.Range{a}, files.CoveredNone},
		"all":                        {[]source.Range{b, a}, []source.Range{a, b}, files.CoveredAll},
		"one of two":                 {[]source.Range{b}, []source.Range{a, b}, files.CoveredSome},
		"pieces":                     {[]source.Range{last(ranged("a", 60, 100)), ranged("a", 0, 60)}, []source.Range{a}, files.CoveredAll},
		"pieces with a hole":         {[]source.Range{ranged("a", 0, 50), last(ranged("a", 60, 100))}, []source.Range{a}, files.CoveredSome},
		"a beginning":                {[]source.Range{ranged("a", 0, 60)}, []source.Range{a}, files.CoveredSome},
		"the part before":            {[]source.Range{ranged("a", 0, 60)}, []source.Range{ranged("a", 60, 80)}, files.CoveredNone},
		"larger":                     {[]source.Range{a}, []source.Range{ranged("a", 10, 20)}, files.CoveredAll},
		"all but the end":            {[]source.Range{ranged("a", 0, 100)}, []source.Range{a}, files.CoveredSome},
		"only the end is left":       {[]source.Range{ranged("a", 0, 100)}, []source.Range{last(ranged("a", 100, 100))}, files.CoveredNone},
		"the end":                    {[]source.Range{a}, []source.Range{last(ranged("a", 100, 100))}, files.CoveredAll},
		"an empty object":            {[]source.Range{empty}, []source.Range{empty}, files.CoveredAll},
		"an empty object, not yet":   {[]source.Range{a}, []source.Range{empty}, files.CoveredNone},
		"other content of the key":   {[]source.Range{other(a)}, []source.Range{a}, files.CoveredSome},
		"other content, other place": {[]source.Range{other(ranged("a", 0, 10))}, []source.Range{ranged("a", 50, 60)}, files.CoveredSome},
	} {
		if got := files.Covered(c.rivals, c.own); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestResolveAnswersAnExplicitRange(t *testing.T) {
	c := newChain(t, newBucket(), files.Config{})
	done, open := last(ranged("done", 0, 100)), ranged("open", 0, 40)
	c.commit(files.Delta{Ranges: []source.Range{done, open}})
	fresh := []source.Range{ranged("new", 0, 10), ranged("new", 10, 20)}
	for name, tc := range map[string]struct {
		ranges []source.Range
		want   files.Coverage
	}{
		"all":                      {[]source.Range{done, open, ranged("open", 10, 30)}, files.CoveredAll},
		"none":                     {append(fresh, last(ranged("open", 40, 100))), files.CoveredNone},
		"none, then some":          {append(fresh, done), files.CoveredSome},
		"an open object half way":  {[]source.Range{ranged("open", 20, 60)}, files.CoveredSome},
		"an open object to its to": {[]source.Range{last(ranged("open", 0, 40))}, files.CoveredSome},
		"one range twice":          {[]source.Range{fresh[0], fresh[0]}, files.CoveredSome},
	} {
		got, plan, err := c.source.Resolve(t.Context(), tc.ranges, c.head, c.set)
		if err != nil || got != tc.want || (plan != nil) != (tc.want == files.CoveredNone) {
			t.Errorf("%s: %s, plan %v, %v; want %s", name, got, plan, err, tc.want)
		}
		if plan == nil {
			continue
		}
		for i, o := range plan.Objects {
			if *o.Exact != tc.ranges[i] || o.Key != tc.ranges[i].Key || o.From != tc.ranges[i].From || o.ETag != "e" || o.Size != 100 {
				t.Errorf("%s: object %d is %+v", name, i, o)
			}
		}
		if p := c.advance(c.head, files.Delta{Ranges: tc.ranges}); len(p.Open) != 1 || p.Count != 2 {
			t.Errorf("%s: progress %+v", name, p)
		}
	}
	for _, r := range []source.Range{ranged("new", 1, 2), ranged("open", 41, 50)} {
		_, _, err := c.source.Resolve(t.Context(), []source.Range{r}, c.head, c.set)
		if gap := asGap(t, err); gap.Key != r.Key {
			t.Errorf("gap %+v", gap)
		}
	}
	for _, r := range []source.Range{other(done), other(ranged("open", 40, 50))} {
		_, _, err := c.source.Resolve(t.Context(), []source.Range{r}, c.head, c.set)
		var changed *files.ChangedError
		if !errors.As(err, &changed) || changed.Key != r.Key {
			t.Errorf("%s: %v, want a ChangedError", r.Key, err)
		}
	}
	_, err := c.source.Open(t.Context(), files.Object{From: 0, Exact: &done})
	if gap := asGap(t, err); gap.Reason != "gone" {
		t.Errorf("an exact range of an object that is gone: %+v", gap)
	}
}
