package record

import (
	"bytes"
	"fmt"

	"batcher/schema"
)

// csvParser reads rows of cells under the header of one object.
type csvParser struct {
	*scanner
	learner *learner
	dialect Dialect
	keys    [][]byte
	nodes   []*node // by place; nil where the table has no column
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

// name makes the cells of the row at hand the keys of those that follow. A name
// that stands there twice is told apart by a number behind it; an empty one
// becomes column_N.
func (p *csvParser) name() {
	taken := map[string]bool{}
	for _, c := range p.cells {
		taken[string(c.text)] = true
	}
	seen := map[string]bool{}
	for i, c := range p.cells {
		key := string(c.text)
		if key == "" {
			key = columnKey(i)
		}
		for n := 2; seen[key] || key != string(c.text) && taken[key]; n++ {
			key = fmt.Sprintf("%s_%d", bytes.TrimSpace(c.text), n)
		}
		seen[key] = true
		p.keys = append(p.keys, []byte(key))
	}
}

// split finds the cells of a row. It fails if something stands between a
// closing quote and the next delimiter.
func (p *csvParser) split(row []byte) bool {
	p.cells, p.scratch = p.cells[:0], p.scratch[:0]
	d := &p.dialect
	for i := 0; ; {
		if i < len(row) && int(row[i]) == d.Quote {
			end := d.closing(row, i+1)
			if end < 0 {
				return p.miscut(openQuote, i)
			}
			if end < len(row) && row[end] != d.Delimiter {
				return p.miscut(badQuote, end)
			}
			p.cells = append(p.cells, cell{p.unquoted(row[i+1 : end-1]), true})
			if i = end; i == len(row) {
				return true
			}
			i++
			continue
		}
		next := bytes.IndexByte(row[i:], d.Delimiter)
		if next < 0 {
			p.cells = append(p.cells, cell{text: row[i:]})
			return true
		}
		p.cells = append(p.cells, cell{text: row[i : i+next]})
		i += next + 1
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

// plain returns the text of a cell, with a point in its number if the dialect
// has another sign there.
func (p *csvParser) plain(c cell) []byte {
	if p.dialect.Decimal == '.' || bytes.Count(c.text, []byte{p.dialect.Decimal}) != 1 || bytes.IndexByte(c.text, '.') >= 0 {
		return c.text
	}
	p.number = append(p.number[:0], c.text...)
	p.number[bytes.IndexByte(c.text, p.dialect.Decimal)] = '.'
	if _, ok := cellFloat(p.number); !ok {
		return c.text
	}
	return p.number
}

func (p *csvParser) scan(rec *record) bool {
	p.begin()
	if !p.split(rec.raw) || !p.fits() {
		return false
	}
	if p.tree != p.root {
		p.resolve()
	}
	for i, c := range p.cells {
		if p.null(c) {
			continue
		}
		text := c.text
		if n := p.nodes[i]; n == nil || n.kind == schema.Float64 {
			text = p.plain(c)
		}
		if !p.cell(text, p.nodes[i], p.keys[i]) {
			return false
		}
	}
	p.end()
	return true
}

// resolve finds the nodes of the keys in a tree that is new.
func (p *csvParser) resolve() {
	p.tree, p.nodes = p.root, p.nodes[:0]
	for _, key := range p.keys {
		p.nodes = append(p.nodes, p.root.at(string(key)))
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
			child.See(classOfCell(p.plain(c)))
		}
	}
}

func (p *csvParser) show(rec *record) []byte { return rec.raw }
