package dlq

import (
	"context"
	"errors"
	"fmt"

	"batcher/commit"
	"batcher/manifest"
	"batcher/record"
	"batcher/segment"
	"batcher/source"
	"batcher/source/files"
)

// textCodes are reasons that only a text has that was read as JSON. A record of a
// format with types of its own may have others of jsonCodes, too: its letter shows
// it as JSON, which is not what it was read from.
var (
	textCodes = map[string]bool{"syntax": true, "trailing": true, "lone_surrogate": true}
	jsonCodes = map[string]bool{"syntax": true, "trailing": true, "lone_surrogate": true, "too_deep": true, "not_object": true, "duplicate_key": true}
)

// wayOf says how a letter is tried again, or that it is not and why.
func (q *Queue) wayOf(l *record.DeadLetter, e Edit) (way, fate, string) {
	unchanged, codes := e.Text == nil || !e.JSON && string(e.Text) == string(l.Raw), jsonCodes
	if unchanged {
		codes = textCodes
	}
	switch {
	case isQuarantined(l):
		return byText, refused, "it stands for a whole object, which retry reads again"
	case e.JSON:
		return byText, row, ""
	case l.Stage == "envelope" && !unchanged:
		return byText, refused, "an edited envelope is no record: give one as an object under record"
	case unchanged && (isCut(l) || l.Stage == "envelope" || q.layoutOf(l, codes) == nil):
		return bySource, row, ""
	case q.layoutOf(l, codes) == nil:
		return byLayout, row, ""
	}
	return byText, row, ""
}

// layoutOf is the layout of a letter's text as far as the letter tells it; nil
// where its object has to. Where the object's name does not say that it is JSON its
// letter's code does, if that is one of codes.
func (q *Queue) layoutOf(l *record.DeadLetter, codes map[string]bool) *record.Layout {
	switch q.Format.ByName(source.KeyOf(l.Source)) {
	case record.NDJSON, record.JSON:
		return record.JSONLayout()
	case record.Lines:
		return record.LinesLayout()
	case record.Auto:
		if codes[l.Code] {
			return record.JSONLayout()
		}
	}
	return nil
}

// locate finds out with which ranges of the source the letters came that need
// their object: it follows the chain back from the newest file that has one of
// them. A letter whose range is not found is refused.
func (a *attempt) locate(ctx context.Context, list []*chosen) error {
	open := map[string][]*chosen{}
	left, seq := 0, manifest.Seq(0)
	for _, c := range list {
		if c.way != byText && c.fate != refused {
			open[c.Source] = append(open[c.Source], c)
			left++
			seq = max(seq, a.live[c.at].Seq)
		}
	}
	for left > 0 && seq > 0 {
		s, err := a.Log.Slot(ctx, seq)
		if err != nil {
			return err
		}
		found, err := a.origins(ctx, s.Manifest, open)
		if err != nil {
			return err
		}
		left -= found
		if seq--; s.Manifest.Kind == manifest.Rewind {
			seq = *s.Manifest.RewindTo // what came between is not what stands now
		}
	}
	for _, lost := range open {
		for _, c := range lost {
			c.fate, c.why = refused, "no manifest tells any more which version of its object it came from"
		}
	}
	return nil
}

// origins takes those letters out of open that came with a manifest, and returns
// how many those are.
func (a *attempt) origins(ctx context.Context, m *manifest.Manifest, open map[string][]*chosen) (int, error) {
	ranges, err := a.ranges(ctx, m)
	if err != nil {
		return 0, err
	}
	found := 0
	for i := range ranges {
		r := &ranges[i]
		name := r.Source()
		var others []*chosen
		for _, c := range open[name] {
			inside := c.Offset >= int64(r.From) && c.Offset < int64(r.To) || r.Broken != "" && c.Offset == int64(r.From)
			if inside {
				c.origin = r
				found++
			} else {
				others = append(others, c)
			}
		}
		if open[name] = others; len(others) == 0 {
			delete(open, name)
		}
	}
	return found, nil
}

// ranges returns what a manifest consumed: nothing where that cannot be told any
// more because no retained snapshot needs it.
func (a *attempt) ranges(ctx context.Context, m *manifest.Manifest) ([]source.Range, error) {
	if m.Batch == nil {
		return nil, nil
	}
	list := m.Batch.Ranges
	if list.Loaded() {
		return list.Items, nil
	}
	run, err := a.Log.Load(ctx, *list.Ref)
	var gone *commit.MissingError
	if errors.As(err, &gone) && m.Seq < a.head.Manifest.RetainFrom {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ranges, err := segment.Decode[source.Range]("list", run)
	if err != nil {
		return nil, fmt.Errorf("%w: ranges of manifest %d: %w", commit.ErrDamaged, int64(m.Seq), err)
	}
	return ranges, nil
}

// objectOf is the object of a range as it was consumed.
func objectOf(r *source.Range) files.Object {
	o := files.Object{Name: r.Source(), Was: r.Was, From: r.From, Exact: r}
	o.Key, o.ETag, o.Size, o.Modified = r.Key, r.ETag, r.Size, r.Modified
	return o
}
