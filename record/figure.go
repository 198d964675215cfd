package record

import (
	"bytes"
	"strconv"

	"batcher/schema"
)

// figure is a number as text writes it: a sign, digits with a point among them
// or at either end, an exponent. At least one digit is there.
type figure struct {
	before, after []byte // digits around the point
	exponent      int
	negative      bool
	pointed       bool // there is a point
	scientific    bool // there is an exponent
	identifier    bool // a plus sign or a zero before other digits, as phone numbers and codes have: text that is no quantity
}

// farthest bounds exponents: no column holds a number beyond.
const farthest = 9999

// figureOf reads a number.
func figureOf(text []byte) (f figure, ok bool) {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		f.negative, f.identifier, text = text[0] == '-', text[0] == '+', text[1:]
	}
	end := digits(text, 0)
	f.before, text = text[:end], text[end:]
	if len(text) > 0 && text[0] == '.' {
		f.pointed = true
		end = digits(text, 1)
		f.after, text = text[1:end], text[end:]
	}
	if len(f.before)+len(f.after) == 0 {
		return f, false
	}
	f.identifier = f.identifier || len(f.before) > 1 && f.before[0] == '0'
	if len(text) == 0 {
		return f, true
	}
	if text[0]|0x20 != 'e' {
		return f, false
	}
	f.scientific, text = true, text[1:]
	sign := len(text) > 0 && (text[0] == '-' || text[0] == '+')
	from := 0
	if sign {
		from = 1
	}
	if end := digits(text, from); end == from || end < len(text) {
		return f, false
	}
	e, err := strconv.Atoi(string(text))
	if err != nil || e > farthest {
		e = farthest
		if sign && text[0] == '-' {
			e = -farthest
		}
	}
	f.exponent = max(e, -farthest)
	return f, true
}

// whole says whether the number is written as a whole one.
func (f *figure) whole() bool { return !f.pointed && !f.scientific }

// zero says whether no digit is other than zero.
func (f *figure) zero() bool {
	return len(bytes.Trim(f.before, "0")) == 0 && len(bytes.Trim(f.after, "0")) == 0
}

// significant are the digits from the first to the last that is not zero, and
// scale says how many of them are after the point; it is negative where zeros
// follow them before the point. The number is not zero.
func (f *figure) significant() (number []byte, scale int) {
	number = f.before
	if len(f.after) > 0 {
		number = append(append(make([]byte, 0, len(f.before)+len(f.after)), f.before...), f.after...)
	}
	scale = len(f.after) - f.exponent
	number = bytes.TrimLeft(number, "0")
	n := len(number)
	number = bytes.TrimRight(number, "0")
	return number, scale - (n - len(number))
}

// size is how many digits a decimal needs before the point and after it.
func (f *figure) size() (whole, scale int) {
	before, after := bytes.TrimLeft(f.before, "0"), bytes.TrimRight(f.after, "0")
	if whole = len(before); whole == 0 {
		whole = len(bytes.TrimLeft(after, "0")) - len(after)
	}
	if scale = len(after); scale == 0 {
		scale = len(bytes.TrimRight(before, "0")) - len(before)
	}
	return max(whole+f.exponent, 0), max(scale-f.exponent, 0)
}

// plain is the number as digits with a point among them, without exponent and
// needless zeros, if it has so few digits.
func (f *figure) plain(wholeDigits, scaleDigits int) ([]byte, bool) {
	if f.zero() {
		return []byte{'0'}, true // however far the point is
	}
	number, scale := f.significant()
	if len(number)-scale > wholeDigits || scale > scaleDigits {
		return nil, false
	}
	var out []byte
	if f.negative {
		out = append(out, '-')
	}
	before := max(len(number)-scale, 0) // digits before the point, with zeros that follow
	for i := range before {
		if i < len(number) {
			out = append(out, number[i])
		} else {
			out = append(out, '0')
		}
	}
	if scale <= 0 {
		return out, true
	}
	if before == 0 {
		out = append(out, '0')
	}
	out = append(out, '.')
	for range scale - len(number) {
		out = append(out, '0')
	}
	return append(out, number[min(before, len(number)):]...), true
}

// trimmed is text without the blanks around it.
func trimmed(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for len(text) > 0 && (text[len(text)-1] == ' ' || text[len(text)-1] == '\t') {
		text = text[:len(text)-1]
	}
	return text
}

// blank says whether text, without blanks around it, stands for no value in a
// column that is not text: what pandas, R, databases and spreadsheets write there.
func blank(text []byte) bool {
	if len(text) > 4 {
		return false
	}
	switch string(text) {
	case "", "NULL", "null", "Null", "NA", "N/A", "n/a", "#N/A", "<NA>", "None", "nil", "NaT", `\N`:
		return true
	}
	return isNaN(text)
}

// isNaN says whether text is no number as programs print it: NaN, nan, NAN, and -nan
// of C.
func isNaN(text []byte) bool {
	return len(text) <= 4 && bytes.EqualFold(bytes.TrimPrefix(text, []byte{'-'}), []byte("nan"))
}

// infinite says whether text is an infinity as programs print it.
func infinite(text []byte) (negative, ok bool) {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative, text = text[0] == '-', text[1:]
	}
	return negative, bytes.EqualFold(text, []byte("inf")) || bytes.EqualFold(text, []byte("infinity"))
}

// truth is the bool that text spells: true or false in any case, and in columns
// that were declared bool also t, f, 1 and 0.
func truth(text []byte, declared bool) (value uint8, ok bool) {
	switch {
	case bytes.EqualFold(text, []byte("true")):
		return 1, true
	case bytes.EqualFold(text, []byte("false")):
		return 0, true
	case !declared || len(text) != 1:
		return 0, false
	}
	switch text[0] {
	case 't', 'T', '1':
		return 1, true
	case 'f', 'F', '0':
		return 0, true
	}
	return 0, false
}

// classOfCell classifies text that is not null.
func classOfCell(text []byte) schema.Class {
	text = trimmed(text)
	if len(text) == 0 {
		return schema.SawBlank
	}
	switch c := text[0]; {
	case c-'0' <= 9, c == '-', c == '.':
		if f, ok := figureOf(text); ok {
			return classOfFigure(&f, text)
		}
	case c == '+':
		if _, ok := infinite(text); ok {
			return schema.SawInfinite
		}
		return schema.SawText
	}
	if len(text) > len("infinity")+1 {
		return classOfString(text)
	}
	return classOfWord(text)
}

// classOfWord classifies short text that is no number.
func classOfWord(text []byte) schema.Class {
	switch text[0] {
	case 't', 'T', 'f', 'F', 'i', 'I', 'n', 'N', '-', '#', '<', '\\':
	default:
		return schema.SawText // as all words below begin
	}
	if _, ok := truth(text, false); ok {
		return schema.SawBool
	}
	if _, ok := infinite(text); ok {
		return schema.SawInfinite
	}
	if blank(text) {
		return schema.SawBlank
	}
	return schema.SawText
}

// plainFigure classifies and measures the numbers that most cells are: up to 15
// digits, with a point between them or none.
func plainFigure(text []byte) (class schema.Class, whole, scale int, ok bool) {
	from := 0
	if len(text) > 0 && text[0] == '-' {
		from = 1
	}
	i := digits(text, from)
	whole = i - from
	if whole == 0 || whole > 15 || text[from] == '0' && whole > 1 {
		return 0, 0, 0, false
	}
	if text[from] == '0' {
		whole = 0
	}
	if i == len(text) {
		return schema.SawInt, whole, 0, whole+1 > from // not -0
	}
	end := digits(text, i+1)
	if text[i] != '.' || end < len(text) || end == i+1 || end-from > 16 {
		return 0, 0, 0, false
	}
	for scale = end - i - 1; scale > 0 && text[i+scale] == '0'; {
		scale--
	}
	return schema.SawFloat, whole, scale, true
}

func classOfFigure(f *figure, text []byte) schema.Class {
	switch {
	case f.identifier:
		return schema.SawText
	case f.whole():
		return classOfNumber(text)
	}
	_, kept, ok := double(text)
	if kept {
		return schema.SawFloat
	}
	if whole, scale := f.size(); ok && whole+scale <= schema.MaxDigits {
		return schema.SawFraction
	}
	return schema.SawHuge
}

// sawMeasured are the classes of numbers that may become decimals because another
// one of their column has to.
const sawMeasured = schema.SawInt | schema.SawWideInt | schema.SawDecimal | schema.SawFloat | schema.SawFraction

// measure tells a shape how many digits a number needs.
func measure(s *schema.Shape, text []byte) {
	text = trimmed(text)
	from := 0
	if len(text) > 0 && text[0] == '-' {
		from = 1
	}
	if digits(text, from) == len(text) && from < len(text) && text[from] != '0' {
		s.Measure(len(text)-from, 0)
	} else if f, ok := figureOf(text); ok {
		s.Measure(f.size())
	}
}
