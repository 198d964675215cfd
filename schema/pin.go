package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"batcher/strptime"
)

// Pin declares one place of the records. The place is published with its type
// by the first batch that runs under the pin, whatever the records show there,
// and stays null (or Default) where they show nothing.
type Pin struct {
	Place   Place            // where the column is
	Places  []Place          // with Place: all that feed it, the one that goes first first; nil: Place alone
	Type    Type             // a Struct without fields is an object whose fields are inferred
	Name    string           // of a top-level column; "": what the naming makes of the key
	Default string           // JSON scalar for records without the key; "": null. A null in the record stays null
	Unit    Unit             // what numbers count in a Timestamp
	Format  *strptime.Format // of texts in a Date or a Timestamp; nil: ISO 8601
	Zone    *time.Location   // of times without one in a Timestamp; nil: Rules.Zone
	Offset  string           // name of a column with the UTC offsets of a Timestamp's texts; "": none
	True    []string         // words of a Bool besides true; in any case
	False   []string         // and besides false
}

// Unit is what a number means where a timestamp is declared.
type Unit uint8

// The units. ISO takes text only.
const (
	ISO Unit = iota
	Seconds
	Milliseconds
	Microseconds
	Nanoseconds
)

// ParseDefault returns the JSON scalar that text means as the default of a
// column of type t: true or false, a number as it stands, a string for text,
// bytes, dates and timestamps; for json the text is JSON itself. It refuses what
// the column would not take. Its errors do not repeat the text.
func ParseDefault(t Type, text string) (string, error) {
	refuse := func(wants string) (string, error) {
		return "", fmt.Errorf("wants %s, because the column is %s", wants, t)
	}
	switch t.Kind {
	case Bool:
		if lower := strings.ToLower(text); lower == "true" || lower == "false" {
			return lower, nil
		}
		return refuse("true or false")
	case Int32, Int64:
		bits := 64
		if t.Kind == Int32 {
			bits = 32
		}
		if _, err := strconv.ParseInt(text, 10, bits); err == nil && isNumber(text) {
			return text, nil
		}
		return refuse("a whole number in range")
	case Float64:
		if _, err := strconv.ParseFloat(text, 64); err == nil && isNumber(text) {
			return text, nil
		}
		return refuse("a number")
	case Decimal:
		if isNumber(text) && fitsDecimal(text, t) {
			return text, nil
		}
		return refuse("a number without exponent that fits")
	case Date:
		if _, err := time.Parse(time.DateOnly, text); err == nil {
			return quote(text), nil
		}
		return refuse("a date like 2026-11-30")
	case Timestamp:
		if at, err := time.Parse(time.RFC3339, text); err == nil && at.Nanosecond()%1000 == 0 && strings.Contains(text, "T") {
			return quote(text), nil
		}
		return refuse("a time like 2026-11-30T08:00:00Z")
	case String, Bytes:
		return quote(text), nil
	case JSON:
		if json.Valid([]byte(text)) {
			return text, nil
		}
		return refuse("JSON text")
	}
	return "", errors.New("is for columns of one value, not for lists, maps and structs")
}

// isNumber says whether text is a number as JSON spells it.
func isNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}

// fitsDecimal says whether a JSON number has no exponent and no more digits
// than a decimal type holds.
func fitsDecimal(text string, t Type) bool {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	digits, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok || len(fraction) > int(t.Scale) {
		return false
	}
	digits.Mul(digits, pow10(int(t.Scale)-len(fraction)))
	return digits.Cmp(pow10(int(t.Precision))) < 0
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// quote is text as a JSON string.
func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic("schema: a string does not marshal: " + err.Error())
	}
	return string(quoted)
}

// CheckPins says which of the pins cannot stand beside those before it, by its
// index. Its errors do not repeat names.
func CheckPins(pins []Pin) (int, error) {
	names := map[string]bool{SourceName: true, OffsetName: true, RescuedName: true}
	for i, p := range pins {
		switch {
		case p.Offset != "" && names[p.Offset]:
			return i, errors.New("must not name the column of its offsets as another column")
		case p.Name == "":
		case len(p.Place) > 1:
			return i, errors.New("must not have a name: only top-level columns are renamed")
		case names[p.Name]:
			return i, errors.New("must not have the name of another column")
		default:
			names[p.Name] = true
		}
		if p.Offset != "" {
			if p.Offset == p.Name {
				return i, errors.New("must not name the column of its offsets as another column")
			}
			names[p.Offset] = true
		}
		for at, place := range p.places() {
			for _, o := range slices.Concat(pins[:i], Pin{Type: p.Type}.at(p.places()[:at])) {
				for _, other := range o.places() {
					if err := (Pin{Place: place, Type: p.Type}).beside(Pin{Place: other, Type: o.Type}); err != nil {
						return i, err
					}
				}
			}
		}
	}
	return 0, nil
}

// places are all that feed the column, in order.
func (p Pin) places() []Place {
	if len(p.Places) == 0 {
		return []Place{p.Place}
	}
	return p.Places
}

// at are pins like p at places.
func (p Pin) at(places []Place) []Pin {
	out := make([]Pin, len(places))
	for i := range places {
		out[i] = Pin{Place: places[i], Type: p.Type}
	}
	return out
}

// homed returns the pins with the column of those with several places where it is
// published: a column keeps the key under which it came into the table.
func homed(pins []Pin, published *Schema) []Pin {
	if !slices.ContainsFunc(pins, func(p Pin) bool { return len(p.Places) > 1 }) {
		return pins
	}
	out := slices.Clone(pins)
	for i := range out {
		out[i].home(published.Fields)
	}
	return out
}

// home moves the pin to the first of its places whose key is that of a field, exactly
// or except for case.
func (p *Pin) home(fields []Field) {
	for _, form := range []func(string) string{func(key string) string { return key }, Fold} {
		for _, place := range p.Places {
			is := func(f Field) bool { return f.Key != "" && form(f.Key) == form(place[0].Key) }
			if len(place) == 1 && slices.ContainsFunc(fields, is) {
				p.Place = place
				return
			}
		}
	}
}

// beside says why two pins cannot stand together.
func (p Pin) beside(o Pin) error {
	if len(p.Place) < len(o.Place) {
		p, o = o, p
	}
	at := 0
	for at < len(o.Place) && p.Place[at] == o.Place[at] {
		at++
	}
	switch {
	case at < len(o.Place) && p.Place[at].Element != o.Place[at].Element:
		return errors.New("must not be a list here and an object in another pin, or the other way round")
	case at < len(o.Place):
		return nil
	case at == len(p.Place):
		return errors.New("must not be pinned twice")
	case p.Place[at].Element || o.Type.Kind != Struct || len(o.Type.Fields) > 0:
		return errors.New("must not lie inside of another pinned column, unless that is a struct whose fields are not listed")
	}
	return nil
}
