package record_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"batcher/record"
)

// TestWhatColumnsTake puts texts into columns that were declared and into columns that
// are published, as cells of CSV and as strings of JSON.
func TestWhatColumnsTake(t *testing.T) {
	const no = "rescued"
	for _, c := range []struct {
		typ       string
		texts     []string
		declared  string
		published string
	}{
		{"int64", []string{"7", " 7", "7\t", "7.0", "7.", "7.000", "70e-1", "0.7e1", ".7E+1"}, "7", "7"},
		{"int64", []string{"007", "+7", "+7.0", "007.00"}, "7", no},
		{"int64", []string{"-0", "0.0", "-0e5", "0e99999"}, "0", "0"},
		{"int64", []string{"9223372036854775807", "9223372036854775807.0", "9.223372036854775807e18"}, "9223372036854775807", "9223372036854775807"},
		{"int64", []string{"9223372036854775808", "9.99", "1e-1", "1e19", "1e99999", "1,000", "1_000", "0x7", "7 7", "$7", "7%", "true", "٧", "inf", "-", "--7", "+", ".", "1e", "e1"}, no, no},
		{"int32", []string{"2147483647.0", "2.147483647e9"}, "2147483647", "2147483647"},
		{"int32", []string{"2147483648", "-2147483649.0"}, no, no},
		{"float64", []string{"2.50", " 2.5 ", "25e-1", "2.5000000000000000000", "0.25E1"}, "2.5", "2.5"},
		{"float64", []string{"+2.5", "02.5"}, "2.5", no},
		{"float64", []string{"5", "5.", "5.0"}, "5", "5"},
		{"float64", []string{"-0", "-0.0", "-.0"}, "-0", "-0"},
		{"float64", []string{"NaN", "nan", "NAN", "-nan"}, `"NaN"`, `"NaN"`},
		{"float64", []string{"9007199254740993", "1e400", "-1e400", "1e-400", "1.5f", "1.5d", "true", "1.2.3"}, no, no},
		{"decimal(9,2)", []string{"1.50", "1.5", "15e-1", "1.5000", ".15e1", "150E-2"}, "1.50", "1.50"},
		{"decimal(9,2)", []string{"+1.5", "0001.5"}, "1.50", no},
		{"decimal(9,2)", []string{"-0", "0", "0e7", "-0.000"}, "0.00", "0.00"},
		{"decimal(9,2)", []string{"9999999.99", "999999999e-2"}, "9999999.99", "9999999.99"},
		{"decimal(9,2)", []string{"10000000", "1.505", "1e7", "NaN x", "inf", "1,50"}, no, no},
		{"bool", []string{"true", "TRUE", "True", " tRUE "}, "true", "true"},
		{"bool", []string{"t", "T", "1"}, "true", no},
		{"bool", []string{"f", "F", "0"}, "false", no},
		{"bool", []string{"yes", "no", "y", "2", "1.0", "tr", "truee"}, no, no},
		{"date", []string{"2024-02-29", " 2024-02-29 "}, `"2024-02-29"`, `"2024-02-29"`},
		{"date", []string{"2024-2-29", "2024-02-29T00:00:00Z", "2024-02-29T00:00:00", "2024-02-29 00:00:00.000000+00:00", "2024-02-29 00:00", "2024-02-29 00:00:00 UTC", "2024-02-29 00:00:00-00"}, `"2024-02-29"`, no},
		{"date", []string{"2024-02-30", "2023-2-29", "20240229", "29/02/2024", "2024-02-29T00:00:01Z", "2024-02-29T00:00:00.001", "2024-02-29T00:00:00+02:00", "2024-02-29T00:00:00.", "2024-02-29 x", "2024-02-"}, no, no},
		{"timestamp", []string{"2024-02-29T12:00:00Z", "2024-02-29 12:00:00z", "2024-02-29T12:00Z", "2024-02-29 12:00:00 UTC", "2024-02-29 14:00:00+02", "2024-02-29 14:00:00.000 +0200", "2024-02-29 12:00:00 +0000 UTC", " 2024-02-29T07:00-05:00"},
			`"2024-02-29T12:00:00.000000Z"`, `"2024-02-29T12:00:00.000000Z"`},
		{"timestamp", []string{"2024-02-29", "1709208000", "2024-02-29 12:00:00 CET", "2024-02-29 12:00:00 +0100 UTC", "2024-02-29T24:00:00Z", "2024-02-29T12Z"}, no, no},
	} {
		for _, text := range c.texts {
			for _, how := range []string{"cell", "JSON"} {
				opt, body := record.Options{}, fmt.Sprintf("{\"k\":1,\"a\":%q}\n", text)
				if how == "cell" {
					opt, body = csvOptions(record.Dialect{Delimiter: ';'}), "k;a\n1;"+text+"\n"
				}
				opt.Table = published(t, field(17, "a", fmt.Sprintf("%q", c.typ)))
				holdTaken(t, c.typ+" that is published", how, text, c.published, decode(t, opt, input{"o", body}))
				opt.Table, opt.Rules = nil, pinned(t, "a "+c.typ)
				holdTaken(t, c.typ+" that was declared", how, text, c.declared, decode(t, opt, input{"o", body}))
			}
		}
	}
}

func holdTaken(t *testing.T, column, how, text, want string, out *outcome) {
	t.Helper()
	row := user(out.rows[0])
	if want == "rescued" {
		if !strings.Contains(row, `"a":null`) || !strings.Contains(row, `"_rescued":"{\"a\":`) {
			t.Errorf("%s %q into %s: %s, want it rescued", how, text, column, row)
		}
		return
	}
	if !strings.Contains(row, `"a":`+want+",") && !strings.Contains(row, `"a":`+want+"}") || strings.Contains(row, "_rescued") {
		t.Errorf("%s %q into %s: %s, want %s", how, text, column, row, want)
	}
}

// TestWhatSaysNothing shows words for nothing in columns of every kind.
func TestWhatSaysNothing(t *testing.T) {
	for _, typ := range []string{"int64", "int32", "decimal(9,2)", "bool", "date", "timestamp", "float64"} {
		for _, text := range []string{"NULL", "null", "NA", "N/A", "#N/A", "<NA>", "None", "nil", `\N`, "NaT", `""`, `" "`, "  "} {
			opt := csvOptions(record.Dialect{Delimiter: ';'})
			opt.Table = published(t, field(17, "a", fmt.Sprintf("%q", typ)))
			holdTaken(t, typ, "cell", text, "null", decode(t, opt, input{"o", "k;a\n1;" + text + "\n"}))
		}
		for text, want := range map[string]string{"": "null", " ": "null", "NULL": "rescued", "NA": "rescued"} {
			opt := record.Options{Table: published(t, field(17, "a", fmt.Sprintf("%q", typ)))}
			holdTaken(t, typ, "JSON", text, want, decode(t, opt, input{"o", fmt.Sprintf("{\"k\":1,\"a\":%q}\n", text)}))
		}
	}
	opt := csvOptions(record.Dialect{Delimiter: ';'})
	out := decode(t, opt, input{"o", "k;i;f;b;d;s;n;x\n1;NA;NaN;;2024-01-01;NA;NA;-\n2;7;1.5;True;NULL;x;;5\n\"\";\"\";\"\";\"\";\"\";\"\";\"\";\"\"\n"})
	want := `{"b":null,"d":"2024-01-01","f":"NaN","i":null,"k":1,"n":"NA","s":"NA","x":"-"}
{"b":true,"d":null,"f":1.5,"i":7,"k":2,"n":null,"s":"x","x":"5"}
{"b":null,"d":null,"f":null,"i":null,"k":null,"n":"","s":"","x":""}`
	if got := users(out); got != want || columns(out.schema) != "b:bool,d:date,f:float64,i:int64,k:int64,n:string,s:string,x:string" {
		t.Errorf("%s\n%s", columns(out.schema), got)
	}
}

// figures are the numbers that a declared column reads, with exponents that math/big
// takes in little memory.
var figures = regexp.MustCompile(`^[ \t]*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?[ \t]*$`)

// FuzzNumbersOfCells puts text into declared columns of whole numbers and decimals: it
// is taken if it is a number that the column holds exactly, and as that number.
func FuzzNumbersOfCells(f *testing.F) {
	for _, text := range []string{"7", "-0", "0.0", "70e-1", " +007.50 ", "9223372036854775808", "1e-400", ".", "1e", "0e999", "12345.678", "1234567890123456789.0e-3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 300 || strings.ContainsAny(text, ";\"\r\n\x00") || !figures.MatchString(text) && strings.ContainsAny(text, "0123456789") {
			return
		}
		opt := csvOptions(record.Dialect{Delimiter: ';'})
		opt.Rules = pinned(t, "i int64", "d decimal(18,3)")
		out, err := try(t, opt, input{"o", "k;i;d\n1;" + text + ";" + text + "\n"})
		var row struct{ I, D json.Number }
		if err != nil || len(out.rows) != 1 || json.Unmarshal([]byte(out.rows[0]), &row) != nil {
			return // no UTF-8
		}
		want, isNumber := new(big.Rat).SetString(strings.TrimSpace(text))
		isNumber = isNumber && figures.MatchString(text)
		whole := isNumber && want.IsInt() && want.Num().IsInt64()
		if got, ok := new(big.Rat).SetString(string(row.I)); ok != whole || ok && got.Cmp(want) != 0 {
			t.Errorf("%q is %q in a column of whole numbers", text, row.I)
		}
		thousandth := new(big.Rat)
		if isNumber {
			thousandth.Mul(want, big.NewRat(1000, 1))
		}
		fits := isNumber && thousandth.IsInt() && len(strings.TrimPrefix(thousandth.Num().String(), "-")) <= 18
		if got, ok := new(big.Rat).SetString(string(row.D)); ok != fits || ok && got.Cmp(want) != 0 {
			t.Errorf("%q is %q in a column of decimals", text, row.D)
		}
	})
}
