package config_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/text/encoding/ianaindex"

	"batcher/config"
	"batcher/schema"
)

// TestParse_Errors_Input is about formats, dialects and columns.
func TestParse_Errors_Input(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"encoding of parquet": {"    format: parquet\n    encoding: latin1\n", "p.yaml:7:15: source.files.encoding: must not be given beside source.files.format: parquet"},
		"unnest csv":          {"    format: csv\n    unnest: Records\n", "p.yaml:7:13: source.files.unnest: must not be given beside source.files.format: csv"},
		"unnest place":        {"    unnest: Records[]\n", "p.yaml:6:13: source.files.unnest: wants the keys that lead to the array, without []"},
		"csv of json":         {"    format: json\n    csv: {header: false}\n", "p.yaml:7:10: source.files.csv: must not be given beside source.files.format: json"},
		"delimiter":           {"    csv: {delimiter: ab}\n", `p.yaml:6:22: source.files.csv.delimiter: wants auto or one character of ASCII that is no letter, digit, quote or line break, like ";" or "\t"`},
		"clash":               {"    csv: {delimiter: ';', comment: ';'}\n", "p.yaml:6:10: source.files.csv: comment must not be the delimiter too"},
		"decimal":             {"    csv: {decimal: ';'}\n", "p.yaml:6:20: source.files.csv.decimal: wants one of ., ,"},
		"no path":             {"schema: {columns: [{type: json}]}\n", "p.yaml:6:20: schema.columns[0].path: is missing"},
		"no type":             {"schema: {columns: [{path: a}]}\n", "p.yaml:6:20: schema.columns[0].type: is missing"},
		"path":                {"schema: {columns: [{path: a..b, type: json}]}\n", `p.yaml:6:27: schema.columns[0].path: wants a field like price, detail.price or items[].price; a key with a dot in it is quoted: labels."a.b"`},
		"type":                {"schema: {columns: [{path: a, type: integer}]}\n", "p.yaml:6:36: schema.columns[0].type: wants a type: bool, int32, int64, float64, decimal(p,s), string, json, bytes, date, timestamp, list<T>, map<string,T> or struct"},
		"type, map":           {"schema: {columns: [{path: a, type: 'map<int64,string>'}]}\n", "p.yaml:6:36: schema.columns[0].type: wants map<string,T>, like map<string,int64>: keys of JSON are strings"},
		"type, decimal":       {"schema: {columns: [{path: a, type: 'decimal(39,2)'}]}\n", "p.yaml:6:36: schema.columns[0].type: wants decimal(p,s) with 1 to 38 digits p, of which s stand after the point"},
		"name, nested":        {"schema: {columns: [{path: a.b, type: json, name: c}]}\n", "p.yaml:6:27: schema.columns[0].path: must not have a name: only top-level columns are renamed"},
		"name, reserved":      {"schema: {columns: [{path: a, type: json, name: _source}]}\n", "p.yaml:6:27: schema.columns[0].path: must not have the name of another column"},
		"twice":               {"schema: {columns: [{path: a, type: json}, {path: a, type: date}]}\n", "p.yaml:6:50: schema.columns[1].path: must not be pinned twice"},
		"inside":              {"schema: {columns: [{path: a.b, type: json}, {path: a, type: json}]}\n", "p.yaml:6:52: schema.columns[1].path: must not lie inside of another pinned column, unless that is a struct whose fields are not listed"},
		"list and object":     {"schema: {columns: [{path: 'a[]', type: json}, {path: a.b, type: json}]}\n", "p.yaml:6:54: schema.columns[1].path: must not be a list here and an object in another pin, or the other way round"},
		"default, int":        {"schema: {columns: [{path: a, type: int32, default: 3000000000}]}\n", "p.yaml:6:52: schema.columns[0].default: wants a whole number in range, because the column is int32"},
		"default, list":       {"schema: {columns: [{path: a, type: list<string>, default: x}]}\n", "p.yaml:6:59: schema.columns[0].default: is for columns of one value, not for lists, maps and structs"},
		"only listed":         {"schema: {only_listed: true}\n", "p.yaml:6:23: schema.only_listed: must not be true where no column is listed (list columns under schema.columns)"},
		"event time, type":    {"schema: {columns: [{path: ts, type: date}]}\nevent_time: {field: ts}\n", "p.yaml:6:37: schema.columns[0].type: must not be other than timestamp: the field is the event time"},
		"event time, default": {"schema: {columns: [{path: ts, type: timestamp, default: 2026-11-30T00:00:00Z}]}\nevent_time: {field: ts, unit: ms}\n", "p.yaml:6:57: schema.columns[0].default: must not be given for an event time in ms"},
		"event time, field":   {"event_time: {unit: ms}\n", "p.yaml:6:13: event_time.field: is missing"},
		"event time, unit":    {"event_time: {field: ts, unit: min}\n", "p.yaml:6:31: event_time.unit: wants one of iso, s, ms, us, ns"},
		"partition, unknown":  {"partition_by: [{day: ts}]\n", "p.yaml:6:22: partition_by[0].day: must be declared: a top-level column under schema.columns, or the event_time (its type must be known before the first batch)"},
		"partition, a key":    {"partition_by: [{day: eventTime}]\nevent_time: {field: eventTime}\n", "p.yaml:6:22: partition_by[0].day: must be the name of a column: that of the key eventTime is eventtime, or event_time with schema.names: snake"},
		"partition, two":      {"partition_by: [{day: ts, hour: ts}]\nevent_time: {field: ts}\n", "p.yaml:6:16: partition_by[0]: wants one of day, hour and column"},
		"partition, type":     {"partition_by: [{column: price}]\nschema: {columns: [{path: price, type: float64}]}\n", "p.yaml:6:25: partition_by[0].column: must not be float64: column splits by columns of type string, date, int32, int64"},
		"key columns, none":   {"    key_columns: 'a/**'\n", "p.yaml:6:18: source.files.key_columns: names no value: wants a {name} in it"},
		"key columns, type":   {"    key_columns: '{a:json}'\n", "p.yaml:6:18: source.files.key_columns: {a} wants one of the types bool, int32, int64, float64, decimal, string, date, timestamp"},
		"key columns, format": {"    key_columns: '{a:int64:%Y}'\n", "p.yaml:6:18: source.files.key_columns: {a} must not have a format: it is int64"},
		"key columns, hour":   {"    key_columns: '{a:date:%Y%m%d%H}'\n", "p.yaml:6:18: source.files.key_columns: the format of {a} must not have a time of day: the column is a date"},
		"key columns, zone":   {"    key_columns: '{a:timestamp:%Y%m%d%H}'\n", "p.yaml:6:18: source.files.key_columns: has times without a zone in {a} (set source.files.zone: UTC, or whichever zone they are in)"},
		"key columns, name":   {"    key_columns: '{Dt}'\n", "p.yaml:6:18: source.files.key_columns: {Dt} must be the name of a column: that of the key Dt is dt, or dt with schema.names: snake"},
		"key columns, twice":  {"    key_columns: '{a}/{a}'\n", "p.yaml:6:18: source.files.key_columns: names {a} twice"},
		"key columns, beside": {"    key_columns: '{a}{b}'\n", "p.yaml:6:18: source.files.key_columns: must have something between two values"},
		"key columns, pin":    {"    key_columns: '{a}'\nschema: {columns: [{path: A, type: json}]}\n", "p.yaml:6:18: source.files.key_columns: must not name {a} as another column"},
		"key columns, brace":  {"    key_columns: '{a}/{b/c}'\n", "p.yaml:6:18: source.files.key_columns: has a { or } that is no part of a {name}"},
		"places, none":        {"schema: {columns: [{path: [], type: json}]}\n", "p.yaml:6:27: schema.columns[0].path: wants a field like price or detail.price, found a list"},
		"places, twice":       {"schema: {columns: [{path: [a, a], type: json}]}\n", "p.yaml:6:27: schema.columns[0].path: must not be pinned twice"},
		"places, of two":      {"schema: {columns: [{path: [a, b], type: json}, {path: [c, b], type: json}]}\n", "p.yaml:6:55: schema.columns[1].path: must not be pinned twice"},
		"places, inside":      {"schema: {columns: [{path: [a, b.c], type: json}, {path: b, type: json}]}\n", "p.yaml:6:57: schema.columns[1].path: must not lie inside of another pinned column, unless that is a struct whose fields are not listed"},
		"places, all inside":  {"schema: {columns: [{path: [b.c, d.c], type: json}]}\n", "p.yaml:6:27: schema.columns[0].path: must have a place that is no part of an object among several (the column is there)"},
		"places, list":        {"schema: {columns: [{path: [a, 'b[].c'], type: json}]}\n", "p.yaml:6:27: schema.columns[0].path: must not have a place inside of a list among several"},
		"places, nested":      {"schema: {columns: [{path: [a, b], type: list<json>}]}\n", "p.yaml:6:27: schema.columns[0].path: must be one place for a column that is list"},
		"places, default":     {"schema: {columns: [{path: [a, b], type: json, default: 1}]}\n", "p.yaml:6:56: schema.columns[0].default: must not be given beside several places"},
		"places, offset":      {"schema: {columns: [{path: [a, b], type: timestamp, offset: o}]}\n", "p.yaml:6:60: schema.columns[0].offset: must not be given beside several places"},
		"places, event time":  {"schema: {columns: [{path: [a, b], type: timestamp}]}\nevent_time: {field: b}\n", "p.yaml:7:21: event_time.field: must not be pinned twice"},
		"offset, type":        {"schema: {columns: [{path: a, type: date, offset: o}]}\n", "p.yaml:6:50: schema.columns[0].offset: must not be given for a column that is date"},
		"offset, list":        {"schema: {columns: [{path: 'a[].t', type: timestamp, offset: o}]}\n", "p.yaml:6:61: schema.columns[0].offset: must not be given inside of a list: there are many times in one row"},
		"offset, unit":        {"schema: {columns: [{path: t, type: timestamp, offset: o}]}\nevent_time: {field: t, unit: ms}\n", "p.yaml:6:55: schema.columns[0].offset: must not be given for an event time in ms: numbers have no offset"},
		"offset, name":        {"schema: {columns: [{path: t, type: timestamp, offset: b}, {path: B, type: json}]}\n", "p.yaml:6:55: schema.columns[0].offset: must not be the name of another column"},
		"offset, own name":    {"schema: {columns: [{path: t, type: timestamp, offset: t}]}\n", "p.yaml:6:55: schema.columns[0].offset: must not be the name of another column"},
		"offset, twice":       {"schema: {columns: [{path: t, type: timestamp, offset: o}, {path: u, type: timestamp, offset: o}]}\n", "p.yaml:6:66: schema.columns[1].path: must not name the column of its offsets as another column"},
		"partition, name":     {"partition_by: [{day: ts}]\nevent_time: {field: ts}\nschema: {columns: [{path: ts_day, type: string}]}\n", "p.yaml:6:22: partition_by[0].day: must not give a column the name of another one"},
		"partition, twice":    {"partition_by: [{day: ts}, {day: ts}]\nevent_time: {field: ts}\n", "p.yaml:6:33: partition_by[1].day: must not give a column the name of another one"},
		"all at once":         {"schema: {columns: [{path: a, type: x}]}\nevent_time: {field: .}\n", "p.yaml:6:36: schema.columns[0].type: wants a type: bool, int32, int64, float64, decimal(p,s), string, json, bytes, date, timestamp, list<T>, map<string,T> or struct\np.yaml:7:21: event_time.field: wants a field like price, detail.price or items[].price; a key with a dot in it is quoted: labels.\"a.b\""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := refuse(t, minimal+c.text, config.Options{}); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestParse_Dialect types every key of a CSV dialect.
func TestParse_Dialect(t *testing.T) {
	p := parse(t, minimal+`    format: csv
    encoding: iso-8859-15
    csv: {delimiter: '\t', header: false, quote: "'", escape: "\\", comment: "#", skip_lines: 2, null: ["", NA], decimal: ","}
`, config.Options{})
	want := config.CSV{Delimiter: "\t", Header: config.HeaderFalse, Columns: []string{}, Trailing: config.TrailingAuto, Quote: "'", Escape: `\`, Comment: "#", SkipLines: 2, Encoding: "iso-8859-15", Null: []string{"", "NA"}, Decimal: ","}
	if got := p.Source.Files.CSV; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	p = parse(t, minimal+"    encoding: latin1\n    csv: {encoding: utf-16, quote: ''}\n", config.Options{})
	if got := p.Source.Files; got.CSV.Encoding != "utf-16" || got.Encoding != "latin1" || got.CSV.Quote != "" {
		t.Errorf("%+v", got)
	}
}

// TestParse_Pins turns what a file declares into pins.
func TestParse_Pins(t *testing.T) {
	p := parse(t, minimal+`schema:
  names: snake
  columns:
    - {path: requestParameters, type: json}
    - {path: qty, type: int32, name: quantity, default: 0}
    - {path: "items[].price", type: "decimal(18, 2)"}
    - {path: 'labels."a.b"', type: "map<string, list<int64>>"}
    - {path: eventTime, type: timestamp, name: at}
    - {path: flag, type: bool, default: True}
    - {path: who, type: string, default: "1"}
    - {path: extra, type: json, default: "{}"}
event_time: {field: eventTime, unit: ms}
partition_by: [{hour: at}, {column: who}]
`, config.Options{})
	var got []string
	for _, pin := range p.Pins() {
		got = append(got, fmt.Sprintf("%s %s %q %q %d", pin.Place, pin.Type, pin.Name, pin.Default, pin.Unit))
	}
	want := []string{
		`requestParameters json "" "" 0`, `qty int32 "quantity" "0" 0`, `items[].price decimal(18,2) "" "" 0`, `labels."a.b" map<string,list<int64>> "" "" 0`,
		`eventTime timestamp "at" "" 2`, `flag bool "" "true" 0`, `who string "" "\"1\"" 0`, `extra json "" "{}" 0`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	p = parse(t, minimal+"event_time: {field: detail.at}\n", config.Options{})
	if pins := p.Pins(); len(pins) != 1 || pins[0].Place.String() != "detail.at" || pins[0].Type.Kind != schema.Timestamp || pins[0].Unit != schema.ISO {
		t.Errorf("%+v", pins)
	}
}

// TestEncodings holds the words for encodings to the registry of the library
// that decodes them.
func TestEncodings(t *testing.T) {
	known := 0
	_, list, _ := strings.Cut(refuse(t, minimal+"    encoding: x\n", config.Options{}), "wants one of ")
	for word := range strings.SplitSeq(list, ", ") {
		if e, err := ianaindex.IANA.Encoding(word); err != nil || e == nil {
			t.Errorf("%s: %v, %v", word, e, err)
		}
		known++
	}
	if known < 30 {
		t.Errorf("only %d encodings: the message is no list any more", known)
	}
}
