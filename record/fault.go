package record

import "fmt"

// fault is why the record at hand cannot become a row.
type fault struct {
	code code
	at   int  // index of the offending byte in the record
	byte byte // the offending byte, if any
	end  bool // the record ends too early
}

// code is the reason of a fault. surprise is none: the record is fine, but the
// schema has no place for it yet.
type code uint8

const (
	surprise code = iota
	badSyntax
	trailing
	notObject
	tooDeep
	duplicateKey
	loneSurrogate
	invalidUTF8
	tooLong
)

// stage and word are what the dead-letter table says.
var (
	stages = [...]string{"", "syntax", "syntax", "schema", "syntax", "schema", "utf8", "utf8", "length"}
	words  = [...]string{"", "syntax", "trailing", "not_object", "too_deep", "duplicate_key", "lone_surrogate", "invalid_utf8", "too_long"}
)

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
