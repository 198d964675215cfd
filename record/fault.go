package record

import "fmt"

// fault is why the record at hand cannot become a row.
type fault struct {
	code code
	at   int  // index of the offending byte in the record; ragged: how many cells there are
	want int  // ragged: how many there should be
	byte byte // the offending byte, if any
	end  bool // the record ends too early

	where, text, cure string // newColumn, misfitting: the place, what is wrong there, what helps
}

// code is the reason of a fault. surprise is none: the record is well, but the
// schema has no place for it yet. Nor is collision: keys of one object are one but for
// case, so that it has to be read with care.
type code uint8

const (
	fine code = iota
	surprise
	collision
	badSyntax
	trailing
	notObject
	tooDeep
	duplicateKey
	loneSurrogate
	invalidUTF8
	tooLong
	noRecords
	ragged
	badQuote
	openQuote
	nulBytes
	newColumn
	misfitting
)

// said is what the dead-letter table says of a fault.
var said = [...]struct{ stage, code string }{
	badSyntax:     {"syntax", "syntax"},
	trailing:      {"syntax", "trailing"},
	notObject:     {"schema", "not_object"},
	tooDeep:       {"syntax", "too_deep"},
	duplicateKey:  {"schema", "duplicate_key"},
	loneSurrogate: {"utf8", "lone_surrogate"},
	invalidUTF8:   {"utf8", "invalid_utf8"},
	tooLong:       {"length", "too_long"},
	noRecords:     {"envelope", "no_records"},
	ragged:        {"syntax", "ragged"},
	badQuote:      {"syntax", "bad_quote"},
	openQuote:     {"syntax", "open_quote"},
	nulBytes:      {"syntax", "nul_bytes"},
	newColumn:     {"schema", "contract_new_column"},
	misfitting:    {"schema", "contract_type"},
}

func (f fault) message() string {
	switch f.code {
	case badSyntax:
		if f.end {
			return fmt.Sprintf("the record ends inside a value, after %d bytes", f.at)
		}
		return fmt.Sprintf("unexpected %q at byte %d", rune(f.byte), f.at)
	case trailing:
		return fmt.Sprintf("something follows the object, at byte %d", f.at)
	case notObject:
		return "the record is valid JSON but no object"
	case tooDeep:
		return fmt.Sprintf("nested too deep at byte %d", f.at)
	case duplicateKey:
		return fmt.Sprintf("a key stands twice in one object, before byte %d", f.at)
	case loneSurrogate:
		return fmt.Sprintf("half of a surrogate pair at byte %d", f.at)
	case invalidUTF8:
		return fmt.Sprintf("invalid UTF-8 at byte %d", f.at)
	case noRecords:
		return "the envelope has no array of records where unnest says"
	case ragged:
		hint := ""
		if f.at < f.want {
			hint = "; source.files.csv.pad: true takes rows that end early"
		}
		return fmt.Sprintf("%d cells under a header of %d%s", f.at, f.want, hint)
	case badQuote:
		return fmt.Sprintf("something follows a closing quote, at byte %d", f.at)
	case openQuote:
		return "a quoted cell does not end"
	case nulBytes:
		return "bytes 0 at the beginning: data that was lost when the file was written"
	case newColumn, misfitting:
		return f.text
	}
	return ""
}

func (s *scanner) fail(c code, at int) int {
	s.fault = fault{code: c, at: at}
	return failed
}

// syntax notes that the byte at index at cannot stand there.
func (s *scanner) syntax(at int) int { return s.fail(badSyntax, at) }

func (s *scanner) tooDeep(at int) int { return s.fail(tooDeep, at) }

// describe completes the fault with what stands at its place in d.
func (f fault) describe(d []byte) fault {
	if f.end = f.at >= len(d); !f.end {
		f.byte = d[f.at]
	}
	return f
}
