package compact_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"batcher/commit"
	"batcher/compact"
	"batcher/localdev"
	"batcher/manifest"
	"batcher/schema"
)

// sized makes live files of these sizes, one row a byte.
func sized(sizes ...int64) []manifest.File {
	var out []manifest.File
	for i, n := range sizes {
		out = append(out, manifest.File{Key: fmt.Sprintf("f%d", i), Size: n, Rows: n})
	}
	return out
}

// planned prints groups as the numbers of their files.
func planned(groups []compact.Group) string {
	var out []string
	for _, g := range groups {
		var keys []string
		for i := range g.Files {
			keys = append(keys, strings.TrimPrefix(g.Files[i].Key, "f"))
		}
		out = append(out, strings.Join(keys, " "))
	}
	return strings.Join(out, "; ")
}

const kb, mb = 1 << 10, 1 << 20

func TestPlan(t *testing.T) {
	part := func(f []manifest.File, days ...string) []manifest.File {
		for i := range f {
			f[i].Part = map[string]string{"day": days[i]}
		}
		return f
	}
	from := func(f []manifest.File, least ...string) []manifest.File {
		for i := range f {
			f[i].Columns = []manifest.ColumnStats{{ID: 20, Min: json.RawMessage(least[i])}}
		}
		return f
	}
	tests := []struct {
		name  string
		live  []manifest.File
		rules compact.Rules
		want  string
	}{
		{"nothing", nil, compact.Rules{}, ""},
		{"seven of a class wait", sized(1, 2, 3, 4, 5, 6, 7), compact.Rules{}, ""},
		{"eight of a class", sized(1, 2, 3, 4, 5, 6, 7, 8), compact.Rules{}, "0 1 2 3 4 5 6 7"},
		{"classes are apart", sized(kb, kb, kb, 20*kb, 20*kb, 20*kb, 20*kb, kb), compact.Rules{FanIn: 4}, "0 1 2 7; 3 4 5 6"},
		{"classes are not apart", sized(kb, 20*kb, 1*mb, 70*mb), compact.Rules{Classes: compact.AllSizes}, "0 1 2"},
		{"one alone is left", sized(kb), compact.Rules{Classes: compact.AllSizes}, ""},
		{"large enough", sized(64*mb, 64*mb, 64*mb), compact.Rules{FanIn: 2}, ""},
		{"cut at the target", sized(50*mb, 50*mb, 50*mb, 50*mb, 50*mb), compact.Rules{FanIn: 2}, "0 1; 2 3"},
		{"a full group of few files", sized(50*mb, 50*mb, 50*mb), compact.Rules{}, "0 1"},
		{"cut at the rows", sized(20, 20, 20, 20, 20), compact.Rules{FanIn: 2, Rows: 50}, "0 1; 2 3"},
		{"rows enough", sized(20, 25, 30, 20), compact.Rules{FanIn: 2, Rows: 50}, "0 3"},
		{"cut at the number of files", sized(1, 1, 1, 1, 1, 1, 1), compact.Rules{FanIn: 2, Most: 3}, "0 1 2; 3 4 5"},
		{"partitions", part(sized(1, 1, 1, 1, 1), "a", "b", "a", "b", "c"), compact.Rules{FanIn: 2}, "0 2; 1 3"},
		{"a null is a partition", part(sized(1, 1, 1), "a", "", "a"), compact.Rules{FanIn: 2}, "0 2"},
		{"in the order of a column", from(sized(1, 1, 1, 1), `"2026-01-03"`, `"2026-01-01"`, ``, `"2026-01-02"`), compact.Rules{FanIn: 2, Order: 20}, "2 1 3 0"},
		{"a column without statistics", sized(1, 1), compact.Rules{FanIn: 2, Order: 20}, "0 1"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			groups := compact.Plan(c.live, c.rules)
			if got := planned(groups); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			for _, g := range groups {
				var bytes, rows int64
				for i := range g.Files {
					bytes, rows = bytes+g.Files[i].Size, rows+g.Files[i].Rows
				}
				if g.Bytes != bytes || g.Rows != rows {
					t.Errorf("%d bytes and %d rows, want %d and %d", g.Bytes, g.Rows, bytes, rows)
				}
			}
		})
	}
}

// TestATableStaysSmallForLittleWork plays 20,000 batches of every size: how many
// files are live stays bounded, and so does how often a byte is written again.
func TestATableStaysSmallForLittleWork(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	var live []manifest.File
	var ingested, rewritten int64
	most := 0
	for n := range 20_000 {
		size := int64(1) << (8 + random.IntN(16)) // 256 B to 8 MiB, mostly small
		size += random.Int64N(size)
		live = append(live, manifest.File{Key: fmt.Sprint(n), Size: size})
		ingested += size
		for groups := compact.Plan(live, compact.Rules{}); len(groups) > 0; groups = compact.Plan(live, compact.Rules{}) {
			for _, g := range groups {
				gone := map[string]bool{}
				for i := range g.Files {
					gone[g.Files[i].Key] = true
				}
				live = slices.DeleteFunc(live, func(f manifest.File) bool { return gone[f.Key] })
				live = append(live, manifest.File{Key: fmt.Sprint("m", n, rewritten), Size: g.Bytes})
				rewritten += g.Bytes
				if g.Bytes > compact.DefaultTarget*3/2 {
					t.Fatalf("a group of %d bytes", g.Bytes)
				}
			}
		}
		most = max(most, len(live)-int(ingested/(compact.DefaultTarget/2)))
	}
	small := 0
	for i := range live {
		if live[i].Size < compact.DefaultTarget/2 {
			small++
		}
	}
	const classes = 6 // 0, from 16 and 128 KiB, 1, 8 and 64 MiB, the last of which is not merged
	if limit := classes * (compact.DefaultFanIn - 1); small > limit || most > limit {
		t.Errorf("%d small files at the end and %d more than large ones at a time, want at most %d", small, most, limit)
	}
	if times := float64(rewritten) / float64(ingested); times > classes {
		t.Errorf("a byte is written again %.1f times", times)
	} else {
		localdev.Figure("files merged, 20,000 batches of 256 B to 16 MiB", fmt.Sprintf("%d live files for %d GiB, %d of them small, each byte written again %.2f times", len(live), ingested>>30, small, times))
	}
}

// TestAWideTableIsMergedIntoFilesOfFewRows plans eight files of a million rows each,
// in a table of few columns and in one of many, whose footers would grow beyond bounds.
func TestAWideTableIsMergedIntoFilesOfFewRows(t *testing.T) {
	for _, c := range []struct {
		columns int
		want    compact.Merged
	}{
		{7, compact.Merged{Files: 8, Into: 1, Rows: 8_000_000, Left: 1}},
		{1997, compact.Merged{Files: 6, Into: 2, Rows: 6_000_000, Left: 2}},
	} {
		w := newWorld(t, 1)
		a := w.begin(w.writers[0], size{1, 8, 1})
		s := schema.New()
		for range c.columns {
			s.LastID++
			name := fmt.Sprint("c", s.LastID)
			s.Fields = append(s.Fields, schema.Field{ID: s.LastID, Key: name, Name: name, Type: schema.Type{Kind: schema.Int64}})
		}
		d := a.proposal.Tables["events"]
		for i := range d.Add {
			d.Add[i].Rows = 1_000_000
		}
		d.Schema = s
		a.proposal.Tables["events"] = d
		a.proposal.Batch.Rows = manifest.RowCounts{Read: 8_000_000, Written: 8_000_000}
		if v := w.propose(a); v != commit.Committed {
			t.Fatal(v)
		}
		m := &compact.Merge{Log: a.log, Store: w.bytes}
		got, err := m.Plan(t.Context(), w.head(), "events")
		if got.Read = 0; err != nil || got != c.want {
			t.Errorf("%d columns: %+v, %v; want %+v", c.columns, got, err, c.want)
		}
	}
}
