package record_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"batcher/record"
	"batcher/schema"
	"batcher/strptime"
)

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// TestTimesWithoutZone reads times of places, also where clocks skip an hour or show
// it twice, into new columns and declared ones.
func TestTimesWithoutZone(t *testing.T) {
	berlin := zoneOf(t, "Europe/Berlin")
	for text, want := range map[string]string{
		"2024-01-01 00:00:00":      `"2023-12-31T23:00:00.000000Z"`,
		"2024-07-01T00:00:00.5":    `"2024-06-30T22:00:00.500000Z"`,
		"2024-07-01T00:00":         `"2024-06-30T22:00:00.000000Z"`,
		"2024-07-01 00:00:00Z":     `"2024-07-01T00:00:00.000000Z"`,
		"2024-10-27 02:30:00":      `"2024-10-27T00:30:00.000000Z"`, // twice: the first
		"2024-10-27 01:59:59":      `"2024-10-26T23:59:59.000000Z"`,
		"2024-10-27 03:00:00":      `"2024-10-27T02:00:00.000000Z"`,
		"2024-03-31 02:30:00":      "", // never
		"2024-03-31 03:00:00":      `"2024-03-31T01:00:00.000000Z"`,
		"1900-01-01 00:00:00":      `"1899-12-31T23:00:00.000000Z"`,
		"2024-01-01 00:00:00+0530": `"2023-12-31T18:30:00.000000Z"`,
	} {
		for _, rules := range []schema.Rules{{Zone: berlin}, {Pins: []schema.Pin{{Place: schema.Place{{Key: "t"}}, Type: schema.Type{Kind: schema.Timestamp}, Zone: berlin}}}} {
			for _, how := range []string{"cell", "JSON"} {
				opt, body := record.Options{Rules: rules}, `{"t":"`+text+`","k":1}`+"\n"
				if how == "cell" {
					opt = csvOptions(record.Dialect{})
					opt.Rules, body = rules, "t,k\n"+text+",1\n"
				}
				out := decode(t, opt, input{"o", body})
				row := user(out.rows[0])
				if want == "" && (!strings.Contains(row, `"t":null`) || !strings.Contains(row, "_rescued")) || want != "" && !strings.Contains(row, `"t":`+want) {
					t.Errorf("%s %s: %s, want %s", how, text, row, want)
				}
				if got := columns(out.schema); !strings.Contains(got, "t:timestamp") {
					t.Errorf("%s %s: %s", how, text, got)
				}
			}
		}
	}
}

// TestTimesThatNobodyKnowsTheZoneOf are an error of the pipeline file where they are
// most of a declared column, text where nothing is declared, and rescued where they
// are few.
func TestTimesThatNobodyKnowsTheZoneOf(t *testing.T) {
	pin := pinned(t, "t timestamp")
	naive, zoned := `{"t":"2024-01-01T00:00:00"}`+"\n", `{"t":"2024-01-01T00:00:00Z"}`+"\n"
	for name, c := range map[string]struct {
		body  string
		fails bool
	}{"all": {naive + naive, true}, "half": {naive + zoned, true}, "few": {naive + strings.Repeat(zoned, 9), false}} {
		for _, prime := range []int{1, 1 << 20} {
			d := record.NewDecoder(record.Options{Table: schema.New(), Rules: pin, Format: record.Format{Kind: record.NDJSON}, Limits: record.Limits{PrimeBytes: prime, BlockRows: 1}})
			_, err := d.Decode(t.Context(), record.Object{Source: "o"}, strings.NewReader(c.body))
			if err == nil {
				err = d.Flush()
			}
			var said *record.NaiveError
			if fails := errors.As(err, &said); fails != c.fails || err != nil && !fails {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	out := decode(t, record.Options{}, input{"o", naive})
	if got := columns(out.schema); got != "t:string" {
		t.Errorf("columns %s", got)
	}
}

// TestDeclaredFormats reads dates, times and bools as they were declared.
func TestDeclaredFormats(t *testing.T) {
	for _, c := range []struct{ typ, format, text, want string }{
		{"date", "%d.%m.%Y", "01.02.2024", `"2024-02-01"`},
		{"date", "%d.%m.%Y", " 1.2.2024 ", `"2024-02-01"`},
		{"date", "%d.%m.%Y", "2024-02-01", ""},
		{"date", "%d.%m.%Y", "31.02.2024", ""},
		{"timestamp", "%d/%b/%Y:%H:%M:%S %z", "10/Oct/2000:13:55:36 -0700", `"2000-10-10T20:55:36.000000Z"`},
		{"timestamp", "%m/%d/%Y %I:%M %p", "02/01/2024 12:30 AM", `"2024-01-31T23:30:00.000000Z"`},
		{"bool", "", "ja", "true"},
		{"bool", "", "NEIN", "false"},
		{"bool", "", "true", "true"},
		{"bool", "", "vielleicht", ""},
	} {
		typ, err := schema.ParseType(c.typ)
		if err != nil {
			t.Fatal(err)
		}
		pin := schema.Pin{Place: schema.Place{{Key: "v"}}, Type: typ, Zone: zoneOf(t, "Europe/Berlin"), True: []string{"ja"}, False: []string{"nein"}}
		if c.format != "" {
			if pin.Format, err = strptime.Compile(c.format); err != nil {
				t.Fatal(err)
			}
		}
		for _, how := range []string{"cell", "JSON"} {
			opt, body := record.Options{}, `{"v":"`+c.text+`"}`+"\n"
			if how == "cell" {
				opt, body = csvOptions(record.Dialect{Delimiter: ';', Header: record.Named}), "v;w\n"+c.text+";1\n"
			}
			opt.Rules = schema.Rules{Pins: []schema.Pin{pin}}
			row := user(decode(t, opt, input{"o", body}).rows[0])
			if c.want == "" && !strings.Contains(row, "_rescued") || c.want != "" && !strings.Contains(row, `"v":`+c.want) {
				t.Errorf("%s %s %q: %s, want %s", how, c.typ, c.text, row, c.want)
			}
		}
	}
}

// TestThousands reads numbers with signs between groups of three digits.
func TestThousands(t *testing.T) {
	for _, c := range []struct {
		thousands, decimal byte
		cell, column, want string
	}{
		{'.', ',', "1.234,56", "float64", "1234.56"},
		{'.', ',', "-1.234.567", "int64", "-1234567"},
		{'.', ',', "1234,5", "float64", "1234.5"},
		{'.', ',', "1.23", "string", `"1.23"`},
		{'.', ',', "1.234.56", "string", `"1.234.56"`},
		{'.', ',', "12.34,5", "string", `"12.34,5"`},
		{',', '.', "1,234.56", "float64", "1234.56"},
		{',', '.', "1,234", "int64", "1234"},
		{',', '.', "1,23", "string", `"1,23"`},
		{' ', ',', "1 234,5", "float64", "1234.5"},
		{' ', ',', "1\u00a0234,5", "float64", "1234.5"},
		{' ', ',', "1\u202f234\u202f567", "int64", "1234567"},
		{'\'', '.', "1'234.50", "float64", "1234.5"},
		{'\'', '.', "1\u2019234", "int64", "1234"},
		{'.', ',', "007", "string", `"007"`},
		{'.', ',', ",5", "float64", "0.5"},
	} {
		opt := csvOptions(record.Dialect{Delimiter: ';', Header: record.Named, Thousands: c.thousands, Decimal: c.decimal})
		out := decode(t, opt, input{"o", "v;k\n" + c.cell + ";x\n"})
		if got := columns(out.schema); !strings.Contains(got, "v:"+c.column) || !strings.Contains(user(out.rows[0]), `"v":`+c.want) {
			t.Errorf("%q: %s %s, want %s %s", c.cell, got, user(out.rows[0]), c.column, c.want)
		}
	}
}
