package record_test

import (
	"encoding/json"
	"strings"
	"testing"

	"batcher/record"
	"batcher/schema"
	"batcher/strptime"
)

// offsetRules declare the timestamp at a place, and that a column keeps its offsets.
func offsetRules(t *testing.T, place, format string) schema.Rules {
	t.Helper()
	p := pin(t, place+" timestamp")
	p.Offset = "off"
	if format != "" {
		var err error
		if p.Format, err = strptime.Compile(format); err != nil {
			t.Fatal(err)
		}
	}
	return schema.Rules{MinRecords: 1, Pins: []schema.Pin{p}, Derived: []schema.Derived{{Name: "off", From: place, Part: schema.Offset}}}
}

func TestOffsetsOfTimes(t *testing.T) {
	for name, c := range map[string]struct{ place, format, body, want string }{
		"cut after microseconds": {"t", "", `{"t":"2024-01-01T12:00:00.1234567-08:00"}`,
			`{"_rescued":"{\"t\":\"2024-01-01T12:00:00.1234567-08:00\"}","off":-480,"t":"2024-01-01T20:00:00.123456Z"}`},
		"no such offset":     {"t", "", `{"t":"2024-01-01T12:00:00+25:00"}`, `{"_rescued":"{\"t\":\"2024-01-01T12:00:00+25:00\"}","off":null,"t":null}`},
		"blanks around it":   {"t", "", `{"t":" 2024-01-01T12:00:00+02 "}`, `{"off":120,"t":"2024-01-01T10:00:00.000000Z"}`},
		"escapes in it":      {"t", "", `{"t":"2024-01-01T12:00:00\u002b0200"}`, `{"off":120,"t":"2024-01-01T10:00:00.000000Z"}`},
		"null and none":      {"t", "", `{"t":null}` + "\n" + `{}`, `{"off":null,"t":null}` + "\n" + `{"off":null,"t":null}`},
		"in an object":       {"a.t", "", `{"a":{"t":"2024-01-01T12:00:00+01:00"}}`, `{"a":{"t":"2024-01-01T11:00:00.000000Z"},"off":60}`},
		"a key of its name":  {"t", "", `{"off":7,"t":"2024-01-01T12:00:00Z"}`, `{"off":0,"off_2":7,"t":"2024-01-01T12:00:00.000000Z"}`},
		"seconds since 1970": {"t", "%s", `{"t":"1"}`, `{"off":null,"t":"1970-01-01T00:00:01.000000Z"}`},
		"of a format":        {"t", "%d/%b/%Y:%H:%M:%S %z", `{"t":"10/Oct/2000:13:55:36 -0700"}`, `{"off":-420,"t":"2000-10-10T20:55:36.000000Z"}`},
		"a record that is no row": {"t", "", `{"t":"2024-01-01T12:00:00+01:00",` + "\n" + `{"t":"2024-01-01T12:00:00+02:00"}`,
			`{"off":120,"t":"2024-01-01T10:00:00.000000Z"}`},
	} {
		rules := offsetRules(t, c.place, c.format)
		for _, rows := range []int{0, 1} {
			out := decode(t, record.Options{Rules: rules, Limits: record.Limits{BlockRows: rows}}, input{"o", c.body})
			if got := sortedKeys(t, users(out)); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
	}
}

// TestOffsetsOfPlaces has a zone that is declared: the offset is that of its clocks.
func TestOffsetsOfPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"2024-01-01 12:00:00":       `{"off":60,"t":"2024-01-01T11:00:00.000000Z"}`,
		"2024-07-01 12:00:00":       `{"off":120,"t":"2024-07-01T10:00:00.000000Z"}`,
		"2024-07-01 12:00:00+05:30": `{"off":330,"t":"2024-07-01T06:30:00.000000Z"}`,
		"1880-01-01 12:00:00":       `{"off":null,"t":"1880-01-01T11:06:32.000000Z"}`, // 53 minutes and 28 seconds
	} {
		rules := offsetRules(t, "t", "")
		rules.Zone = zoneOf(t, "Europe/Berlin")
		out := decode(t, record.Options{Rules: rules}, input{"o", `{"t":"` + text + `"}`})
		if got := sortedKeys(t, users(out)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestOffsetsOfRepairedRecords has a container whose record is read twice, because some
// text in it is no UTF-8.
func TestOffsetsOfRepairedRecords(t *testing.T) {
	body := avroFile(`{"name":"t","type":"string"},{"name":"s","type":"string"}`, text("2024-01-01T12:00:00+02:00")+text("\xff"), text("2024-01-01T12:00:00+03:00")+text("x"))
	opt := record.Options{Rules: offsetRules(t, "t", ""), Format: record.Format{Kind: record.Avro, Invalid: record.Replace}}
	out := decode(t, opt, input{"o.avro", body})
	want := `{"off":120,"s":"` + "\ufffd" + `","t":"2024-01-01T10:00:00.000000Z"}` + "\n" + `{"off":180,"s":"x","t":"2024-01-01T09:00:00.000000Z"}`
	if got := sortedKeys(t, users(out)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestOffsetsUnderAPublishedTable adds the column to a table that is there, and refuses a
// name that is taken.
func TestOffsetsUnderAPublishedTable(t *testing.T) {
	rules := offsetRules(t, "t", "")
	before := decode(t, record.Options{Rules: schema.Rules{Pins: []schema.Pin{pin(t, "t timestamp")}}}, input{"o", `{"t":"2024-01-01T12:00:00Z"}`})
	out := decode(t, record.Options{Table: before.schema, Rules: rules}, input{"p", `{"t":"2024-01-01T12:00:00+01:00"}`})
	if got := users(out); got != `{"t":"2024-01-01T11:00:00.000000Z","off":60}` {
		t.Errorf("added later: %s", got)
	}
	if err := rules.CheckPublished(out.schema); err != nil {
		t.Error(err)
	}
	taken := decode(t, record.Options{}, input{"o", `{"off":1}`})
	if err := rules.CheckPublished(taken.schema); err == nil {
		t.Error("a column of a field is taken for that of offsets")
	}
}

// sortedKeys are lines of JSON with their keys in order.
func sortedKeys(t *testing.T, lines string) string {
	t.Helper()
	var out []string
	for line := range strings.Lines(lines) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return strings.Join(out, "\n")
}
