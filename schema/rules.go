package schema

import (
	"cmp"
	"slices"
	"time"

	"batcher/keypath"
	"batcher/strptime"
)

// Rules say how a table may grow: how columns are named, what inference makes of
// nested values, what is declared, and what may be added at all. A zero member
// means its default.
type Rules struct {
	Names      Naming
	MaxDepth   int            // structs and lists inside each other within a column; 4
	MaxLeaves  int            // leaves of one column; 128
	MinRecords int64          // records in which an object must be seen to become a struct; 100
	MaxColumns int            // leaves of the table; 0 means no bound
	Pins       []Pin          // what is declared: bounds do not apply to it
	OnlyListed bool           // only what is pinned becomes a column, and what lies in a struct pinned without fields
	Contract   Contract       // what may become a column once the table has columns
	Derived    []Derived      // columns that follow from others
	Zone       *time.Location // of times without one, which are text where it is nil
	Key        *KeyColumns    // columns from the keys of objects; nil: none. Derived has them, too

	under  bool // Under was called
	frozen bool // nothing but what is pinned may be added
}

// Contract says what becomes of a field that the table has no column for, and of
// a value that its column does not take. Whatever it says, a table without
// columns gets them from the first batch, and pins may add columns to any table.
type Contract uint8

// The contracts.
const (
	Evolving     Contract = iota // the field becomes a column, the value is rescued
	Freeze                       // either fails the batch
	DiscardValue                 // either is counted and not stored
	DiscardRow                   // either makes a dead letter of the record
)

// KeyColumns are columns whose values the keys of objects say.
type KeyColumns struct {
	Path    *keypath.Pattern
	Columns []KeyColumn // one for each field of Path, in its order
}

// KeyColumn is one of them. Its type is one of plain values.
type KeyColumn struct {
	Name   string
	Type   Type
	Format *strptime.Format // of a Date or a Timestamp; nil: ISO 8601
}

// Derived is a column that follows from another one, row by row.
type Derived struct {
	Name string // of the column: no input feeds it
	From string // name of a timestamp column; for Offset the place of one, for FromKey the setting
	Part Part
	Of   Type // of FromKey: the type
}

// Part is a part of an instant, of the text that it was written as, or of a key.
type Part uint8

// The parts. Day and Hour are in UTC; the others are known only where objects are read.
const (
	Day     Part = iota // a Date
	Hour                // a String: 2026-11-30T08
	Offset              // an Int32: minutes that local time was ahead of UTC
	FromKey             // what the key of the object says, under Rules.Key
)

// Type is the type of the derived column.
func (d Derived) Type() Type {
	switch d.Part {
	case Hour:
		return Type{Kind: String}
	case Offset:
		return Type{Kind: Int32}
	case FromKey:
		return d.Of
	}
	return Type{Kind: Date}
}

// Under returns the rules for what may follow a published schema, with every
// zero replaced by its default. They hold for all that is learned on top of it.
func (r Rules) Under(published *Schema) Rules {
	if r.under {
		return r
	}
	r = r.WithDefaults()
	r.under = true
	r.Pins = homed(r.Pins, published)
	if r.Contract != Evolving {
		for _, f := range published.Fields {
			r.frozen = r.frozen || f.ID > LastReserved && f.Key != ""
		}
	}
	return r
}

// Frozen says whether the contract keeps fields without a pin from becoming
// columns.
func (r Rules) Frozen() bool { return r.frozen }

// WithDefaults returns the rules with every zero replaced by its default.
func (r Rules) WithDefaults() Rules {
	r.MaxDepth = min(cmp.Or(r.MaxDepth, 4), 32) // a schema holds 64 levels, lists count twice
	r.MaxLeaves = cmp.Or(r.MaxLeaves, 128)
	r.MinRecords = cmp.Or(r.MinRecords, 100)
	return r
}

// CheckDerived says which derived column of a table has no timestamp to follow, or is
// published as something else.
func (r Rules) CheckDerived(s *Schema) error {
	for _, d := range r.Derived {
		if (d.Part == Day || d.Part == Hour) && !slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Name == d.From && f.Type.Kind == Timestamp }) {
			return &PinError{Column: d.From, Is: "no timestamp", Want: "one that " + d.Name + " follows"}
		}
		if err := d.check(s); err != nil {
			return err
		}
	}
	return nil
}

// check holds the column, if there is one of the name, to what it derives from.
func (d Derived) check(s *Schema) error {
	at := slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == d.Name })
	switch {
	case at < 0:
		return nil
	case s.Fields[at].Key != "":
		return &PinError{Column: d.Name, Is: "the column of a field", Want: "it as derived from " + d.From}
	case !sameForm(s.Fields[at].Type, d.Type()):
		return &PinError{Column: d.Name, Is: s.Fields[at].Type.String(), Want: d.Type().String()}
	}
	return nil
}
