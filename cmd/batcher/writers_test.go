package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"batcher/localdev"
)

// writtenRow is one row of the table that every writer writes in its own manner.
// Pointers may be nil: there is no value.
type writtenRow struct {
	id               int64
	code             string // digits with zeros before them
	qty              *int64
	price, balance   float64 // with two decimals
	ratio, tiny      float64 // as doubles are asPrinted
	big              int64   // beyond 2^53
	active           bool
	flag             *bool
	day              time.Time
	at, local        time.Time // to the second, in UTC and in no zone
	name, note, city string
	text             *string // nil is null, "" is empty
	sparse           *int64
	percent, sku     string
	constant         int64
}

// writtenRows draws the rows.
func writtenRows(n int) []writtenRow {
	rng := rand.New(rand.NewPCG(7, 7))
	rows := make([]writtenRow, n)
	for i := range rows {
		at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rng.IntN(365*86400)) * time.Second)
		r := writtenRow{
			id: int64(i + 1), code: fmt.Sprintf("%05d", rng.IntN(40000)), price: float64(rng.IntN(100000)) / 100, balance: float64(rng.IntN(200000)-100000) / 100,
			ratio: rng.Float64(), tiny: rng.Float64() * 1e-7, big: 1<<53 + int64(rng.IntN(1<<40)), active: rng.IntN(2) == 0, day: at.Truncate(24 * time.Hour), at: at, local: at,
			name: fmt.Sprintf("name %c", 'a'+rune(rng.IntN(26))), note: [...]string{`said "yes", twice`, "a, b; c", "first\nsecond", "plain", "tab\there", "a | b"}[rng.IntN(6)],
			city: [...]string{"Köln", "東京", "Łódź", "São Paulo", "Oslo"}[rng.IntN(5)], percent: fmt.Sprintf("%d%%", rng.IntN(100)), sku: fmt.Sprintf("A%04d-%c", rng.IntN(9999), 'A'+rune(rng.IntN(26))), constant: 7,
		}
		if rng.IntN(4) > 0 {
			q, f := int64(rng.IntN(500)), rng.IntN(2) == 0
			r.qty, r.flag = &q, &f
		}
		if rng.IntN(3) > 0 {
			s := [...]string{"x", "", "word"}[rng.IntN(3)]
			r.text = &s
		}
		if i > n/2 && rng.IntN(10) == 0 {
			v := int64(i)
			r.sparse = &v
		}
		rows[i] = r
	}
	return rows
}

// manner is how one program writes tables.
type manner struct {
	head, sep, end                       string // before everything; between cells; after rows
	index                                bool   // a column without a name that counts rows
	yes, no, null                        string
	floats, doubles, days, times, locals func(any) string
	quoted                               func(s string) string // text
	names                                func(s string) string
}

// writtenNames are the columns.
var writtenNames = strings.Fields("id code qty price balance ratio tiny big active flag day at local name note city text sparse percent sku constant")

func money(v any) string     { return strconv.FormatFloat(v.(float64), 'f', 2, 64) }
func asPrinted(v any) string { return strconv.FormatFloat(v.(float64), 'g', -1, 64) }

func layout(form string) func(any) string {
	return func(v any) string { return v.(time.Time).Format(form) }
}

// asNeeded quotes text as RFC 4180 has it, with an escape before quotes inside.
func asNeeded(sep, escape string) func(string) string {
	return func(s string) string {
		if !strings.ContainsAny(s, sep+"\"\n\r") {
			return s
		}
		return `"` + strings.ReplaceAll(s, `"`, escape+`"`) + `"`
	}
}

func always(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// manners are those of the programs whose files people bring.
func manners() map[string]manner {
	plain := asNeeded(",", `"`)
	day, zoned, naive := layout(time.DateOnly), layout(time.RFC3339), layout(time.DateTime)
	return map[string]manner{
		"pandas": {sep: ",", end: "\n", index: true, yes: "True", no: "False", floats: asPrinted, doubles: asPrinted, days: day, times: layout("2006-01-02 15:04:05+00:00"), locals: naive, quoted: plain},
		"Excel, German": {head: "\ufeff", sep: ";", end: "\r\n", yes: "WAHR", no: "FALSCH", floats: comma(money), doubles: comma(func(v any) string { return strconv.FormatFloat(v.(float64), 'f', 15, 64) }),
			days: layout("02.01.2006"), times: layout("02.01.2006 15:04"), locals: layout("02.01.2006 15:04:05"), quoted: asNeeded(";", `"`)},
		"mysql --batch": {sep: "\t", end: "\n", yes: "1", no: "0", null: "NULL", floats: money, doubles: asPrinted, days: day, times: naive, locals: naive,
			quoted: strings.NewReplacer("\\", "\\\\", "\n", `\n`, "\t", `\t`).Replace},
		"Postgres COPY": {sep: ",", end: "\n", yes: "t", no: "f", floats: money, doubles: asPrinted, days: day, times: layout("2006-01-02 15:04:05+00"), locals: naive, quoted: emptyQuoted(plain)},
		"Spark":         {sep: ",", end: "\n", yes: "true", no: "false", floats: asPrinted, doubles: func(v any) string { return strconv.FormatFloat(v.(float64), 'E', -1, 64) }, days: day, times: layout("2006-01-02T15:04:05.000Z07:00"), locals: layout("2006-01-02T15:04:05.000"), quoted: emptyQuoted(asNeeded(",", `\`))},
		"BigQuery":      {sep: ",", end: "\n", yes: "true", no: "false", floats: asPrinted, doubles: asPrinted, days: day, times: layout("2006-01-02 15:04:05 UTC"), locals: layout("2006-01-02T15:04:05"), quoted: emptyQuoted(plain)},
		"R write.csv":   {sep: ",", end: "\n", index: true, yes: "TRUE", no: "FALSE", null: "NA", floats: func(v any) string { return strconv.FormatFloat(v.(float64), 'g', 15, 64) }, doubles: func(v any) string { return strconv.FormatFloat(v.(float64), 'g', 15, 64) }, days: day, times: layout("2006-01-02 15:04:05"), locals: naive, quoted: always, names: always},
		"Go encoding/csv": {sep: ",", end: "\n", yes: "true", no: "false", floats: money, doubles: func(v any) string { return strconv.FormatFloat(v.(float64), 'f', -1, 64) }, days: zoned, times: zoned, locals: layout("2006-01-02T15:04:05"),
			quoted: plain},
	}
}

func comma(f func(any) string) func(any) string {
	return func(v any) string { return strings.Replace(f(v), ".", ",", 1) }
}

// emptyQuoted tells the empty text from no value by quotes.
func emptyQuoted(f func(string) string) func(string) string {
	return func(s string) string {
		if s == "" {
			return `""`
		}
		return f(s)
	}
}

// write is the file of a writer.
func (m *manner) write(rows []writtenRow) string {
	var b strings.Builder
	b.WriteString(m.head)
	names := m.names
	if names == nil {
		names = func(s string) string { return s }
	}
	line := func(cells []string) { b.WriteString(strings.Join(cells, m.sep) + m.end) }
	var head []string
	if m.index {
		head = append(head, names(""))
	}
	for _, name := range writtenNames {
		head = append(head, names(name))
	}
	line(head)
	for i := range rows {
		var cells []string
		if m.index {
			cells = append(cells, names(strconv.Itoa(i)))
		}
		line(append(cells, m.cells(&rows[i])...))
	}
	return b.String()
}

func (m *manner) cells(r *writtenRow) []string {
	whole := func(v *int64) string {
		if v == nil {
			return m.null
		}
		return strconv.FormatInt(*v, 10)
	}
	truth := func(v *bool) string {
		switch {
		case v == nil:
			return m.null
		case *v:
			return m.yes
		}
		return m.no
	}
	text := m.null
	if r.text != nil {
		text = m.quoted(*r.text)
	}
	return []string{
		whole(&r.id), m.quoted(r.code), whole(r.qty), m.floats(r.price), m.floats(r.balance), m.doubles(r.ratio), m.doubles(r.tiny), whole(&r.big), truth(&r.active), truth(r.flag),
		m.days(r.day), m.times(r.at), m.locals(r.local), m.quoted(r.name), m.quoted(r.note), m.quoted(r.city), text, whole(r.sparse), m.quoted(r.percent), m.quoted(r.sku), whole(&r.constant),
	}
}

// writersOtherwise says why a column has another type than DuckDB gives it, by the
// types: ours and DuckDB's.
var writersOtherwise = map[string]string{
	"string TIMESTAMP":    "a time without a zone is text until `source.files.zone` says which one",
	"timestamp TIMESTAMP": "`UTC` is a zone",
	"int64 VARCHAR":       "`NULL` and `NA` say nothing among numbers",
	"bool VARCHAR":        "`NA` says nothing among bools",
	"string DATE":         "01.02.2024 is text until `format` says which part is the day",
	"string BOOLEAN":      "`t` and `f` are bools where that is declared",
}

// snifferTypes are the types of columns as DuckDB calls them.
var snifferTypes = map[string]string{
	"int64": "BIGINT", "float64": "DOUBLE", "string": "VARCHAR", "bool": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP WITH TIME ZONE",
}

// TestFilesOfOrdinaryWriters reads one table as eight programs write it, and compares
// rows, types and values with what DuckDB's sniffer makes of the same files.
func TestFilesOfOrdinaryWriters(t *testing.T) {
	duck, err := localdev.OpenDuckDB(t.Context())
	if err != nil {
		t.Fatalf("this test needs DuckDB: %v", err)
	}
	rows := writtenRows(300)
	var doc strings.Builder
	doc.WriteString("| writer | rows | columns typed as by DuckDB | values equal | otherwise, and why |\n|---|---:|---:|---:|---|\n")
	for _, name := range slices.Sorted(maps.Keys(manners())) {
		m := manners()[name]
		w := newWorld(t, nil, "pipeline: t\nstore: ./lake\nsource: {files: {path: ./in, settle: 0s}}\n")
		w.write("in/a.csv", m.write(rows))
		var rep report
		w.must(&rep, "run")
		if rep.Rows.Written != int64(len(rows)) || rep.Rows.Dead != 0 {
			t.Errorf("%s: %+v", name, rep.Rows)
		}
		doc.WriteString(w.besideSniffer(duck, name))
	}
	if *update {
		if err := localdev.PutSection("../../docs/FORMATS.md", "writers", doc.String()); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile("../../docs/FORMATS.md"); err != nil || !strings.Contains(string(text), doc.String()) {
		t.Errorf("docs/FORMATS.md says of writers something else than was seen (-update writes it): %v\n%s", err, doc.String())
	}
}

// besideSniffer compares the one file of a world with what DuckDB makes of it, and
// returns a line of the table.
func (w *world) besideSniffer(duck *localdev.DuckDB, name string) string {
	t := w.t
	t.Helper()
	file := "read_csv(" + literal(w.dir+"/in/a.csv") + ")"
	described, err := duck.Query(t.Context(), "SELECT column_name AS name, column_type AS type FROM (DESCRIBE SELECT * FROM "+file+")")
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	theirs, err := duck.Query(t.Context(), "SELECT * FROM "+file)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	ours, err := duck.Query(t.Context(), "SELECT * FROM "+w.from()+" ORDER BY _offset")
	if err != nil || len(ours) != len(theirs) {
		t.Fatalf("%s: %d rows, DuckDB has %d: %v", name, len(ours), len(theirs), err)
	}
	types := map[string]string{}
	for _, c := range w.columnsOf() {
		column, typ, _ := strings.Cut(c, " ")
		types[column] = typ
	}
	alike, equal, kept := 0, 0, 0
	reasons := map[string][]string{}
	for _, c := range described {
		key, typ := fmt.Sprint(c["name"]), fmt.Sprint(c["type"])
		column := strings.Replace(key, "column00", "column_1", 1)
		if snifferTypes[types[column]] != typ {
			why := writersOtherwise[types[column]+" "+typ]
			if why == "" {
				t.Errorf("%s: column %s is %s, DuckDB says %s, and nobody says why", name, column, types[column], typ)
			}
			reasons[why] = append(reasons[why], column)
			continue
		}
		alike++
		for i := range ours {
			switch a, b := spelled(ours[i][column], types[column]), spelled(theirs[i][key], types[column]); {
			case a == b:
				equal++
			case a == `""` && theirs[i][key] == nil:
				kept++
			default:
				t.Errorf("%s, row %d: %s is %s, DuckDB says %s", name, i, column, a, b)
			}
		}
	}
	var why []string
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		why = append(why, strings.Join(reasons[reason], ", ")+": "+reason)
	}
	if kept > 0 {
		why = append(why, fmt.Sprintf("%d texts that are empty in quotes are kept, and null in DuckDB", kept))
	}
	return fmt.Sprintf("| %s | %d | %d of %d | %d | %s |\n", name, len(ours), alike, len(described), equal, strings.Join(why, "; "))
}
