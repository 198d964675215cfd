package record_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"batcher/column"
	"batcher/record"
	"batcher/schema"
	"batcher/source"
)

// rereader decodes into rows as JSON and dead letters as "position code".
type rereader struct {
	*record.Decoder
	rows, dead []string
}

func newRereader(f record.Format) *rereader {
	r := &rereader{}
	r.Decoder = record.NewDecoder(record.Options{
		Table: schema.New(), Format: f, Rules: schema.Rules{MinRecords: 1},
		Block: func(b *column.Block) (*column.Block, error) {
			for c := column.NewCursor(b); c.Next(); {
				r.rows = append(r.rows, string(c.AppendJSON(nil)))
			}
			return nil, nil
		},
		Dead: func(l record.DeadLetter) error {
			r.dead = append(r.dead, fmt.Sprintf("%s %d %s", l.Source, l.Offset, l.Code))
			return nil
		},
	})
	return r
}

// TestARecordIsReadAgainAsItWasInItsObject reads each record of an object by
// itself, in the layout of the object's head.
func TestARecordIsReadAgainAsItWasInItsObject(t *testing.T) {
	for _, c := range []struct {
		name, text string
		format     record.Format
		kind       record.Kind
	}{
		{"a.csv", "id;name\n1;x\n2;\"y;z\"\n3\n", record.Format{}, record.CSV},
		{"a.ndjson", `{"id":1}` + "\n" + `{"id":` + "\n" + `{"id":2}` + "\n", record.Format{}, record.NDJSON},
		{"a.json", `[{"id":1},{"id":[1,{"x":2}]},5]`, record.Format{}, record.NDJSON},
		{"a.log", "one\ntwo\n", record.Format{}, record.Lines},
	} {
		whole := newRereader(c.format)
		var positions []int64
		note := func(pos int64) bool { positions = append(positions, pos); return true }
		if _, err := whole.Decode(t.Context(), record.Object{Source: c.name, Wanted: note}, strings.NewReader(c.text)); err != nil {
			t.Fatal(err)
		}
		if err := whole.Flush(); err != nil {
			t.Fatal(err)
		}
		one := newRereader(c.format)
		layout, err := one.Layout(t.Context(), record.Object{Source: c.name}, strings.NewReader(c.text))
		if err != nil || layout.Kind() != c.kind {
			t.Fatalf("%s: %v, %v", c.name, layout, err)
		}
		for i, pos := range positions {
			text := c.text[pos:]
			if i+1 < len(positions) {
				text = c.text[pos:positions[i+1]]
			}
			if err := one.Again(layout, c.name, pos, []byte(strings.TrimRight(text, ",]\n"))); err != nil {
				t.Fatal(err)
			}
		}
		if err := one.Flush(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one.rows, whole.rows) || !slices.Equal(one.dead, whole.dead) {
			t.Errorf("%s: got %v and %v, want %v and %v", c.name, one.rows, one.dead, whole.rows, whole.dead)
		}
		if len(whole.rows) == 0 {
			t.Errorf("%s: no rows", c.name)
		}
	}
}

// TestOnlyWantedRecordsAreTaken reads some records of an object, in any layout.
func TestOnlyWantedRecordsAreTaken(t *testing.T) {
	for name, text := range map[string]string{
		"a.csv":    "id\n10\n20\n30\n40\n",
		"a.ndjson": `{"id":10}` + "\n" + `{"id":20}` + "\n" + `{"id":30}` + "\n" + `{"id":40}` + "\n",
		"a.json":   `[{"id":10},{"id":20},{"id":30},{"id":40}]`,
	} {
		var all []int64
		whole := newRereader(record.Format{})
		if _, err := whole.Decode(t.Context(), record.Object{Source: name, Wanted: func(pos int64) bool { all = append(all, pos); return false }}, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if len(all) != 4 || whole.Flush() != nil || len(whole.rows) > 0 {
			t.Fatalf("%s: positions %v, rows %v", name, all, whole.rows)
		}
		some := newRereader(record.Format{})
		in := record.Object{Source: name, From: source.Position(all[1]), To: source.Position(all[3]), Wanted: func(pos int64) bool { return pos != all[2] }}
		res, err := some.Decode(t.Context(), in, strings.NewReader(text))
		if err != nil || some.Flush() != nil {
			t.Fatal(err)
		}
		if len(some.rows) != 1 || !strings.Contains(some.rows[0], fmt.Sprintf(`"_offset":%d,`, all[1])) || res.Records != 1 {
			t.Errorf("%s: rows %v of %d records", name, some.rows, res.Records)
		}
	}
}

func TestRecordsThatAreNoTextHaveNoLayout(t *testing.T) {
	_, err := newRereader(record.Format{}).Layout(t.Context(), record.Object{Source: "a.avro"}, strings.NewReader("Obj\x01"))
	var broken *record.BrokenError
	if !errors.Is(err, record.ErrNoText) && !errors.As(err, &broken) {
		t.Errorf("got %v", err)
	}
}

func TestAKindIsKnownByNameOnlyWhereTheNameSaysIt(t *testing.T) {
	for name, want := range map[string]record.Kind{
		"d/a.CSV.gz": record.CSV, "a.jsonl": record.NDJSON, "a.json.zst": record.NDJSON, "a.parquet": record.Parquet,
		"a.avro": record.Avro, "a.log": record.Auto, "csv": record.Auto,
	} {
		if got := (record.Format{}).ByName(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if got := (record.Format{Kind: record.Lines}).ByName(name); got != record.Lines {
			t.Errorf("%s: got %s where lines are said", name, got)
		}
	}
}
