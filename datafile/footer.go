package datafile

import (
	"fmt"
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"batcher/schema"
)

// physicalType is the Parquet type of a leaf.
func physicalType(t *schema.Type) format.Type {
	switch t.Kind {
	case schema.Bool:
		return format.Boolean
	case schema.Int32, schema.Date:
		return format.Int32
	case schema.Int64, schema.Timestamp:
		return format.Int64
	case schema.Float64:
		return format.Double
	case schema.Decimal:
		return decimalType(t.Precision)
	}
	return format.ByteArray
}

// rootName is the name of the schema's root node; readers ignore it.
const rootName = "schema"

// elements is the schema as a footer has it, depth first.
func elements(fields []schema.Field) []format.SchemaElement {
	out := []format.SchemaElement{{Name: rootName, NumChildren: thrift.New(int32(len(fields)))}}
	for i := range fields {
		out = appendElements(out, &fields[i], format.Optional)
	}
	return out
}

// appendElements appends the nodes of f.
func appendElements(out []format.SchemaElement, f *schema.Field, repetition format.FieldRepetitionType) []format.SchemaElement {
	e := format.SchemaElement{Name: f.Name, FieldID: f.ID, RepetitionType: thrift.New(repetition)}
	switch f.Type.Kind {
	case schema.Struct:
		e.NumChildren = thrift.New(int32(len(f.Type.Fields)))
		out = append(out, e)
		for i := range f.Type.Fields {
			out = appendElements(out, &f.Type.Fields[i], format.Optional)
		}
		return out
	case schema.List, schema.Map:
		return appendRepeated(out, f, e)
	}
	e.Type = thrift.New(physicalType(&f.Type))
	annotate(&e, &f.Type)
	return append(out, e)
}

// appendRepeated appends a list or map: e, a repeated node without an id, and
// its parts.
func appendRepeated(out []format.SchemaElement, f *schema.Field, e format.SchemaElement) []format.SchemaElement {
	middle := format.SchemaElement{
		Name:           middleName(f.Type.Kind),
		RepetitionType: thrift.New(format.Repeated),
		NumChildren:    thrift.New(int32(len(f.Type.Fields))),
	}
	e.NumChildren = thrift.New(int32(1))
	e.ConvertedType = thrift.New(deprecated.List)
	e.LogicalType = format.LogicalType{Value: &format.ListType{}}
	if f.Type.Kind == schema.Map {
		e.ConvertedType = thrift.New(deprecated.Map)
		e.LogicalType = format.LogicalType{Value: &format.MapType{}}
	}
	out = append(out, e, middle)
	for i := range f.Type.Fields {
		repetition := format.Optional
		if isKey(f, i) {
			repetition = format.Required
		}
		out = appendElements(out, &f.Type.Fields[i], repetition)
	}
	return out
}

// annotate sets the logical type and the older one that means the same.
func annotate(e *format.SchemaElement, t *schema.Type) {
	switch t.Kind {
	case schema.String, schema.JSON:
		e.ConvertedType = thrift.New(deprecated.UTF8)
		e.LogicalType = format.LogicalType{Value: &format.StringType{}}
	case schema.Date:
		e.ConvertedType = thrift.New(deprecated.Date)
		e.LogicalType = format.LogicalType{Value: &format.DateType{}}
	case schema.Timestamp:
		e.ConvertedType = thrift.New(deprecated.TimestampMicros)
		e.LogicalType = format.LogicalType{Value: &format.TimestampType{
			IsAdjustedToUTC: true,
			Unit:            format.TimeUnit{Value: &format.MicroSeconds{}},
		}}
	case schema.Decimal:
		if e.Type.V == format.FixedLenByteArray {
			e.TypeLength = thrift.New(int32(decimalBytes))
		}
		e.Precision, e.Scale = thrift.New(int32(t.Precision)), thrift.New(int32(t.Scale))
		e.ConvertedType = thrift.New(deprecated.Decimal)
		e.LogicalType = format.LogicalType{Value: &format.DecimalType{
			Precision: int32(t.Precision), Scale: int32(t.Scale),
		}}
	}
}

// fieldsKey is the footer's key under which fieldsSum stands. Every other part
// of a file is checked against something; a field id that rots would turn a
// column into nulls, and a rewrite would make that final.
const fieldsKey = "batcher.fields.crc32"

// fieldsSum is the CRC-32 of every field's id, name and type, depth first, each
// in a line "id name type", in hex.
func fieldsSum(fields []schema.Field) string {
	sum := crc32.NewIEEE()
	writeFields(sum, fields)
	return fmt.Sprintf("%08x", sum.Sum32())
}

// writeFields writes the lines of fieldsSum.
func writeFields(w io.Writer, fields []schema.Field) {
	for i := range fields {
		f := &fields[i]
		t := schema.Type{Kind: fileKind(f.Type.Kind), Precision: f.Type.Precision, Scale: f.Type.Scale}
		fmt.Fprintf(w, "%d %s %v\n", f.ID, f.Name, t) // a hash takes everything
		writeFields(w, f.Type.Fields)
	}
}

// checkFieldsSum compares fields with the checksum in the footer.
func checkFieldsSum(fields []schema.Field, pairs []format.KeyValue) error {
	for _, p := range pairs {
		if p.Key != fieldsKey {
			continue
		}
		if sum := fieldsSum(fields); sum != p.Value {
			return fmt.Errorf("fields have checksum %s, want %s", sum, p.Value)
		}
		return nil
	}
	return fmt.Errorf("no %s: not written by batcher", fieldsKey)
}

// fieldsOf rebuilds the fields from a footer's schema.
func fieldsOf(all []format.SchemaElement) ([]schema.Field, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no schema", ErrDamaged)
	}
	p := schemaParser{rest: all[1:]}
	fields, err := p.fields(int(all[0].NumChildren.V), 1)
	if err != nil {
		return nil, fmt.Errorf("%w: schema: %w", ErrDamaged, err)
	}
	if len(p.rest) > 0 {
		return nil, fmt.Errorf("%w: schema: %d nodes too many", ErrDamaged, len(p.rest))
	}
	return fields, nil
}

// schemaParser reads nodes off the front of a footer's schema.
type schemaParser struct{ rest []format.SchemaElement }

// next takes one node away.
func (p *schemaParser) next() (*format.SchemaElement, error) {
	if len(p.rest) == 0 {
		return nil, fmt.Errorf("a node is missing")
	}
	e := &p.rest[0]
	p.rest = p.rest[1:]
	return e, nil
}

// fields reads n optional nodes.
func (p *schemaParser) fields(n, depth int) ([]schema.Field, error) {
	if n < 0 || n > len(p.rest) || depth > schema.MaxNesting+1 {
		return nil, fmt.Errorf("%d children at depth %d", n, depth)
	}
	out := make([]schema.Field, 0, n)
	for range n {
		f, err := p.field(format.Optional, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// field reads one node and what is below it.
func (p *schemaParser) field(repetition format.FieldRepetitionType, depth int) (schema.Field, error) {
	e, err := p.next()
	if err != nil {
		return schema.Field{}, err
	}
	f := schema.Field{ID: e.FieldID, Name: e.Name}
	switch {
	case !e.RepetitionType.Valid || e.RepetitionType.V != repetition:
		err = fmt.Errorf("is not %v", repetition)
	case e.Type.Valid:
		f.Type, err = leafType(e)
	case e.NumChildren.V == 1 && e.ConvertedType == thrift.New(deprecated.List):
		f.Type, err = p.repeated(schema.List, 1, depth)
	case e.NumChildren.V == 1 && e.ConvertedType == thrift.New(deprecated.Map):
		f.Type, err = p.repeated(schema.Map, 2, depth)
	case e.NumChildren.V > 0 && !e.ConvertedType.Valid:
		f.Type.Kind = schema.Struct
		f.Type.Fields, err = p.fields(int(e.NumChildren.V), depth+1)
	default:
		err = fmt.Errorf("of no known kind")
	}
	if err != nil {
		return f, fmt.Errorf("node %q: %w", e.Name, err)
	}
	return f, nil
}

// repeated reads the middle node of a list or map and its n parts.
func (p *schemaParser) repeated(k schema.Kind, n, depth int) (schema.Type, error) {
	t := schema.Type{Kind: k}
	e, err := p.next()
	if err != nil {
		return t, err
	}
	if e.RepetitionType != thrift.New(format.Repeated) || int(e.NumChildren.V) != n || depth > schema.MaxNesting+1 {
		return t, fmt.Errorf("middle node %q is not of 3-level form", e.Name)
	}
	for i := range n {
		repetition := format.Optional
		if k == schema.Map && i == 0 {
			repetition = format.Required
		}
		f, err := p.field(repetition, depth+1)
		if err != nil {
			return t, err
		}
		t.Fields = append(t.Fields, f)
	}
	return t, nil
}

// leafType is the logical type of a leaf node: one of those that annotate
// writes.
func leafType(e *format.SchemaElement) (schema.Type, error) {
	converted, annotated := e.ConvertedType.V, e.ConvertedType.Valid
	switch physical := e.Type.V; {
	case physical == format.Boolean && !annotated:
		return schema.Type{Kind: schema.Bool}, nil
	case physical == format.Int32 && !annotated:
		return schema.Type{Kind: schema.Int32}, nil
	case physical == format.Int32 && converted == deprecated.Date:
		return schema.Type{Kind: schema.Date}, nil
	case physical == format.Int64 && !annotated:
		return schema.Type{Kind: schema.Int64}, nil
	case physical == format.Int64 && converted == deprecated.TimestampMicros:
		return schema.Type{Kind: schema.Timestamp}, nil
	case physical == format.Double && !annotated:
		return schema.Type{Kind: schema.Float64}, nil
	case physical == format.ByteArray && !annotated:
		return schema.Type{Kind: schema.Bytes}, nil
	case physical == format.ByteArray && converted == deprecated.UTF8:
		return schema.Type{Kind: schema.String}, nil
	case annotated && converted == deprecated.Decimal:
		t := schema.Type{Kind: schema.Decimal, Precision: int8(e.Precision.V), Scale: int8(e.Scale.V)}
		if physical == physicalType(&t) && (physical != format.FixedLenByteArray || e.TypeLength.V == decimalBytes) {
			return t, nil
		}
	}
	return schema.Type{}, fmt.Errorf("type %v is not one that batcher writes", e.Type.V)
}
