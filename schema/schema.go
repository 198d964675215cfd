// Package schema is the logical shape of a table: types, columns with stable
// field ids, their names, and the rules by which a shape may grow.
//
// Duty: one description of a table that scanner, writer, manifest and readers
// share. Pure: no store, clock or randomness.
//
// Invariants: field ids are unique within a Schema and never reused (LastID
// only grows); a published column's type never changes; siblings have distinct
// names and distinct keys.
//
// It never sees a value and never knows a file format.
package schema

// Kind is the class of a logical type.
type Kind uint8

// The kinds, with the Parquet form each takes in a file.
const (
	None      Kind = iota // nothing but nulls seen: no column yet
	Bool                  // BOOLEAN
	Int32                 // INT32
	Int64                 // INT64
	Float64               // DOUBLE
	Decimal               // FIXED_LEN_BYTE_ARRAY(16), big-endian two's complement
	String                // BYTE_ARRAY, UTF-8
	JSON                  // BYTE_ARRAY, UTF-8: the JSON text as received
	Bytes                 // BYTE_ARRAY
	Date                  // INT32, days since 1970-01-01
	Timestamp             // INT64, microseconds since 1970-01-01T00:00:00Z
	List                  // 3-level LIST of optional elements
	Map                   // MAP of required string keys to optional values
	Struct                // group
)

// Type is a logical type. It is a tree: List has one child named "element",
// Map has "key" and "value", Struct has its fields in published order.
type Type struct {
	Kind      Kind
	Precision int8    // Decimal: digits, 1..38
	Scale     int8    // Decimal: digits after the point, 0..Precision
	Fields    []Field // List: 1, Map: 2, Struct: ≥ 1, else none
}

// Field is one column or one nested part of it.
type Field struct {
	ID   int32  // Parquet field id, from the manifest that published it; 0 = not published yet
	Name string // column name as readers see it, see IsName
	Key  string // the key in the input that feeds it, as received; "" for reserved and generated ones
	Type Type

	untold untold // in what Evolve adds; it is not stored
}

// Undecided says whether the column is text only because nothing else was seen so
// far in the batch that adds it.
func (f Field) Undecided() bool { return f.untold.saw&(SawBlank|SawInfinite) != 0 }

// Written says whether the batch that adds the column makes it a decimal because of
// fractions that were written as text.
func (f Field) Written() bool { return f.untold.saw&SawFraction != 0 }

// Schema is the shape of one table at one moment.
type Schema struct {
	Fields []Field // reserved columns first, then in the order of publication
	LastID int32   // highest field id ever given in this table
}

// Reserved columns own ids 1 to 16; the first id of a user's column is 17.
const (
	SourceID     int32 = 1
	OffsetID     int32 = 2
	RescuedID    int32 = 3
	LastReserved int32 = 16
)

// Names of the reserved columns.
const (
	SourceName  = "_source"
	OffsetName  = "_offset"
	RescuedName = "_rescued"
)
