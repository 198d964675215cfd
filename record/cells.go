package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"batcher/schema"
)

// csvParser reads rows of cells under the header of one object.
type csvParser struct {
	*scanner
	learner *learner
	dialect Dialect
	keys    [][]byte
	nodes   []*node // by place; nil where the table has no column
	missing []*node // columns with a default that the header does not have
	tree    *node   // the tree that nodes belong to
	cells   []cell
	scratch []byte
	number  []byte
}

// cell is one cell of the row at hand, without its quotes.
type cell struct {
	text   []byte
	quoted bool
}

// numbered names the cells of the row at hand, and of those that follow, by their
// place.
func (p *csvParser) numbered() {
	for i := range p.cells {
		p.keys = append(p.keys, []byte(columnKey(i)))
	}
}

// name makes the cells of the row at hand, without the space around them, the
// keys of those that follow. A name that stands there twice is told apart by a
// number behind it; an empty one becomes column_N.
func (p *csvParser) name() {
	taken := map[string]bool{}
	for _, c := range p.cells {
		taken[string(bytes.TrimSpace(c.text))] = true
	}
	given, numbers := map[string]bool{}, map[string]int{}
	for i, c := range p.cells {
		name := string(bytes.TrimSpace(c.text))
		key, fresh := name, given[name]
		if name == "" {
			name = columnKey(i)
			key, fresh = name, taken[name]
		}
		for n := max(2, numbers[name]); fresh; n++ {
			key = fmt.Sprintf("%s_%d", name, n)
			fresh, numbers[name] = given[key] || taken[key], n+1
		}
		given[key] = true
		p.keys = append(p.keys, []byte(key))
	}
}

// split finds the cells of a row. It fails if something stands between a
// closing quote and the next delimiter.
func (p *csvParser) split(row []byte) bool {
	p.cells, p.scratch = p.cells[:0], p.scratch[:0]
	row = bytes.TrimSuffix(row, []byte{'\r'})
	if quote := p.dialect.Quote; quote == NoQuote || bytes.IndexByte(row, byte(quote)) < 0 {
		p.unquotedRow(row)
		return true
	}
	return p.quotedRow(row)
}

// unquotedRow finds the cells of a row without quotes, eight bytes at a time.
func (p *csvParser) unquotedRow(row []byte) {
	const low7 = highBits - lowBits
	cells, from, i := p.cells, 0, 0
	signs := lowBits * uint64(p.dialect.Delimiter)
	for ; i+8 <= len(row); i += 8 {
		x := binary.LittleEndian.Uint64(row[i:]) ^ signs
		for m := ^((x&low7 + low7) | x | low7); m != 0; m &= m - 1 {
			end := i + bits.TrailingZeros64(m)>>3
			cells = append(cells, cell{text: row[from:end]})
			from = end + 1
		}
	}
	for ; i < len(row); i++ {
		if row[i] == p.dialect.Delimiter {
			cells = append(cells, cell{text: row[from:i]})
			from = i + 1
		}
	}
	cells = append(cells, cell{text: row[from:]})
	p.cells = cells
}

func (p *csvParser) quotedRow(row []byte) bool {
	d := &p.dialect
	for i := 0; ; i++ {
		end := i
		if i < len(row) && int(row[i]) == d.Quote {
			if end = d.closing(row, i+1); end < 0 {
				return p.miscut(openQuote, i)
			}
			if end < len(row) && row[end] != d.Delimiter {
				return p.miscut(badQuote, end)
			}
			p.cells = append(p.cells, cell{p.unquoted(row[i+1 : end-1]), true})
		} else {
			end += indexEither(row[i:], d.Delimiter, d.Delimiter)
			p.cells = append(p.cells, cell{text: row[i:end]})
		}
		if i = end; i == len(row) {
			return true
		}
	}
}

func (p *csvParser) miscut(why code, at int) bool {
	if p.scanner != nil {
		p.fail(why, at)
	}
	return false
}

// unquoted returns the content of a quoted cell.
func (p *csvParser) unquoted(content []byte) []byte {
	d := &p.dialect
	if bytes.IndexByte(content, byte(d.Quote)) < 0 && (d.Escape == 0 || bytes.IndexByte(content, d.Escape) < 0) {
		return content
	}
	from := len(p.scratch)
	for i := 0; i < len(content); i++ {
		if c := content[i]; (int(c) == d.Quote || c == d.Escape && d.Escape != 0) && i+1 < len(content) {
			i++
		}
		p.scratch = append(p.scratch, content[i])
	}
	return p.scratch[from:]
}

// fits says whether the row at hand has a cell for each key.
func (p *csvParser) fits() bool {
	if len(p.cells) == len(p.keys) {
		return true
	}
	p.fault = fault{code: ragged, at: len(p.cells), want: len(p.keys)}
	return false
}

// null says whether a cell says nothing.
func (p *csvParser) null(c cell) bool {
	if c.quoted {
		return false
	}
	for _, null := range p.dialect.Null {
		if string(c.text) == null {
			return true
		}
	}
	return false
}

// pointed returns the text of a cell with a point for the dialect's decimal
// sign, or nil if it can be no number: the point means something else there.
func (p *csvParser) pointed(text []byte) []byte {
	if bytes.IndexByte(text, '.') >= 0 {
		return nil
	}
	at := bytes.IndexByte(text, p.dialect.Decimal)
	if at < 0 {
		return text
	}
	p.number = append(p.number[:0], text...)
	p.number[at] = '.'
	return p.number
}

// class classifies a cell that is not null.
func (p *csvParser) class(text []byte) schema.Class {
	class := classOfCell(text)
	if p.dialect.Decimal == '.' {
		return class
	}
	if number := p.pointed(text); class == schema.SawText && number != nil && classOfCell(number) == schema.SawFloat {
		return schema.SawFloat
	} else if class == schema.SawFloat && number == nil {
		return schema.SawText
	}
	return class
}

func (p *csvParser) scan(rec *record) bool {
	p.begin()
	if !p.split(rec.raw) || !p.fits() {
		return false
	}
	if p.tree != p.root {
		p.resolve()
	}
	for _, n := range p.missing {
		p.miss(n, 0, 0)
	}
	for i, c := range p.cells {
		if !p.null(c) && !p.take(c.text, p.nodes[i], p.keys[i]) {
			return false
		}
	}
	p.end()
	return true
}

// take reads a cell that is not null.
func (p *csvParser) take(text []byte, n *node, key []byte) bool {
	if p.dialect.Decimal == '.' || n == nil || n.kind != schema.Float64 && n.kind != schema.Decimal {
		return p.cell(text, n, key)
	}
	if number := p.pointed(text); number != nil && p.fill(number, n) {
		return true
	}
	return p.cellMisfit(text, n, p.class(text))
}

// resolve finds the nodes of the keys in a tree that is new.
func (p *csvParser) resolve() {
	p.tree, p.nodes = p.root, p.nodes[:0]
	for _, key := range p.keys {
		p.nodes = append(p.nodes, p.root.at(string(key)))
	}
	p.missing = p.missing[:0]
	for _, n := range p.root.fields {
		if n.missing != nil && !slices.Contains(p.nodes, n) {
			p.missing = append(p.missing, n)
		}
	}
}

func (p *csvParser) valid(rec *record) bool { return p.split(rec.raw) && p.fits() }

func (p *csvParser) observe(_ *record, _ when) {
	l := p.learner
	l.records++
	l.root.SeeObject(l.records)
	for i, c := range p.cells {
		if p.null(c) {
			continue
		}
		if child := l.root.SeeKey(p.keys[i], rootKeys(l.rules)); child != nil {
			child.See(p.class(c.text))
		}
	}
}

func (p *csvParser) show(rec *record) []byte { return rec.raw }
