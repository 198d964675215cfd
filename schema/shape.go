package schema

import "slices"

// Class is the set of forms in which the values of one place were seen. It is
// the lattice of inference: joining is the union of sets, so the order in which
// records come never matters. Null is in no class: it carries no type.
type Class uint16

// The forms of a value.
const (
	SawBool      Class = 1 << iota
	SawInt             // whole number within ±2^53: exact in a double
	SawWideInt         // whole number of int64 beyond ±2^53
	SawDecimal         // whole number beyond int64 with at most 38 digits
	SawFloat           // number with fraction or exponent that a double takes
	SawHuge            // number that no numeric type takes
	SawDate            // string YYYY-MM-DD
	SawTimestamp       // string with an ISO 8601 instant: date, time and zone
	SawText            // any other string
	SawObject
	SawList
)

const sawNumber = SawInt | SawWideInt | SawDecimal | SawFloat | SawHuge

// Kind returns the narrowest kind that takes every value of the class exactly:
// String keeps scalars as the text received, JSON keeps anything.
func (c Class) Kind() Kind {
	switch c {
	case 0:
		return None
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
	}
	if c&(SawObject|SawList) != 0 {
		return JSON
	}
	if c&^sawNumber != 0 || c&SawHuge != 0 {
		return String
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
	case String, Bytes:
		return SawText
	case JSON:
		return SawText | SawObject
	case Date:
		return SawDate
	case Timestamp:
		return SawTimestamp
	case List:
		return SawList
	case Map, Struct:
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
	fields  map[string]*Shape
	element *Shape
}

// Saw returns the classes seen.
func (s *Shape) Saw() Class { return s.saw }

// See joins c to the classes seen.
func (s *Shape) See(c Class) { s.saw |= c }

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
	return f
}

// Element returns the shape of the elements of the lists seen here.
func (s *Shape) Element() *Shape {
	if s.element == nil {
		s.element = &Shape{}
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
	}
	return f
}

// Settle makes the types of t's columns the least that the shape stands for:
// what is a struct or a list there is not judged by bounds again, what is JSON
// or a map takes anything from now on. The shape is that of a record of t.
func (s *Shape) Settle(t *Schema) {
	for _, f := range t.Fields {
		if f.Key != "" {
			s.field(f.Key).settle(f.Type)
		}
	}
}

// Settled says whether a struct or a list was decided here by Settle.
func (s *Shape) Settled() bool { return s.settled }

// SettleJSON makes the place one that is kept as JSON text.
func (s *Shape) SettleJSON() { s.settle(Type{Kind: JSON}) }

func (s *Shape) settle(t Type) {
	s.saw |= ClassOf(t.Kind)
	switch t.Kind {
	case JSON:
		s.fields, s.element, s.settled = nil, nil, false
	case Map: // declared: nothing is to be learned about its values
		s.SettleJSON()
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
