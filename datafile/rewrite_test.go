package datafile_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"batcher/column"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/schema"
)

// open opens a file in memory.
func open(t *testing.T, file []byte) *datafile.Reader {
	t.Helper()
	r, err := datafile.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFilterKeepsTheRowsThatAreAskedFor filters random files by record id and
// holds what comes out, and the statistics of it, against the rows themselves.
func TestFilterKeepsTheRowsThatAreAskedFor(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 3))
	s := every()
	for range 20 {
		rows := make([]row, 1+rnd.IntN(300))
		templates := everyRow()
		for i := range rows {
			rows[i] = row{}
			for k, v := range templates[rnd.IntN(len(templates))] {
				rows[i][k] = v
			}
			rows[i]["_source"], rows[i]["_offset"] = fmt.Sprintf("o%d", rnd.IntN(4)), int64(i)
		}
		file, _ := write(t, datafile.Options{RowGroupRows: 1 + rnd.IntN(100)}, shred(s, rows))
		share := rnd.IntN(101)
		keeps := func(source string, offset int64) bool {
			return source != "o1" && int(offset*7919%100) < share
		}
		var want []row
		for _, r := range rows {
			if keeps(r["_source"].(string), r["_offset"].(int64)) {
				want = append(want, r)
			}
		}
		var out []*column.Block
		read, written, err := open(t, file).Rewrite(s, datafile.Filter(func(source []byte, offset int64) bool {
			return keeps(string(source), offset)
		}), func(b *column.Block) error {
			out = append(out, b)
			return nil
		})
		if err != nil || read != int64(len(rows)) || written != int64(len(want)) {
			t.Fatalf("%d rows read, %d written, %v; want %d and %d", read, written, err, len(rows), len(want))
		}
		if len(want) == 0 {
			continue
		}
		again, f := write(t, datafile.Options{}, out...)
		whole := shred(s, want)
		if got := datafileLines(t, again, s); !slices.Equal(got, texts(whole)) {
			t.Fatalf("read\n%v\nwant\n%v", got, texts(whole))
		}
		if _, w := write(t, datafile.Options{}, whole); w.Rows != f.Rows || !slices.EqualFunc(w.Columns, f.Columns, sameStats) {
			t.Errorf("statistics %v, want %v", f.Columns, w.Columns)
		}
	}
}

func sameStats(a, b manifest.ColumnStats) bool {
	return a.ID == b.ID && a.Nulls == b.Nulls && string(a.Min) == string(b.Min) && string(a.Max) == string(b.Max)
}

func datafileLines(t *testing.T, file []byte, s *schema.Schema) []string {
	t.Helper()
	lines, err := readAll(file, s)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestRecordsAreTheIdsInOrder(t *testing.T) {
	var rows []row
	for i := range 40_000 {
		rows = append(rows, row{"_source": fmt.Sprintf("o%d", i/1000), "_offset": int64(i), "s": strings.Repeat("x", 30)})
	}
	file, _ := write(t, datafile.Options{}, shred(every(), rows))
	i := 0
	for r, err := range open(t, file).Records() {
		if err != nil || string(r.Source) != fmt.Sprintf("o%d", i/1000) || r.Offset != int64(i) {
			t.Fatalf("row %d: %q %d, %v", i, r.Source, r.Offset, err)
		}
		i++
		if i == 30_000 {
			break
		}
	}
	if i != 30_000 {
		t.Errorf("%d rows", i)
	}
}

func TestRowsWithoutARecordIDCannotBeFiltered(t *testing.T) {
	file, _ := write(t, datafile.Options{}, shred(every(), []row{{"s": "x"}}))
	keep := datafile.Filter(func([]byte, int64) bool { return true })
	if _, _, err := open(t, file).Rewrite(every(), keep, func(*column.Block) error { return nil }); !errors.Is(err, datafile.ErrDamaged) {
		t.Errorf("got %v", err)
	}
	for _, err := range open(t, file).Records() {
		if !errors.Is(err, datafile.ErrDamaged) {
			t.Errorf("got %v", err)
		}
	}
}

func TestStatisticsSayWhichFilesMayHoldASource(t *testing.T) {
	long := strings.Repeat("b", 40)
	for _, c := range []struct {
		sources []string
		may     map[string]bool
	}{
		{[]string{"b", "d"}, map[string]bool{"a": false, "b": true, "c": true, "d": true, "da": false, "": false}},
		{[]string{"", "d"}, map[string]bool{"": true, "e": false}},
		{[]string{""}, map[string]bool{"": true, "a": false}},
		{[]string{"a", long}, map[string]bool{"a": true, long: true, "z": true}}, // no maximum is kept
		{[]string{"<&>\u2028"}, map[string]bool{"<&>\u2028": true, "<&>": false}},
	} {
		var rows []row
		for _, s := range c.sources {
			rows = append(rows, row{"_source": s, "_offset": int64(0)})
		}
		_, f := write(t, datafile.Options{}, shred(every(), rows))
		for source, want := range c.may {
			if got := datafile.MayHold(&f, source, source); got != want {
				t.Errorf("%q: may hold %q: %v", c.sources, source, got)
			}
		}
	}
	_, f := write(t, datafile.Options{}, shred(every(), []row{{"_source": "c", "_offset": int64(0)}}))
	for span, want := range map[[2]string]bool{{"a", "b"}: false, {"a", "c"}: true, {"a", "d"}: true, {"c", "d"}: true, {"d", "e"}: false} {
		if got := datafile.MayHold(&f, span[0], span[1]); got != want {
			t.Errorf("may hold %v: %v", span, got)
		}
	}
	if !datafile.MayHold(&manifest.File{}, "x", "x") {
		t.Error("a file without statistics may hold anything")
	}
}
