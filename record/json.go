package record

import (
	"bytes"

	"batcher/schema"
)

// jsonParser reads records that are JSON objects.
type jsonParser struct {
	*scanner
	learner *learner
}

func (p jsonParser) scan(rec *record) bool       { return p.scanner.scan(rec.raw) }
func (p jsonParser) valid(rec *record) bool      { return p.scanner.valid(rec.raw) }
func (p jsonParser) observe(rec *record, w when) { p.learner.observe(rec.raw, w) }

func (p jsonParser) show(rec *record) ([]byte, int64) { return rec.head() }

// LineKey is the key under which a line of text stands.
const LineKey = "line"

// lineParser makes a row of a line of text: it is the value of one column, as
// text, without the carriage return at its end.
type lineParser struct {
	*scanner
	learner *learner
}

func (p lineParser) scan(rec *record) bool {
	p.begin()
	line := p.root.at(LineKey)
	if line != nil {
		line.met = true
	}
	for _, n := range p.root.fields {
		if n.missing != nil && n != line {
			p.miss(n, 0, 0)
		}
	}
	if !p.cell(bytes.TrimSuffix(rec.raw, []byte{'\r'}), line, []byte(LineKey)) {
		return false
	}
	p.end()
	return true
}

func (p lineParser) valid(*record) bool { return true }

func (p lineParser) observe(*record, when) {
	l := p.learner
	l.records++
	l.root.SeeObject(l.records)
	if child := l.root.SeeKey([]byte(LineKey), rootKeys(l.rules)); child != nil {
		child.See(schema.SawText)
	}
}

func (p lineParser) show(rec *record) ([]byte, int64) { return rec.head() }
