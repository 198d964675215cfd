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

// sniff completes what was not declared, except the header, and returns the head as
// it is cut so, and where in it the first row begins that is a record or the header.
func (d Dialect) sniff(head []byte) (best reading, from int) {
	if line, sign, ok := sepLine(head, d.newline); ok && (d.Delimiter == 0 || d.Delimiter == sign) {
		d.Delimiter, from = sign, line
	}
	best = d.best(head[from:])
	if d.Skip == 0 && from == 0 && d.Header != Numbered && len(d.Columns) == 0 {
		skip := best.preamble()
		best.empty = !slices.ContainsFunc(best.rows[:skip], func(row sniffedRow) bool { return row.wrong || row.filled() > 0 })
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
	for len(line) > 5 && line[len(line)-1] == line[4] { // of a program that fills up lines
		line = line[:len(line)-1]
	}
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
	width   int  // cells that most rows have; where two are as many, those of the earlier row
	empty   bool // the rows above the table have no value: they are records where there is no header
	times   int  // rows that have as many
	dirty   int  // rows in which a cell holds a sign that could be a delimiter, and is no decimal comma
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
		if signs[i] == ':' && (best.width > 1 || i > 0 && sortBelow(best.rows, 0) == schema.SawDate) {
			break // there is another one, or these are times of day
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
		end, _ := at.cut(head[pos:], &d, d.ends())
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

// preamble returns how many rows are before the table, if that is beyond doubt. Either
// they are empty, and nothing is declared of a header. Or they are shorter, where empty
// cells at their ends do not count, one of them is a single cell, nine of ten rows after
// them have as many cells as each other, and these begin after a gap or with names over
// values that are none.
func (r *reading) preamble() int {
	blank := 0
	for r.dialect.Header == "" && blank < len(r.rows) && r.rows[blank].filled() == 0 && !r.rows[blank].wrong {
		blank++
	}
	if blank > preambleRows || blank == len(r.rows) {
		blank = 0
	}
	skip, single, gap := 0, false, false
	for skip < len(r.rows) && (r.rows[skip].wrong || r.rows[skip].filled() < r.width) {
		gap = !r.rows[skip].wrong && r.rows[skip].filled() == 0
		single = single || !r.rows[skip].wrong && r.rows[skip].filled() == 1
		skip++
	}
	if !single || skip > preambleRows || r.times < 3 || r.times*10 < 9*(len(r.rows)-skip) || skip == len(r.rows) {
		return blank
	}
	if alike, unlike := compare(&r.rows[skip], r.rows[skip+1:]); !gap && !r.rows[skip].gap && unlike <= alike {
		return blank
	}
	return skip
}

// filled is how many cells the row has up to the last one that is not empty.
func (s *sniffedRow) filled() int {
	n := len(s.cells)
	for n > 0 && strings.TrimSpace(s.cells[n-1]) == "" {
		n--
	}
	return n
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
