package record

import (
	"fmt"

	"batcher/schema"
)

// exampleBytes is how much of a misfit Notes shows.
const exampleBytes = 200

// Notes says what a try did beyond plain rows.
type Notes struct {
	Rows    int64          // rows emitted or at hand
	Dead    int64          // dead letters
	Added   []schema.Added // new columns and fields; those with Renamed set have another name than their key
	Misfits []Misfit       // by place, in the order in which they were first seen
}

// Misfit counts the values at one place that went into _rescued.
type Misfit struct {
	Column  string // names joined by ".", "[]" behind lists; of unknown keys the object around
	Type    string // the column's type; "" for unknown keys
	Reason  string // type | unknown_key | precision
	Count   int64
	Example string // the first value as received, cut
	Source  string // of the first value
	Offset  int64  // of its record
	Cure    string // a command, or what to change in the pipeline file; "" if there is none
}

// notes gathers Notes.
type notes struct {
	rows   int64
	dead   int64
	adds   []schema.Added
	places map[place]int
	found  []Misfit
	saw    []schema.Class // classes of a misfit's values
	kinds  []schema.Kind
}

type place struct {
	column string
	reason reason
}

func (n *notes) added(a []schema.Added) { n.adds = append(n.adds, a...) }

var reasons = [...]string{wrongType: "type", unknownKey: "unknown_key", precision: "precision"}

// misfits counts what was rescued from a record that became a row; rescued is
// its _rescued.
func (n *notes) misfits(found []misfit, rec *record, rescued []byte) {
	for _, m := range found {
		key := place{m.at.column, m.reason}
		i, known := n.places[key]
		if !known {
			if n.places == nil {
				n.places = map[place]int{}
			}
			i = len(n.found)
			n.places[key] = i
			n.found = append(n.found, first(m, rec, rescued))
			n.saw = append(n.saw, 0)
			n.kinds = append(n.kinds, m.at.kind)
		}
		n.found[i].Count++
		n.saw[i] |= m.saw
	}
}

func first(m misfit, rec *record, rescued []byte) Misfit {
	out := Misfit{
		Column: m.at.column, Reason: reasons[m.reason],
		Source: string(rec.source), Offset: rec.pos, Example: string(rescued[m.from:min(m.to, m.from+exampleBytes)]),
	}
	if m.reason != unknownKey {
		out.Type = schema.Type{Kind: m.at.kind, Precision: int8(m.at.precision), Scale: int8(m.at.scale)}.String()
		if m.at.kind.IsNested() {
			out.Type = m.at.kind.String()
		}
	}
	return out
}

// classOfValue classifies any valid value.
func classOfValue(b []byte) schema.Class {
	var s schema.Shape
	l := learner{scanner: &scanner{}, when: late}
	l.value(b, 0, &s)
	return s.Saw()
}

// cure says what would give the values at a place a column.
func cure(m Misfit, k schema.Kind, saw schema.Class) string {
	switch m.Reason {
	case "unknown_key":
		return "pin the object as json, or raise the bounds under schema.nested"
	case "precision":
		return fmt.Sprintf("batcher schema widen %s string", m.Column)
	}
	wider := (schema.ClassOf(k) | saw).Kind()
	if wider == k || wider == schema.None {
		wider = schema.String
	}
	t := schema.Type{Kind: wider}
	if wider == schema.Decimal {
		t.Precision = 38
	}
	return fmt.Sprintf("batcher schema widen %s %s", m.Column, t)
}

// Notes returns what the try did so far. It is complete after Flush.
func (d *Decoder) Notes() Notes {
	out := Notes{Rows: d.notes.rows, Dead: d.notes.dead, Added: d.notes.adds}
	for i, m := range d.notes.found {
		m.Cure = cure(m, d.notes.kinds[i], d.notes.saw[i])
		out.Misfits = append(out.Misfits, m)
	}
	return out
}
