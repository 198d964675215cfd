package record

import (
	"bytes"
	"slices"
	"strings"

	"batcher/schema"
)

// How a dialect is found out. All of it follows from the head of the object, at
// most headBytes of it, and from what was declared. Where the head leaves a doubt about
// its first row, the keys of the published table decide. The table will have others
// later: who reads the object again says what Result.Header said.

const (
	sniffed      = 200 // rows that are looked at
	preambleRows = 16  // rows that may stand before a header at most
)

// candidates are the delimiters that are looked for; among equals the first one
// wins. A colon is one only if nothing else is: times have it.
const candidates = ",\t;|:"

// sniff completes what was not declared, but for the header, and returns the head as
// it is cut so, and where in it the first row begins that is a record or the header.
func (d Dialect) sniff(head []byte) (best reading, from int) {
	if line, sign, ok := sepLine(head, d.newline); ok && (d.Delimiter == 0 || d.Delimiter == sign) {
		d.Delimiter, from = sign, line
	}
	best = d.best(head[from:])
	if d.Skip == 0 && from == 0 && d.Header != Numbered && len(d.Columns) == 0 {
		skip := best.preamble()
		if best.rows = best.rows[skip:]; skip > 0 {
			from += best.rows[0].from
		}
	}
	if d.Trailing == "" && best.trails() {
		best.dialect.Trailing = Ignored
	}
	return best, from
}

// header says where the keys of cells come from.
func (r *reading) header(columns known) Header {
	if len(r.dialect.Columns) > 0 || r.record(columns) {
		return Numbered
	}
	return Named
}

// cells is how many cells rows have where no header says it: as many as most of them,
// or as the longest one where rows may end early. None of them may be in sight.
func (r *reading) cells() int {
	if !r.dialect.Pad {
		return r.width
	}
	most := 0
	for _, row := range r.rows {
		if !row.wrong {
			most = max(most, len(row.cells))
		}
	}
	return most
}

// sepLine reads the first line that Excel writes and reads: sep=;
func sepLine(head []byte, newline byte) (size int, sign byte, ok bool) {
	line, _, _ := bytes.Cut(head, []byte{newline})
	size = min(len(line)+1, len(head))
	line = bytes.Trim(line, "\r\n\"")
	if len(line) != 5 || !bytes.EqualFold(line[:4], []byte("sep=")) || line[4]|0x20-'a' < 26 || line[4]-'0' <= 9 {
		return 0, 0, false
	}
	return size, line[4], true
}

// sniffedRow is one row of the head.
type sniffedRow struct {
	from  int
	cells []string
	wrong bool // it cannot be split
	gap   bool // a blank line is before it
}

// reading is the head as one dialect cuts it.
type reading struct {
	dialect Dialect
	rows    []sniffedRow
	width   int // cells that most rows have; where two are as many, those of the earlier row
	times   int // rows that have as many
	dirty   int // rows in which a cell holds a sign that could be a delimiter, and is no decimal comma
}

// best cuts the head in every way that was not declared, and returns the reading
// under which the rows are most alike.
func (d Dialect) best(head []byte) reading {
	signs := candidates
	if d.Delimiter != 0 {
		signs = string(d.Delimiter)
	}
	var best reading
	for i := range len(signs) {
		d.Delimiter = signs[i]
		if signs[i] == ':' && best.width > 1 {
			break
		}
		r := d.quoting(head)
		if signs[i] == ':' && len(r.rows) > 0 && len(r.rows[0].cells) != r.width {
			break // below a name colons are those of times
		}
		if i == 0 || r.better(&best) {
			best = r
		}
	}
	return best
}

// quoting reads the head, if need be with backslashes before quotes, or with
// blanks before quotes.
func (d Dialect) quoting(head []byte) reading {
	best := d.read(head)
	if d.Quote == NoQuote {
		return best
	}
	quote := string(rune(d.Quote))
	if d.Escape == 0 && bytes.Contains(head, []byte(`\`+quote)) {
		with := d
		with.Escape = '\\'
		if r := with.read(head); r.times > best.times {
			best = r
		}
	}
	if bytes.Contains(head, []byte(string(rune(d.Delimiter))+" "+quote)) {
		with := best.dialect
		with.Padded = true
		if r := with.read(head); r.times > best.times {
			best = r
		}
	}
	return best
}

// read cuts the rows of the head.
func (d Dialect) read(head []byte) reading {
	r := reading{dialect: d}
	var at row
	gap := false
	for pos := 0; pos < len(head) && len(r.rows) < sniffed; {
		end, _ := at.cut(head[pos:], &d, int(d.newline))
		if end < 0 {
			break
		}
		blank := d.blank(at.text)
		if !blank {
			r.rows = append(r.rows, sniffedRow{from: pos, cells: at.texts(), wrong: at.wrong.code != fine, gap: gap})
		}
		gap = blank
		pos += end
	}
	r.count()
	return r
}

// texts are the cells of a row as they stand there.
func (r *row) texts() []string {
	out := make([]string, len(r.cells))
	for i, c := range r.cells {
		out[i] = string(r.text[c.from:c.to])
	}
	return out
}

func (r *reading) count() {
	times := map[int]int{}
	for _, row := range r.rows {
		if !row.wrong {
			times[len(row.cells)]++
		}
	}
	for _, row := range r.rows {
		if n := len(row.cells); !row.wrong && times[n] > r.times {
			r.width, r.times = n, times[n]
		}
	}
	for _, row := range r.rows {
		if slices.ContainsFunc(row.cells, r.dialect.dirty) {
			r.dirty++
		}
	}
}

// dirty says whether a cell holds a sign that could be the delimiter as well.
func (d *Dialect) dirty(cell string) bool {
	at := strings.IndexAny(cell, ",\t;|")
	if at < 0 || cell[at] != ',' {
		return at >= 0
	}
	return !hasDecimalComma(cell)
}

// hasDecimalComma says whether a cell is a number with a decimal comma: 1.234,5.
func hasDecimalComma(cell string) bool {
	whole, fraction, _ := strings.Cut(strings.TrimSpace(cell), ",")
	_, ok := figureOf([]byte(strings.ReplaceAll(whole, ".", "") + "." + fraction))
	return ok && fraction != ""
}

// better says whether rows are more alike in one reading than in another: a larger
// share of them has as many cells, by a tenth at least; other signs are left in fewer than
// half as many of them; they have more cells.
func (r *reading) better(o *reading) bool {
	switch {
	case r.width < 2 || o.width < 2:
		return r.width > 1
	case r.times*len(o.rows)*10 < o.times*len(r.rows)*9:
		return false
	case o.times*len(r.rows)*10 < r.times*len(o.rows)*9:
		return true
	case r.dirty > 2*o.dirty || o.dirty > 2*r.dirty:
		return r.dirty < o.dirty
	}
	return r.width > o.width
}

// preamble returns how many rows stand before the table, if that is beyond doubt:
// they are shorter, one of them is a single cell, nine of ten rows after them have
// as many cells as the others, and these begin after a blank line or with names over
// values that are none.
func (r *reading) preamble() int {
	skip, single := 0, false
	for skip < len(r.rows) && (r.rows[skip].wrong || len(r.rows[skip].cells) < r.width) {
		single = single || !r.rows[skip].wrong && len(r.rows[skip].cells) == 1
		skip++
	}
	if !single || skip > preambleRows || r.times < 3 || r.times*10 < 9*(len(r.rows)-skip) {
		return 0
	}
	if alike, unlike := compare(&r.rows[skip], r.rows[skip+1:]); !r.rows[skip].gap && unlike <= alike {
		return 0
	}
	return skip
}

// trails says whether rows end in a delimiter that the first row has not, and that
// nothing follows: more than half of them do, and no row has a cell there.
func (r *reading) trails() bool {
	if len(r.rows) < 2 || r.rows[0].wrong {
		return false
	}
	trail := 0
	for _, row := range r.rows[1:] {
		n := len(row.cells)
		switch {
		case row.wrong || n <= len(r.rows[0].cells):
		case row.cells[n-1] != "" || n > len(r.rows[0].cells)+1:
			return false
		default:
			trail++
		}
	}
	return trail*2 > len(r.rows)-1
}

// record says whether the first row is a record, which is like the rows below it. In
// doubt the keys of columns decide: most names of a header are such keys, or the columns
// that objects without a header gave it are. Else it is a header, unless a value of it is
// below as well.
func (r *reading) record(columns known) bool {
	if len(r.rows) == 0 || r.rows[0].wrong {
		return false
	}
	first, below := r.rows[0], r.rows[1:]
	known, of := countKnown(first.cells, columns)
	if known > 0 && known == of || years(&first, below) {
		return false
	}
	alike, unlike := compare(&first, below)
	switch {
	case alike != unlike:
		return alike > unlike
	case alike == 0 && known*2 > of:
		return false
	case alike == 0 && of > 0 && columns.numbers(len(first.cells)):
		return true
	case len(below) == 0:
		return slices.ContainsFunc(first.cells, func(cell string) bool { return value(sort(cell)) })
	case alike > 0:
		return false
	}
	return first.repeats(below)
}

// compare counts the cells of a row that are values like those of the rows below,
// and those that differ from them.
func compare(row *sniffedRow, below []sniffedRow) (alike, unlike int) {
	for i, cell := range row.cells {
		switch mine, theirs := sort(cell), sortBelow(below, i); {
		case theirs == 0 || mine == schema.SawBlank:
		case theirs == schema.SawText:
		case mine == theirs:
			alike++
		default:
			unlike++
		}
	}
	return alike, unlike
}

// countKnown counts the cells that have columns, of those that are not empty.
func countKnown(cells []string, columns known) (known, of int) {
	for _, cell := range cells {
		if cell = strings.TrimSpace(cell); cell != "" {
			of++
			if columns.has(cell) {
				known++
			}
		}
	}
	return known, of
}

// sort is what a cell looks like: a number, a date or a time, a bool, text, or
// nothing.
func sort(cell string) schema.Class {
	switch c := classOfCell([]byte(cell)); c {
	case schema.SawWideInt, schema.SawDecimal, schema.SawFloat, schema.SawFraction, schema.SawHuge, schema.SawInfinite:
		return schema.SawInt
	case schema.SawTimestamp:
		return schema.SawDate
	case schema.SawText:
		switch {
		case isLocalTime(cell):
			return schema.SawDate
		case hasDecimalComma(cell):
			return schema.SawInt
		}
		return c
	default:
		return c
	}
}

// isLocalTime says whether text is a date and a time without zone.
func isLocalTime(cell string) bool {
	return isInstant(append([]byte(strings.TrimSpace(cell)), 'Z'))
}

// value says whether what a cell looks like is no name.
func value(c schema.Class) bool {
	return c == schema.SawInt || c == schema.SawDate || c == schema.SawBool
}

// sortBelow is what all cells of a column look like, but those that say nothing;
// text if they differ, and 0 if there are none.
func sortBelow(rows []sniffedRow, column int) (all schema.Class) {
	for _, row := range rows {
		if row.wrong || column >= len(row.cells) {
			continue
		}
		c := sort(row.cells[column])
		switch {
		case c == schema.SawBlank:
		case all == 0:
			all = c
		case all != c:
			return schema.SawText
		}
	}
	return all
}

// years says whether the cells of a row that are numbers are years in order, as in
// headers of tables with a column a year. Over columns of years they are values.
func years(row *sniffedRow, below []sniffedRow) bool {
	last, n, values := "", 0, 0
	for i, cell := range row.cells {
		cell = strings.TrimSpace(cell)
		if sort(cell) != schema.SawInt {
			continue
		}
		if !isYear(cell) || cell <= last {
			return false
		}
		last, n = cell, n+1
		if yearsBelow(below, i) {
			values++
		}
	}
	return n > 1 && values < n
}

func isYear(cell string) bool {
	return len(cell) == 4 && cell >= "1900" && cell <= "2100" && sort(cell) == schema.SawInt
}

// yearsBelow says whether all cells of a column are years, but those that say nothing.
func yearsBelow(rows []sniffedRow, column int) (all bool) {
	for _, row := range rows {
		if row.wrong || column >= len(row.cells) || sort(row.cells[column]) == schema.SawBlank {
			continue
		}
		if all = isYear(strings.TrimSpace(row.cells[column])); !all {
			return false
		}
	}
	return all
}

// repeats says whether a cell of the row stands in its column below as well, but
// not the whole row, which is a header again where files were put together.
func (s *sniffedRow) repeats(below []sniffedRow) bool {
	for _, row := range below {
		if len(row.cells) != len(s.cells) || slices.EqualFunc(row.cells, s.cells, sameName) {
			continue
		}
		for i, cell := range row.cells {
			if cell != "" && cell == s.cells[i] {
				return true
			}
		}
	}
	return false
}

// sameName says whether texts are one name, with a byte order mark before it or without.
func sameName(a, b string) bool {
	return strings.TrimPrefix(a, "\ufeff") == strings.TrimPrefix(b, "\ufeff")
}
