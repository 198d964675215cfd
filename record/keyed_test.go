package record_test

import (
	"errors"
	"testing"

	"batcher/keypath"
	"batcher/record"
	"batcher/schema"
)

// keyRules take columns from keys that follow a pattern.
func keyRules(t *testing.T, pattern string) schema.Rules {
	t.Helper()
	path, err := keypath.Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	rules := schema.Rules{Key: &schema.KeyColumns{Path: path}}
	for _, f := range path.Fields() {
		c := schema.KeyColumn{Name: f.Name, Type: schema.Type{Kind: schema.String}}
		if f.Type != "" {
			if c.Type, err = schema.ParseType(f.Type); err != nil {
				t.Fatal(err)
			}
		}
		rules.Key.Columns = append(rules.Key.Columns, c)
		rules.Derived = append(rules.Derived, schema.Derived{Name: c.Name, Part: schema.FromKey, Of: c.Type})
	}
	return rules
}

func TestColumnsFromKeys(t *testing.T) {
	for _, c := range []struct{ pattern, key, want string }{
		{"{a}/*", "x/o", `"x"`},
		{"{a:bool}/*", "t/o", `true`},
		{"{a:int32}/*", "007/o", `7`},
		{"{a:int32}/*", "3000000000/o", "no"},
		{"{a:int64}/*", "9007199254740993/o", `9007199254740993`},
		{"{a:int64}/*", "1.5/o", "no"},
		{"{a:float64}/*", "1e3/o", `1000`},
		{"{a:float64}/*", "0.10000000000000000001/o", "no"}, // no double, digit for digit
		{"{a:decimal(5,2)}/*", "1.5/o", `1.50`},
		{"{a:decimal(5,2)}/*", "1.555/o", "no"},
		{"{a:date}/*", "2024-2-9/o", `"2024-02-09"`},
		{"{a:date}/*", "2024-02-30/o", "no"},
		{"{a:date}/*", "/o", "null"},
		{"{a:date}/*", "NULL/o", "null"},
		{"{a}/*", "NULL/o", `"NULL"`},
		{"a={a:timestamp}/*", "a=2024-01-01 10%3A00%3A00Z/o", `"2024-01-01T10:00:00.000000Z"`},
		{"a={a:timestamp}/*", "a=2024-01-01 10%3A00%3A00/o", "no"},
		{"a={a:timestamp}/*", "a=2024-01-01 10%3A00%3A00.1234567Z/o", "no"},
		{"{a}/*", "x/o#0123456789abcdef", `"x"`}, // the second content of a key
		{"{a}/o", "x/o#0123456789abcdef", `"x"`},
	} {
		rules := keyRules(t, c.pattern)
		out, err := try(t, record.Options{Rules: rules}, input{c.key, `{"n":1}` + "\n" + `{"n":2}` + "\n"})
		var wrong *record.KeyError
		if c.want == "no" {
			if !errors.As(err, &wrong) || record.CheckKey(rules, c.key) == nil {
				t.Errorf("%s of %q: %v, want a KeyError", c.pattern, c.key, err)
			}
			continue
		}
		if err != nil || users(out) != `{"n":1,"a":`+c.want+"}\n"+`{"n":2,"a":`+c.want+"}" {
			t.Errorf("%s of %q: %s, %v, want %s", c.pattern, c.key, users(out), err, c.want)
		}
	}
}

// TestColumnsFromKeysOfManyObjects has rows of several objects in one block and in many,
// with a record that is none among them.
func TestColumnsFromKeysOfManyObjects(t *testing.T) {
	rules := keyRules(t, "{a}/{b:int64}")
	for _, rows := range []int{0, 1, 2} {
		out := decode(t, record.Options{Rules: rules, Limits: record.Limits{BlockRows: rows}},
			input{"x/1", `{"n":1}` + "\n" + `{"n":` + "\n" + `{"n":2}`}, input{"/2", `{"n":3}`}, input{"y/", `{"a":true}`})
		want := `{"n":1,"a_2":null,"a":"x","b":1}` + "\n" + `{"n":2,"a_2":null,"a":"x","b":1}` + "\n" +
			`{"n":3,"a_2":null,"a":null,"b":2}` + "\n" + `{"n":null,"a_2":true,"a":"y","b":null}`
		if got := sortedKeys(t, users(out)); got != sortedKeys(t, want) || len(out.dead) != 1 {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestColumnsFromKeysUnderAPublishedTable refuses a pattern under which a column would
// be of another type, or that of a field.
func TestColumnsFromKeysUnderAPublishedTable(t *testing.T) {
	table := decode(t, record.Options{Rules: keyRules(t, "{a:int64}/*")}, input{"1/o", `{"n":1}`}).schema
	for pattern, want := range map[string]bool{"{a:int64}/*": true, "{b}/*": true, "{a}/*": false, "{n}/*": false} {
		rules := keyRules(t, pattern)
		_, err := try(t, record.Options{Table: table, Rules: rules}, input{"2/o", `{"n":1}`})
		var wrong *schema.PinError
		if got := err == nil; got != want || !want && (!errors.As(err, &wrong) || rules.CheckPublished(table) == nil) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
