package config

import (
	"fmt"
	"slices"

	"batcher/keypath"
	"batcher/schema"
	"batcher/strptime"
)

// KeyColumns are the columns that the keys of objects say; nil: none.
type KeyColumns struct{ Columns *schema.KeyColumns }

// keyKinds are the types that a part of a key can have.
var keyKinds = []schema.Kind{schema.Bool, schema.Int32, schema.Int64, schema.Float64, schema.Decimal, schema.String, schema.Date, schema.Timestamp}

func (*KeyColumns) wants() string { return `a pattern like "dt={dt:date}/{country}/**"` }
func (k *KeyColumns) parse(text string) error {
	k.Columns = nil
	if text == "" {
		return nil
	}
	path, err := keypath.Compile(text)
	if err != nil {
		return err
	}
	out := &schema.KeyColumns{Path: path}
	for _, f := range path.Fields() {
		c, err := keyColumn(f)
		if err != nil {
			return err
		}
		out.Columns = append(out.Columns, c)
	}
	k.Columns = out
	return nil
}

// keyColumn reads the name, the type and the format of one column.
func keyColumn(f keypath.Field) (c schema.KeyColumn, err error) {
	var name ColumnName
	if err := name.parse(f.Name); err != nil {
		return c, fmt.Errorf("{%s} %w", f.Name, err)
	}
	c = schema.KeyColumn{Name: f.Name, Type: schema.Type{Kind: schema.String}}
	if f.Type != "" {
		if c.Type, err = schema.ParseType(f.Type); err != nil || !slices.Contains(keyKinds, c.Type.Kind) {
			return c, fmt.Errorf("{%s} wants one of the types %s", f.Name, kindList(keyKinds))
		}
	}
	if f.Format == "" {
		return c, nil
	}
	if c.Type.Kind != schema.Date && c.Type.Kind != schema.Timestamp {
		return c, fmt.Errorf("{%s} must not have a format: it is %s", f.Name, c.Type)
	}
	if c.Format, err = strptime.Compile(f.Format); err != nil {
		return c, fmt.Errorf("the format of {%s} %w", f.Name, err)
	}
	if c.Type.Kind == schema.Date && c.Format.HasTime() {
		return c, fmt.Errorf("the format of {%s} must not have a time of day: the column is a date", f.Name)
	}
	return c, nil
}

// String is the form of the file.
func (k KeyColumns) String() string {
	if k.Columns == nil {
		return ""
	}
	return k.Columns.Path.String()
}

// checkKeyColumns keeps columns from keys apart from others, and says where their times
// lack a zone.
func (d *decoder) checkKeyColumns(p *Pipeline) {
	if p.Source.Files.KeyColumns.Columns == nil {
		return
	}
	for _, c := range p.Source.Files.KeyColumns.Columns.Columns {
		taken := c.Name == schema.SourceName || c.Name == schema.OffsetName || c.Name == schema.RescuedName
		for _, pin := range p.Pins() {
			taken = taken || pin.Offset == c.Name || len(pin.Place) > 0 && p.columnOf(pin) == c.Name
		}
		if taken {
			d.failAt("source.files.key_columns", "", fmt.Sprintf("must not name {%s} as another column", c.Name))
		}
		if c.Type.Kind == schema.Timestamp && c.Format != nil && !c.Format.HasZone() && p.Source.Files.Zone.Location == nil {
			d.failAt("source.files.key_columns", "set source.files.zone: UTC, or whichever zone they are in", fmt.Sprintf("has times without a zone in {%s}", c.Name))
		}
	}
}
