package record

import (
	"bytes"
	"slices"
	"strings"
	"unsafe"

	"batcher/schema"
)

// csvParser reads rows of cells under the header of one object.
type csvParser struct {
	*scanner
	learner *learner
	known   known
	dialect Dialect
	keys    [][]byte
	kin     []int   // keys that differ in case alone, by place: they are seen even where their cells are null
	nodes   []*node // by place; nil where the table has no column
	plain   []*node // those that take the text of a cell as it stands
	missing []*node // columns with a default that the header does not have
	tree    *node   // the tree that nodes belong to
	hand    row     // the row at hand
	cut     bool    // the reader found its cells when it cut it
	scratch []byte  // content of cells without quotes and escapes
	number  []byte
}

// name makes the cells of the row at hand, without the space around them, the
// keys of those that follow.
func (p *csvParser) name() {
	texts := make([]string, len(p.hand.cells))
	for i := range p.hand.cells {
		texts[i] = string(bytes.TrimSpace(bytes.ReplaceAll(p.text(&p.hand.cells[i]), []byte{0}, nil)))
	}
	p.named(texts)
}

// named makes the keys of texts of a header those of the rows that follow.
func (p *csvParser) named(texts []string) {
	for _, key := range p.known.header(texts) {
		p.keys = append(p.keys, []byte(key))
	}
	p.kin = kinOf(p.keys)
}

// split finds the cells of a row. It fails if something stands between a
// closing quote and the next delimiter.
func (p *csvParser) split(text []byte) bool {
	if !p.found(text) {
		p.cut = false
		p.hand.cut(text, &p.dialect, noNewline)
	}
	p.scratch = p.scratch[:0]
	if p.hand.wrong.code != fine {
		p.fault = p.hand.wrong
		return false
	}
	return true
}

// found says whether the reader found the cells of a row when it cut it.
func (p *csvParser) found(text []byte) bool {
	return p.cut && len(text) == len(p.hand.text) && unsafe.SliceData(text) == unsafe.SliceData(p.hand.text)
}

// text is the content of a cell of the row at hand.
func (p *csvParser) text(c *cell) []byte {
	content := p.hand.text[c.from:c.to]
	if c.form == escaped {
		return p.unescaped(content)
	}
	return content
}

// unescaped returns the content of a cell with quotes or escapes in it.
func (p *csvParser) unescaped(content []byte) []byte {
	d := &p.dialect
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
	n := len(p.hand.cells)
	if n == len(p.keys) || n < len(p.keys) && p.dialect.Pad {
		return true
	}
	if last := n - 1; last == len(p.keys) && p.dialect.Trailing == Ignored && p.hand.cells[last].from == p.hand.cells[last].to {
		p.hand.cells = p.hand.cells[:last]
		return true
	}
	p.fault = fault{code: ragged, at: len(p.hand.cells), want: len(p.keys)}
	return false
}

// null says whether a cell says nothing.
func (p *csvParser) null(c *cell, text []byte) bool {
	if c.form != bare {
		return false
	}
	for _, null := range p.dialect.Null {
		if string(text) == null {
			return true
		}
	}
	return false
}

// plainly says whether numbers are written with a point and without signs between
// thousands.
func (d *Dialect) plainly() bool { return d.Decimal == '.' && d.Thousands == 0 }

// written returns the text of a cell as a number with a point is written, or nil if
// it can be no number: its signs mean something else there.
func (p *csvParser) written(text []byte) []byte {
	d := &p.dialect
	if d.plainly() {
		return text
	}
	p.number = p.number[:0]
	text = trimmed(text)
	whole, fraction, pointed := bytes.Cut(text, []byte{d.Decimal})
	if d.Thousands != 0 {
		if whole = p.grouped(whole); whole == nil {
			return nil
		}
	}
	if d.Decimal != '.' && (bytes.IndexByte(whole, '.') >= 0 || bytes.IndexByte(fraction, '.') >= 0) {
		return nil
	}
	if !pointed && len(whole) == len(text) {
		return text
	}
	p.number = append(p.number, whole...)
	if pointed {
		p.number = append(append(p.number, '.'), fraction...)
	}
	return p.number
}

// thousands are the other forms of signs between thousands: spaces that do not break,
// and the apostrophe of typesetters.
var thousands = map[byte][]string{' ': {" ", "\u00a0", "\u202f"}, '\'': {"'", "\u2019"}}

// grouped takes the signs between groups of three digits out of a whole number. It
// returns nil where they are anywhere else.
func (p *csvParser) grouped(whole []byte) []byte {
	signs := thousands[p.dialect.Thousands]
	if signs == nil {
		signs = []string{string(p.dialect.Thousands)}
	}
	text := string(whole)
	for _, sign := range signs {
		if !strings.Contains(text, sign) {
			continue
		}
		groups := strings.Split(strings.TrimLeft(text, "+-"), sign)
		for i, g := range groups {
			if len(g) != 3 && (i > 0 || len(g) == 0 || len(g) > 3) || strings.Trim(g, "0123456789") != "" {
				return nil
			}
		}
		return []byte(strings.ReplaceAll(text, sign, ""))
	}
	return whole
}

// class classifies a cell that is not null.
func (p *csvParser) class(text []byte) schema.Class {
	const fractions = schema.SawFloat | schema.SawFraction | schema.SawHuge
	const wholes = schema.SawInt | schema.SawWideInt | schema.SawDecimal
	class := p.learner.zoned(classOfCell(text), trimmed(text))
	if p.dialect.plainly() {
		return class
	}
	number := p.written(text)
	switch {
	case number == nil && class&(fractions|wholes) != 0:
		return schema.SawText
	case number != nil && (class == schema.SawText || class&(fractions|wholes) != 0):
		if of := classOfCell(number); of&(fractions|wholes) != 0 {
			return of
		}
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
	for i := range p.hand.cells {
		c := &p.hand.cells[i]
		text := p.text(c)
		if p.null(c, text) {
			continue
		}
		if n := p.plain[i]; n != nil {
			if !p.fill(text, n) && !p.cellMisfit(text, n, p.class(text)) {
				return false
			}
			continue
		}
		if !p.take(text, p.nodes[i], p.keys[i]) {
			return false
		}
	}
	p.end()
	return true
}

// marked says whether the numbers of a column have another decimal sign than a
// point, which means something else in them: 1.000 is a thousand, and not 1.
func (p *csvParser) marked(n *node) bool {
	if p.dialect.plainly() {
		return false
	}
	switch n.kind {
	case schema.Int64, schema.Int32, schema.Float64, schema.Decimal:
		return true
	case schema.Timestamp:
		return n.unit != schema.ISO
	}
	return false
}

// take reads a cell that is not null.
func (p *csvParser) take(text []byte, n *node, key []byte) bool {
	if n == nil || !p.marked(n) {
		return p.cell(text, n, key)
	}
	if number := p.written(text); number != nil && p.fill(number, n) {
		return true
	}
	return p.cellMisfit(text, n, p.class(text))
}

// resolve finds the nodes of the keys in a tree that is new.
func (p *csvParser) resolve() {
	p.tree, p.nodes, p.plain = p.root, p.nodes[:0], p.plain[:0]
	p.root.part()
	for _, key := range p.keys {
		p.root.meet(string(key))
	}
	for _, key := range p.keys {
		n := p.root.at(string(key))
		if _, barred := p.root.folds.barred[string(key)]; barred {
			n = nil
		} else if _, exact := p.root.byKey[string(key)]; n != nil && !exact {
			p.learner.root.Folded(string(key), rootKeys(p.learner.rules))
		}
		if n != nil {
			n.met = true
		}
		p.nodes = append(p.nodes, n)
		if n != nil && (n.kind.IsNested() || n.kind == schema.JSON || n.kind == schema.None || p.marked(n)) {
			n = nil
		}
		p.plain = append(p.plain, n)
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
	for _, i := range p.kin {
		l.root.SeeKey(p.keys[i], rootKeys(l.rules))
	}
	for i := range p.hand.cells {
		c := &p.hand.cells[i]
		text := p.text(c)
		if p.null(c, text) {
			continue
		}
		if child := l.root.SeeKey(p.keys[i], rootKeys(l.rules)); child != nil {
			p.learn(child, text)
		}
	}
}

// learn joins a cell to what was seen under its key.
func (p *csvParser) learn(s *schema.Shape, text []byte) {
	class, whole, scale, ok := plainFigure(text)
	if ok && (class == schema.SawInt || p.dialect.Decimal == '.') {
		s.See(class)
		s.Measure(whole, scale)
		return
	}
	class = p.class(text)
	if s.See(class); class&sawMeasured != 0 {
		measure(s, p.written(text))
	}
}

func (p *csvParser) show(rec *record) ([]byte, int64) { return rec.head() }
