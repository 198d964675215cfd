package schema

import "slices"

// Class is the set of forms in which the values of one place were seen. It is
// the lattice of inference: joining is the union of sets, so the order in which
// records come never matters. Null is in no class: it carries no type.
type Class uint32

// The forms of a value.
const (
	SawBool      Class = 1 << iota
	SawInt             // whole number within ±2^53: exact in a double
	SawWideInt         // whole number of int64 beyond ±2^53
	SawDecimal         // whole number beyond int64, or typed decimal, with at most 38 digits
	SawFloat           // number with fraction or exponent that a double takes
	SawHuge            // number that no numeric type takes
	SawDate            // string YYYY-MM-DD
	SawTimestamp       // string with an ISO 8601 instant: date, time and zone
	SawText            // any other string
	SawBytes           // typed bytes
	SawObject
	SawList
	SawMap      // typed map
	SawBlank    // text that says nothing where a column is no text: "", NULL, NA
	SawFraction // written number with a fraction that no double gives back, of at most 38 digits
	SawInfinite // text that spells an infinity
	SawDouble   // SawFloat of a container: a double, not digits
)

const sawNumber = SawInt | SawWideInt | SawDecimal | SawFloat | SawHuge | SawFraction | SawDouble

// Kind returns the narrowest kind that takes every value of the class exactly:
// String keeps scalars as the text received, JSON keeps anything.
func (c Class) Kind() Kind {
	switch c {
	case 0:
		return None
	case SawBlank, SawInfinite, SawBlank | SawInfinite:
		return String
	}
	if c &^= SawBlank; c&SawInfinite != 0 {
		c = c&^SawInfinite | SawFloat | SawDouble // no decimal has one
	}
	switch c {
	case SawBool:
		return Bool
	case SawDate:
		return Date
	case SawTimestamp:
		return Timestamp
	case SawObject:
		return Struct
	case SawList:
		return List
	case SawMap:
		return Map
	case SawBytes, SawBytes | SawText:
		return Bytes
	}
	if c&(SawObject|SawList|SawMap|SawBytes) != 0 {
		return JSON
	}
	if c&^sawNumber != 0 || c&SawHuge != 0 {
		return String
	}
	if c&SawFraction != 0 {
		if c&(SawDouble|SawWideInt|SawDecimal) != 0 {
			return String
		}
		return Decimal
	}
	if c&SawFloat != 0 {
		if c&(SawWideInt|SawDecimal) != 0 {
			return String
		}
		return Float64
	}
	if c&SawDecimal != 0 {
		return Decimal
	}
	return Int64
}

// ClassOf returns a class that stands for a column of kind k: its Kind is k, or
// the nearest inferred kind for those that are only ever declared.
func ClassOf(k Kind) Class {
	switch k {
	case Bool:
		return SawBool
	case Int32, Int64:
		return SawInt
	case Float64:
		return SawFloat
	case Decimal:
		return SawDecimal
	case String:
		return SawText
	case Bytes:
		return SawBytes
	case JSON:
		return SawText | SawObject
	case Date:
		return SawDate
	case Timestamp:
		return SawTimestamp
	case List:
		return SawList
	case Map:
		return SawMap
	case Struct:
		return SawObject
	}
	return 0
}

// Shape is what was seen at one place of the records: the classes of its values
// and, below objects and lists, the shapes of their parts. The zero value has
// seen nothing. It holds no values.
type Shape struct {
	saw     Class
	objects int64 // objects seen here
	records int64 // records in which an object was seen here
	last    int64 // the latest of these records
	times   int64 // objects that had this key
	settled bool  // the type was decided before: bounds do not apply again
	named   bool  // objects come from a container that declares their fields
	whole   int8  // numbers: most digits before the point
	scale   int8  // numbers: most digits after it
	fields  map[string]*Shape
	element *Shape

	// Keys that differ in case alone are kin: one column, unless some object has two
	// of them.
	folds  map[string][]*Shape // of fields: by what their keys have in common
	ranks  int                 // fields that got a rank
	kin    []*Shape            // with the shape itself; nil: it has none
	at     int64               // the object around it in which the key was seen last
	apart  bool                // some object has kin as well
	folded bool                // rows hold it in the column of its kin
	rank   int                 // it has a column of its own: the how manieth that was decided; 0: not
}

// Saw returns the classes seen.
func (s *Shape) Saw() Class { return s.saw }

// See joins c to the classes seen.
func (s *Shape) See(c Class) { s.saw |= c }

// untold is what was seen that the type of a column does not tell, and that decides
// about what it may become: cells that say nothing, or an infinity, of which alone
// text is made for want of anything else; fractions of a decimal that were written
// as text, and how many digits they need.
type untold struct {
	saw          Class
	whole, scale int8
}

// untold returns what the type k of its column does not tell.
func (s *Shape) untold(k Kind) untold {
	switch {
	case s == nil:
		return untold{}
	case s.saw&^(SawBlank|SawInfinite) == 0:
		return untold{saw: s.saw}
	case k == Decimal && s.saw&SawFraction != 0:
		return untold{SawFraction, s.whole, s.scale}
	}
	return untold{}
}

// MaxDigits is how many digits a decimal has at most.
const MaxDigits = 38

// SeeDecimal notes a typed decimal with so many digits in front of the point and
// behind it, together at most MaxDigits.
func (s *Shape) SeeDecimal(whole, scale int) {
	s.saw |= SawDecimal
	s.Measure(whole, scale)
}

// Measure notes how many digits a number needs before the point and after it, in
// case that its column becomes one of decimals. Every number is to be measured:
// the type must not depend on which of them were seen and which already fitted.
func (s *Shape) Measure(whole, scale int) {
	s.whole, s.scale = max(s.whole, int8(min(whole, MaxDigits+1))), max(s.scale, int8(min(scale, MaxDigits+1)))
}

// usualScale is that of decimals for written fractions where their digits leave room
// for it, as in Spark's DecimalType(38,18): what the next batch brings is to fit, too.
const usualScale = 18

// decimal returns the type for the numbers that were seen. It has as many digits as
// a decimal can have, because a type never grows once it is published; where no
// decimal takes all of them exactly, it is text. Whatever fits the decimal that it
// returns would not have made it another one.
func (s *Shape) decimal() Type {
	scale := s.scale
	if s.saw&SawFraction != 0 {
		scale = max(scale, min(usualScale, MaxDigits-s.whole))
	}
	if s.whole+scale > MaxDigits {
		return Type{Kind: String}
	}
	return Type{Kind: Decimal, Precision: MaxDigits, Scale: scale}
}

// SeeStruct notes a struct whose fields its container declares, as SeeObject
// notes an object.
func (s *Shape) SeeStruct(record int64) {
	s.SeeObject(record)
	s.named = true
}

// SeeObject notes an object here in the record with that number, from 1 on.
func (s *Shape) SeeObject(record int64) {
	s.saw |= SawObject
	s.objects++
	if s.last != record {
		s.last = record
		s.records++
	}
}

// SeeKey returns the shape of the values under key in an object seen here, and
// counts it. It returns nil once limit keys are known and this one is not.
func (s *Shape) SeeKey(key []byte, limit int) *Shape {
	f := s.fields[string(key)]
	if f == nil {
		if len(s.fields) >= limit {
			return nil
		}
		f = s.field(string(key))
	}
	f.times++
	f.at = s.objects
	for _, o := range f.kin {
		if o != f && o.at == f.at {
			o.apart, f.apart = true, true
		}
	}
	return f
}

// Element returns the shape of the elements of the lists, or the values of the
// maps, seen here.
func (s *Shape) Element() *Shape {
	if s.element == nil {
		s.element = &Shape{}
	}
	return s.element
}

// Elements returns what Element does if something was seen there, or nil.
func (s *Shape) Elements() *Shape {
	if s == nil {
		return nil
	}
	return s.element
}

// Field returns the shape under key, or nil.
func (s *Shape) Field(key string) *Shape {
	if s == nil {
		return nil
	}
	return s.fields[key]
}

// Keys returns the keys seen in objects here, sorted.
func (s *Shape) Keys() []string {
	if s == nil {
		return nil
	}
	keys := make([]string, 0, len(s.fields))
	for k := range s.fields {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (s *Shape) field(key string) *Shape {
	if s.fields == nil {
		s.fields = map[string]*Shape{}
	}
	f := s.fields[key]
	if f == nil {
		f = &Shape{}
		s.fields[key] = f
		s.relate(key, f)
	}
	return f
}

// Settle makes the types of t's columns the least that the shape stands for:
// what is a struct, a list or a map there is not judged by bounds again, what is
// JSON takes anything from now on. The shape is that of a record of t.
func (s *Shape) Settle(t *Schema) {
	for _, f := range t.Fields {
		if f.Key != "" {
			s.field(f.Key).settle(f.Type)
		}
	}
	s.Rank(t)
}

// SettleLearned is Settle for a schema that Evolve returned for the same batch, whose
// new columns may still widen: they stand for no more than was seen of them.
func (s *Shape) SettleLearned(t *Schema) {
	for _, f := range t.Fields {
		switch {
		case f.Key == "":
		case f.untold.saw != 0:
			s.field(f.Key).See(f.untold.saw)
			s.field(f.Key).Measure(int(f.untold.whole), int(f.untold.scale))
		default:
			s.field(f.Key).settle(f.Type)
		}
	}
	s.Rank(t)
}

// SettlePins makes the types that the pins declare the least that the shape
// stands for, as Settle does for published ones.
func (s *Shape) SettlePins(p *Pinned) {
	for key, f := range p.fields {
		s.field(key).settlePinned(f)
	}
}

func (s *Shape) settlePinned(p *Pinned) {
	switch p.kind {
	case Struct:
		s.saw |= SawObject
		s.settled = true
		s.SettlePins(p)
	case List:
		s.saw |= SawList
		s.settled = true
		s.Element().settlePinned(p.Element())
	default:
		s.settle(p.typ)
	}
}

// Settled says whether a struct, a list or a map was decided here by Settle.
func (s *Shape) Settled() bool { return s.settled }

// SettleJSON makes the place one that is kept as JSON text.
func (s *Shape) SettleJSON() { s.settle(Type{Kind: JSON}) }

func (s *Shape) settle(t Type) {
	s.saw |= ClassOf(t.Kind)
	switch t.Kind {
	case JSON:
		s.fields, s.folds, s.element, s.settled = nil, nil, nil, false
	case Map:
		s.settled = true
		s.Element().settle(t.Fields[1].Type)
	case Decimal:
		s.scale = max(s.scale, t.Scale)
	case Struct:
		s.settled = true
		for _, f := range t.Fields {
			s.field(f.Key).settle(f.Type)
		}
	case List:
		s.settled = true
		s.Element().settle(t.Fields[0].Type)
	}
}
