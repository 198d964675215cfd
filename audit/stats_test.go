package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"batcher/audit"
	"batcher/dlq"
	"batcher/manifest"
	"batcher/schema"
)

// kinds is a store with one file that has a column of each kind, in two rows and a
// third one in which all are null.
func kinds(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	long := strings.Repeat("ä", 40)
	w.drop("a", `{"i":-7,"f":-0.5,"s":"`+long+`","at":"2026-01-01T00:00:00.0001Z","ok":true,"d":123456789012345678901234567890,"in":{"x":"b"},"day":"2026-01-02","cost":-1.25,"fee":-12345678901234567.89,"l":[1]}`+"\n"+
		`{"i":9,"f":1e300,"s":"","at":"2026-01-01T00:00:01.0009Z","ok":false,"d":-5,"in":{"x":"c"},"day":"1969-12-31","cost":7.5,"fee":98765432109876543.21,"l":[2]}`+"\n{}\n")
	for key, kind := range map[string]schema.Type{"day": {Kind: schema.Date}, "cost": {Kind: schema.Decimal, Precision: 10, Scale: 2}, "fee": {Kind: schema.Decimal, Precision: 38, Scale: 2}} {
		place, err := schema.ParsePlace(key)
		if err != nil {
			t.Fatal(err)
		}
		w.rules.Pins = append(w.rules.Pins, schema.Pin{Place: place, Type: kind})
	}
	w.run()
	return w
}

// TestStatisticsThatRowsDoNotHaveAreFound changes what is said of one column at a
// time: a reader that believed it would skip the file and lose rows.
func TestStatisticsThatRowsDoNotHaveAreFound(t *testing.T) {
	good := kinds(t)
	if rep := good.verify(audit.Options{Checks: all}); rep.Rows != 3 || rep.Source.Verified != 3 {
		t.Fatalf("the good store: %+v", rep)
	}
	ids := map[string]int32{}
	for _, l := range good.slot(1).Tables["events"].Schema.Inline.Leaves() {
		ids[strings.Join(l.Path, ".")] = l.Field.ID
	}
	type what func(s *manifest.ColumnStats)
	least := func(text string) what { return func(s *manifest.ColumnStats) { s.Min = []byte(text) } }
	greatest := func(text string) what { return func(s *manifest.ColumnStats) { s.Max = []byte(text) } }
	nulls := func(s *manifest.ColumnStats) { s.Nulls++ }
	rows, source := audit.CheckRows, audit.CheckSource
	for _, c := range []struct {
		column string
		change what
		checks audit.Check
		want   string
	}{
		{"_source", greatest(`"Z"`), rows, "I21"}, // below "a"
		{"_source", least(`"b"`), rows, "I21"},
		{"_source", nulls, rows, "I21"},
		{"_offset", greatest("3"), rows, "I21"},
		{"_offset", least("1"), rows, "I21"},
		{"_offset", greatest("3"), 0, ""}, // rows are not read
		{"_rescued", nulls, source, "I21"},
		{"_rescued", least(`"a"`), source, "I21"}, // all is null
		{"i", least("-6"), source, "I21"},
		{"i", least("-8"), source, "I21"},
		{"i", greatest("8"), source, "I21"},
		{"i", greatest("8"), rows, ""}, // not read
		{"i", greatest(`"9"`), source, "I21"},
		{"i", nulls, source, "I21"},
		{"i", func(s *manifest.ColumnStats) { s.Min, s.Max = nil, nil }, source, ""}, // less is said, and nothing wrong
		{"f", least("-0.25"), source, "I21"},
		{"f", greatest("1e299"), source, "I21"},
		{"f", greatest("1e+300"), source, ""},
		{"s", least(`"a"`), source, "I21"},
		{"s", greatest(`"` + strings.Repeat("ä", 32) + `"`), source, "I21"}, // cut, it is less than what stands there
		{"at", least(`"2026-01-01T00:00:00.001Z"`), source, "I21"},
		{"at", greatest(`"2026-01-01T00:00:01.000Z"`), source, "I21"},
		{"at", greatest(`"2026-01-01T00:00:01.002Z"`), source, "I21"},
		{"ok", least("false"), source, "I21"},
		{"d", greatest("123456789012345678901234567889"), source, "I21"},
		{"d", least("-4"), source, "I21"},
		{"cost", least("-1.24"), source, "I21"},
		{"cost", greatest("7.49"), source, "I21"},
		{"cost", greatest("7.50"), source, ""},
		{"fee", least("-12345678901234567.89"), source, ""},
		{"fee", least("-12345678901234600.00"), source, ""}, // what is written
		{"fee", least("-12345678901234567.88"), source, "I21"},
		{"fee", least("-12345678901235000.00"), source, "I21"},
		{"fee", greatest("98765432109876600.00"), source, ""},
		{"fee", greatest("98765432109876500.00"), source, "I21"},
		{"fee", greatest("98765432109877600.00"), source, "I21"},
		{"day", least(`"1970-01-01"`), source, "I21"},
		{"day", greatest(`"2026-01-01"`), source, "I21"},
		{"in.x", greatest(`"b"`), source, "I21"},
		{"in.x", nulls, source, "I21"},
	} {
		w := good.clone(t)
		entry := manifest.ColumnStats{ID: -1}
		w.restate(1, "events", func(s *manifest.ColumnStats) {
			if s.ID == ids[c.column] {
				c.change(s)
				entry = *s
			}
		})
		t.Run(fmt.Sprintf("%s %s %s %d", c.column, entry.Min, entry.Max, entry.Nulls), func(t *testing.T) {
			if entry.ID < 0 {
				t.Fatal("nothing is said of that column")
			}
			w.t = t
			w.verify(audit.Options{Checks: c.checks}, bytesFields(c.want)...)
		})
	}
}

// restate changes what is said of the columns of the first file that a manifest added
// to a table, there and in every live list.
func (w *world) restate(seq manifest.Seq, name string, change func(*manifest.ColumnStats)) {
	w.t.Helper()
	key := w.slot(seq).Tables[name].Add.Items[0].Key
	w.edit(seq, func(m *manifest.Manifest) {
		table(m, name, func(t *manifest.Table) {
			for _, list := range [][]manifest.File{t.Add.Items, t.Remove.Items, t.Live.Recent} {
				for i := range list {
					for j := range list[i].Columns {
						if list[i].Key == key {
							change(&list[i].Columns[j])
						}
					}
				}
			}
		})
	})
}

// TestStatisticsOfEveryFileAreProved has wrong ones of a file of dead letters, of one
// that was written again, and of one whose rows can be read at the head alone.
func TestStatisticsOfEveryFileAreProved(t *testing.T) {
	w := newWorld(t)
	w.drop("a", lines(0, 3)+"{a\n{b\n")
	w.run()
	w.discard(dlq.Filter{Limit: 1})
	w.verify(audit.Options{Checks: all})
	expired := w.clone(t)
	expired.expire()
	if expired.bytes.Objects()[w.slot(1).Tables["events_dead"].Add.Items[0].Key] != nil {
		t.Fatal("the file that was written again is still there")
	}
	for _, c := range []struct {
		world *world
		seq   manifest.Seq
	}{{w, 1}, {w, 2}, {expired, 2}} {
		bad := c.world.clone(t)
		bad.restate(c.seq, "events_dead", func(s *manifest.ColumnStats) {
			if s.ID == schema.LastReserved+3 { // stage
				s.Max = []byte(`"a"`)
			}
		})
		bad.verify(audit.Options{Checks: audit.CheckSource}, "I21")
	}
}
