package record_test

import (
	"slices"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
)

func TestFold_KeysThatDifferInCaseAlone(t *testing.T) {
	table := published(t, field(17, "id", `"int64"`)+","+field(18, "user", `{"struct":[`+field(19, "name", `"string"`)+`]}`))
	frozen := schema.Rules{Contract: schema.DiscardValue}
	for _, c := range []struct{ name, lines, columns, rows string }{
		{"alone", `{"ID":1}`, "", `{"id":1,"user":null}`},
		{"escaped", `{"\u0049d":1}`, "", `{"id":1,"user":null}`},
		{"nested", `{"USER":{"Name":"a"}}`, "", `{"id":null,"user":{"name":"a"}}`},
		{"both: the exact one", `{"ID":1,"id":2}`, "", `{"id":2,"user":null}`},
		{"both: the exact one first", `{"id":2,"ID":1}`, "", `{"id":2,"user":null}`},
		{"both, neither exact: the lesser", `{"iD":1,"Id":2,"ID":3}`, "", `{"id":3,"user":null}`},
		{"both, one of them null", `{"ID":1,"id":null}`, "", `{"id":null,"user":null}`},
		{"both, nested", `{"User":{"name":"a"},"user":{"NAME":"b","name":"c"}}`, "", `{"id":null,"user":{"name":"c"}}`},
		{"twice", `{"ID":1,"ID":2}`, "", ``},
		{"not alike", `{"ıd":1,"i d":2}`, "", `{"id":null,"user":null}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := decode(t, record.Options{Table: table, Rules: frozen}, input{"o", c.lines + "\n"})
			if got := users(out); got != c.rows || !out.schema.Equal(table) {
				t.Errorf("got %s, want %s (%s)", got, c.rows, columns(out.schema))
			}
			if c.rows == "" && codes(out) != "schema/duplicate_key" {
				t.Errorf("dead letters %s", codes(out))
			}
		})
	}
	out := decode(t, record.Options{Table: table, Rules: schema.Rules{Contract: schema.Freeze}}, input{"o", `{"ID":1}` + "\n"})
	if got := users(out); got != `{"id":1,"user":null}` {
		t.Errorf("frozen: %s", got)
	}
	if _, err := try(t, record.Options{Table: table, Rules: schema.Rules{Contract: schema.Freeze}}, input{"o", `{"ID":1,"id":1}` + "\n"}); err == nil {
		t.Error("a frozen table takes a second key")
	}
}

// TestFold_OrderOfRecordsDoesNotMatter reads the records of a batch in every order,
// with all of them at the head of the batch and with few.
func TestFold_OrderOfRecordsDoesNotMatter(t *testing.T) {
	lines := []string{`{"ID":1,"n":1}`, `{"id":2,"n":2}`, `{"Id":3,"iD":4,"n":3}`, `{"o":{"A":1},"n":4}`, `{"O":{"a":2,"A":3},"n":5}`}
	want := ""
	permutations(lines, func(order []string) {
		out := decode(t, record.Options{Rules: schema.Rules{MinRecords: 1}}, input{"o", strings.Join(order, "\n") + "\n"})
		rows := strings.Split(users(out), "\n")
		slices.Sort(rows)
		got := columns(out.schema) + "\n" + strings.Join(rows, "\n")
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("%s became\n%s\nwant\n%s", order, got, want)
		}
		late := decode(t, record.Options{Rules: schema.Rules{MinRecords: 1}, Limits: record.Limits{PrimeBytes: 30}}, input{"o", strings.Join(order, "\n") + "\n"})
		if err := checkBatch(late, strings.Join(order, "\n")+"\n"); err != nil {
			t.Fatalf("%s: %v", order, err)
		}
	})
	if first, _, _ := strings.Cut(want, "\n"); first != "id:int64,id_2:int64,id_3:int64,n:int64,o:struct<a:int64,a_2:int64>" {
		t.Errorf("columns %s", first)
	}
}

func permutations(lines []string, each func([]string)) {
	var permute func(from int)
	permute = func(from int) {
		if from == len(lines) {
			each(slices.Clone(lines))
			return
		}
		for i := from; i < len(lines); i++ {
			lines[from], lines[i] = lines[i], lines[from]
			permute(from + 1)
			lines[from], lines[i] = lines[i], lines[from]
		}
	}
	permute(0)
}

func TestFold_HeadersOfCSV(t *testing.T) {
	csv := record.Options{Format: record.Format{Kind: record.CSV}}
	for _, c := range []struct{ name, files, columns, rows string }{
		{"in two files", "ID,x\n1,2\n|id, X \n3,4\n", "id:int64,x:int64", `{"id":1,"x":2} {"id":3,"x":4}`},
		{"in one file, never both at once", "ID,id\n1,\n,2\n", "id:int64,id_2:int64", `{"id":null,"id_2":1} {"id":2,"id_2":null}`},
		{"in one file, one without values", "ID,id\n1,\n2,\n|id\n3\n", "id:int64,id_2:int64", `{"id":null,"id_2":1} {"id":null,"id_2":2} {"id":3,"id_2":null}`},
		{"twice and in two cases", "a,A,a\n1,2,3\n", "a:int64,a_2:int64,a_3:int64", `{"a":1,"a_2":2,"a_3":3}`},
		{"nothing", ",\n1,2\n", "column_1:int64,column_2:int64", `{"column_1":null,"column_2":null} {"column_1":1,"column_2":2}`},
		{"nothing, and what would be made up", ",column_1\n1,2\n", "column_1:int64,column_1_2:int64", `{"column_1":2,"column_1_2":1}`},
		{"many", "a,a,a,a,a,a,a,a,a,a,a\n1,2,3,4,5,6,7,8,9,10,11\n", "a:int64,a_10:int64,a_11:int64,a_2:int64,a_3:int64,a_4:int64,a_5:int64,a_6:int64,a_7:int64,a_8:int64,a_9:int64", `{"a":1,"a_10":10,"a_11":11,"a_2":2,"a_3":3,"a_4":4,"a_5":5,"a_6":6,"a_7":7,"a_8":8,"a_9":9}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var objects []input
			for i, body := range strings.Split(c.files, "|") {
				objects = append(objects, input{string(rune('a' + i)), body})
			}
			out := decode(t, csv, objects...)
			if got := strings.ReplaceAll(users(out), "\n", " "); got != c.rows || columns(out.schema) != c.columns {
				t.Errorf("got %s of %s\nwant %s of %s", got, columns(out.schema), c.rows, c.columns)
			}
			again := csv
			again.Table = out.schema
			if twice := decode(t, again, objects...); users(twice) != users(out) || !twice.schema.Equal(out.schema) {
				t.Errorf("the next batch: %s of %s", users(twice), columns(twice.schema))
			}
		})
	}
}

// TestFold_HeadersOfTablesThatEarlierProgramsMade: the names that they made up go on.
func TestFold_HeadersOfTablesThatEarlierProgramsMade(t *testing.T) {
	table := published(t, field(17, "a", `"int64"`)+","+field(18, "a_2", `"int64"`)+","+field(19, "column_3", `"int64"`))
	opt := record.Options{Table: table, Format: record.Format{Kind: record.CSV}}
	out := decode(t, opt, input{"1", "a,a,\n1,2,3\n"}, input{"2", "A,A\n4,5\n"}, input{"3", "a,a,a_2\n6,7,8\n"}, input{"4", "column_3,a_2\n9,10\n"})
	want := `{"a":1,"a_2":2,"column_3":3,"a_3":null}
{"a":4,"a_2":5,"column_3":null,"a_3":null}
{"a":6,"a_2":8,"column_3":null,"a_3":7}
{"a":null,"a_2":10,"column_3":9,"a_3":null}`
	if got := users(out); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	pinned := record.Options{Rules: schema.Rules{Pins: []schema.Pin{{Place: schema.Place{{Key: "column_2"}}, Type: schema.Type{Kind: schema.String}}}}, Format: opt.Format}
	if out := decode(t, pinned, input{"1", "a,\n1,2\n"}); users(out) != `{"a":1,"column_2":"2"}` {
		t.Errorf("pinned: %s", users(out))
	}
}

// TestNotes_PinsThatMatchNothing: a place that is pinned and in no record is named.
func TestNotes_PinsThatMatchNothing(t *testing.T) {
	pin := func(place string) schema.Pin {
		p, err := schema.ParsePlace(place)
		if err != nil {
			t.Fatal(err)
		}
		return schema.Pin{Place: p, Type: schema.Type{Kind: schema.String}, Default: `"x"`}
	}
	rules := schema.Rules{Pins: []schema.Pin{pin("Country"), pin("contry"), pin("o.a"), pin("o.b"), pin("l[].a"), pin("l[].b"), pin("late"), pin("none")}}
	lines := `{"country":"de","o":{"a":"1"},"l":[{},{"A":"1"}],"none":null}` + "\n"
	for name, c := range map[string]struct {
		kind record.Kind
		text string
		want string
	}{
		"objects":    {record.NDJSON, strings.Repeat(lines, 3), "contry l[].b late o.b"},
		"a late one": {record.NDJSON, strings.Repeat(lines, 30) + `{"z":1,"late":"x"}` + "\n" + lines, "contry l[].b o.b"},
		"a header":   {record.CSV, "COUNTRY,o,l,none\nde,,,\n", "contry l[].a l[].b late o.a o.b"},
		"nothing":    {record.NDJSON, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := decode(t, record.Options{Rules: rules, Format: record.Format{Kind: c.kind}, Limits: record.Limits{PrimeBytes: 100}}, input{"o", c.text})
			unmet := slices.Clone(out.notes.Unmet)
			slices.Sort(unmet)
			if got := strings.Join(unmet, " "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestFold_SpellingsThatChange: what is expected follows the records, without a loss
// where spellings alternate, meet, or stand in records that are no rows.
func TestFold_SpellingsThatChange(t *testing.T) {
	table := published(t, field(17, "id", `"int64"`)+","+field(18, "n", `"int64"`))
	var text strings.Builder
	for i := range 50 {
		text.WriteString([]string{`{"ID":1,"N":2}`, `{"id":1,"n":2}`, `{"ID":1,"N":2`, `{"Id":1,"n":2,"N":3}`, `{"ID":1,"ID":1}`}[i%5] + "\n")
	}
	out := decode(t, record.Options{Table: table, Rules: schema.Rules{Contract: schema.DiscardValue}}, input{"o", text.String()})
	if len(out.rows) != 30 || len(out.dead) != 20 {
		t.Fatalf("%d rows, %d dead letters", len(out.rows), len(out.dead))
	}
	for _, row := range out.rows {
		if user(row) != `{"id":1,"n":2}` {
			t.Errorf("row %s", row)
		}
	}
}

// TestFold_ADeadLetterTeachesNothing: a key that stands twice is found in an object
// whose key differs from a known one in case alone.
func TestFold_ADeadLetterTeachesNothing(t *testing.T) {
	good := `{"b":1,"a":1}` + "\n" + `{"b":2,"B":{"x":1}}` + "\n"
	bad := `{"a":{},"B":{"x":1,"x":2}}` + "\n"
	rules := schema.Rules{MinRecords: 1}
	want := decode(t, record.Options{Rules: rules}, input{"o", good})
	got := decode(t, record.Options{Rules: rules}, input{"o", good + bad})
	if columns(got.schema) != columns(want.schema) || codes(got) != "schema/duplicate_key" {
		t.Errorf("columns %s, want %s; dead letters %s", columns(got.schema), columns(want.schema), codes(got))
	}
}
