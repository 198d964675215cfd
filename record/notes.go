package record

import (
	"fmt"

	"batcher/schema"
)

// exampleBytes is how much of a misfit Notes shows.
const exampleBytes = 200

// Notes says what a try did beyond plain rows.
type Notes struct {
	Rows     int64          // rows emitted or at hand
	Dead     int64          // dead letters
	Replaced int64          // records in which U+FFFD stands for what was no UTF-8
	Added    []schema.Added // new columns and fields; those with Renamed set have another name than their key
	Misfits  []Misfit       // by place, in the order in which they were first seen
	Unmet    []string       // places that are pinned and of which no record had the key; none without rows
	Headless Guessed        // objects of CSV whose first row was found out to be a record
	Above    Guessed        // objects of CSV above whose table lines were found out to be no rows
	Alone    Guessed        // objects of CSV with a header and nothing below it
	Strange  Guessed        // objects of CSV whose header is nothing but text, and has no name of another header or column
	Envelope *Envelope      // a list that seems to hold the records of what was taken for one; nil: none
}

// Guessed counts objects about which something was found out that nobody declared.
type Guessed struct {
	Objects int64
	First   string // source of the first one
}

func (g *Guessed) add(source string) {
	if g.Objects++; g.Objects == 1 {
		g.First = source
	}
}

// Misfit counts the values at one place that went into _rescued, or that the
// contract discarded.
type Misfit struct {
	Column  string // names joined by ".", "[]" behind lists; of unknown keys the object around
	Type    string // the column's type; "" for unknown keys
	Reason  string // type | unknown_key | precision | second_place
	Dropped bool   // the values are kept nowhere
	Count   int64
	Example string // the first value as received, cut
	Source  string // of the first value
	Offset  int64  // of its record
	Cure    string // a command, or what to change in the pipeline file; "" if there is none
}

// notes gathers Notes.
type notes struct {
	rows     int64
	dead     int64
	replaced int64
	adds     []schema.Added
	places   map[place]int
	found    []Misfit
	saw      []schema.Class // classes of a misfit's values
	kinds    []schema.Kind
	guesses  struct{ headless, above, alone, strange Guessed }
	headers  int             // objects of CSV with one
	names    map[string]bool // in them
	envelope *Envelope
	looked   int // large JSON values in which an envelope was looked for
}

// largeRecord is from how many bytes on a JSON value may be an envelope that
// nobody declared, and lookedAt how many of them are looked at.
const (
	largeRecord = 32 << 10
	lookedAt    = 4
)

// header adds the keys of a header, and says whether one of them was in another.
func (n *notes) header(keys [][]byte) (again bool) {
	if n.headers++; n.names == nil {
		n.names = map[string]bool{}
	}
	for _, key := range keys {
		name := schema.Fold(string(key))
		if again = again || n.names[name]; len(n.names) < maxNames {
			n.names[name] = true
		}
	}
	return again
}

// maxNames bounds the names of headers that are kept.
const maxNames = 100_000

// large looks for an envelope in a large record.
func (n *notes) large(rec *record) {
	if _, ok := rec.by.(jsonParser); !ok || n.envelope != nil || n.looked == lookedAt {
		return
	}
	n.looked++
	if e, ok := FindEnvelope(rec.raw[:min(len(rec.raw), headBytes)]); ok {
		n.envelope = &e
	}
}

type place struct {
	column  string
	reason  reason
	dropped bool
}

func (n *notes) added(a []schema.Added) { n.adds = append(n.adds, a...) }

var reasons = [...]string{wrongType: "type", unknownKey: "unknown_key", precision: "precision", secondPlace: "second_place"}

// misfits counts what did not fit of a record that became a row.
func (n *notes) misfits(s *scanner, rec *record) {
	for _, m := range s.misfits {
		key := place{m.at.column, m.reason, m.dropped}
		i, known := n.places[key]
		if !known {
			if n.places == nil {
				n.places = map[place]int{}
			}
			i = len(n.found)
			n.places[key] = i
			n.found = append(n.found, first(m, rec, s))
			n.saw = append(n.saw, 0)
			n.kinds = append(n.kinds, m.at.kind)
		}
		n.found[i].Count++
		n.saw[i] |= m.saw
	}
}

func first(m misfit, rec *record, s *scanner) Misfit {
	kept := s.rescued
	if m.dropped {
		kept = s.dropped
	}
	out := Misfit{
		Column: m.at.column, Reason: reasons[m.reason], Dropped: m.dropped,
		Source: string(rec.source), Offset: rec.pos, Example: string(kept[m.from:min(m.to, m.from+exampleBytes)]),
	}
	if m.reason != unknownKey {
		out.Type = typeName(m.at)
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
		if m.Dropped {
			return "pin the field under schema.columns to keep it"
		}
		return "pin the object as json, or raise the bounds under schema.nested"
	case "second_place":
		return "another place of its pin goes first and has another value"
	case "precision":
		return fmt.Sprintf("batcher schema widen %s string", m.Column)
	}
	wider := (schema.ClassOf(k) | saw).Kind()
	if wider == k || wider == schema.None || saw&schema.SawFraction != 0 { // how many digits it needs is not known
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
	out := Notes{Rows: d.notes.rows, Dead: d.notes.dead, Replaced: d.notes.replaced, Added: d.notes.adds, Envelope: d.notes.envelope,
		Headless: d.notes.guesses.headless, Above: d.notes.guesses.above, Alone: d.notes.guesses.alone, Strange: d.notes.guesses.strange}
	if out.Rows > 0 {
		out.Unmet = d.builder.unmet()
	}
	for i, m := range d.notes.found {
		m.Cure = cure(m, d.notes.kinds[i], d.notes.saw[i])
		out.Misfits = append(out.Misfits, m)
	}
	return out
}
