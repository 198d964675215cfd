package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"batcher/schema"
)

// Field is a place of the records: keys of the input joined by dots, [] after
// lists, keys with dots in them in double quotes.
type Field struct{ Place schema.Place }

func (*Field) wants() string { return "a field like price or detail.price" }
func (f *Field) parse(text string) error {
	place, err := schema.ParsePlace(text)
	f.Place = place
	return err
}

// String is the form of the file.
func (f Field) String() string { return f.Place.String() }

// Fields are places of the records: one, or a list, of which those before go first.
type Fields []Field

// home is the place where the column is: the first that is no part of an object, if
// there are several.
func (f Fields) home() schema.Place {
	for _, at := range f {
		if len(at.Place) == 1 {
			return at.Place
		}
	}
	if len(f) == 0 {
		return nil
	}
	return f[0].Place
}

// several are the places, if they are more than one.
func (f Fields) several() []schema.Place {
	if len(f) < 2 {
		return nil
	}
	out := make([]schema.Place, len(f))
	for i, at := range f {
		out[i] = at.Place
	}
	return out
}

// Unnest is the place of the array in an envelope, without []; "" if the
// records are in no envelope.
type Unnest struct{ Place schema.Place }

func (*Unnest) wants() string { return "a field like Records or detail.events" }
func (u *Unnest) parse(text string) error {
	if text == "" {
		u.Place = nil
		return nil
	}
	place, err := schema.ParsePlace(text)
	if err == nil && slices.ContainsFunc(place, func(s schema.Step) bool { return s.Element }) {
		err = errors.New("wants the keys that lead to the array, without []")
	}
	u.Place = place
	return err
}

// Keys are the keys that lead from an envelope to the array.
func (u Unnest) Keys() []string {
	keys := make([]string, len(u.Place))
	for i, s := range u.Place {
		keys[i] = s.Key
	}
	return keys
}

// String is the form of the file.
func (u Unnest) String() string { return u.Place.String() }

// ColumnType is the declared type of a column.
type ColumnType struct{ Type schema.Type }

func (*ColumnType) wants() string { return "a type like string or decimal(18,2)" }
func (c *ColumnType) parse(text string) error {
	t, err := schema.ParseType(text)
	c.Type = t
	return err
}

// ColumnName is the name of a column: lower-case letters of any script in normal
// form C, digits, marks and "_", at most 128 characters and 255 bytes.
type ColumnName string

func (*ColumnName) wants() string { return "a column name like order_id" }
func (n *ColumnName) parse(text string) error {
	if lower, snake := schema.Lower.Plain(text), schema.Snake.Plain(text); text != lower && schema.IsName(lower) {
		return fmt.Errorf("must be the name of a column: that of the key %s is %s, or %s with schema.names: snake", text, lower, snake)
	}
	if !schema.IsName(text) || schema.Lower.Plain(text) != text {
		return errors.New("must begin with a lower-case letter or _ and go on with letters, digits and _, at most 128 characters and 255 bytes")
	}
	*n = ColumnName(text)
	return nil
}

// Default is a scalar as it stands in the file; what it means depends on the
// type of the column.
type Default string

func (*Default) wants() string { return "a scalar" }
func (d *Default) parse(text string) error {
	*d = Default(text)
	return nil
}

// Pins are the columns that the file declares: those of schema.columns, and the
// event time as a timestamp.
func (p *Pipeline) Pins() []schema.Pin {
	pins := make([]schema.Pin, 0, len(p.Schema.Columns)+1)
	at := -1
	for i, c := range p.Schema.Columns {
		pin := schema.Pin{Place: c.Path.home(), Places: c.Path.several(), Type: c.Type.Type, Name: string(c.Name),
			Format: c.Format.Format, Zone: c.Zone.Location, Offset: string(c.Offset), True: c.True, False: c.False}
		if c.Default != nil {
			pin.Default, _ = schema.ParseDefault(pin.Type, string(*c.Default)) // checked by Parse
		}
		if p.EventTime != nil && slices.Equal(pin.Place, p.EventTime.Field.Place) {
			at = i
		}
		pins = append(pins, pin)
	}
	if p.EventTime == nil {
		return pins
	}
	if at < 0 {
		at = len(pins)
		pins = append(pins, schema.Pin{Place: p.EventTime.Field.Place, Type: schema.Type{Kind: schema.Timestamp}})
	}
	pins[at].Unit = units[p.EventTime.Unit]
	return pins
}

var units = map[TimeUnit]schema.Unit{
	UnitISO: schema.ISO, UnitSeconds: schema.Seconds, UnitMilliseconds: schema.Milliseconds,
	UnitMicroseconds: schema.Microseconds, UnitNanoseconds: schema.Nanoseconds,
}

// Derived are the columns from keys, those of UTC offsets, and those that partitions by
// day and hour add.
func (p *Pipeline) Derived() []schema.Derived {
	var derived []schema.Derived
	if keys := p.Source.Files.KeyColumns.Columns; keys != nil {
		for _, c := range keys.Columns {
			derived = append(derived, schema.Derived{Name: c.Name, From: "source.files.key_columns", Part: schema.FromKey, Of: c.Type})
		}
	}
	for _, pin := range p.Pins() {
		if pin.Offset != "" {
			derived = append(derived, schema.Derived{Name: pin.Offset, From: p.columnOf(pin), Part: schema.Offset})
		}
	}
	for _, part := range p.PartitionBy {
		switch {
		case part.Day != "":
			derived = append(derived, schema.Derived{Name: part.Name(), From: string(part.Day), Part: schema.Day})
		case part.Hour != "":
			derived = append(derived, schema.Derived{Name: part.Name(), From: string(part.Hour), Part: schema.Hour})
		}
	}
	return derived
}

// declared maps the names of declared top-level columns to their types, the names of
// earlier programs among them: a table that was published under them keeps them.
func (p *Pipeline) declared() map[string]schema.Type {
	naming := p.Schema.Names.Naming()
	types := map[string]schema.Type{}
	for _, derived := range p.Derived() {
		if derived.Part == schema.FromKey || derived.Part == schema.Offset {
			types[derived.Name] = derived.Type()
		}
	}
	for _, pin := range p.Pins() {
		if len(pin.Place) != 1 {
			continue
		}
		if earlier := naming.Earlier(pin.Place[0].Key); pin.Name == "" && types[earlier].Kind == schema.None {
			types[earlier] = pin.Type
		}
		types[cmp.Or(pin.Name, naming.Plain(pin.Place[0].Key))] = pin.Type
	}
	return types
}

// columnOf is the name of the column of a pin, as far as the file decides it, with dots
// before nested parts.
func (p *Pipeline) columnOf(pin schema.Pin) string {
	if len(pin.Place) > 1 {
		return pin.Place.String()
	}
	return cmp.Or(pin.Name, p.Schema.Names.Naming().Plain(pin.Place[0].Key))
}

// wants returns the key that was given, the column it names, and the kinds that
// the column may have; "" unless exactly one key was given.
func (p Partition) wants() (key, column string, kinds []schema.Kind) {
	instant := []schema.Kind{schema.Timestamp}
	switch {
	case p.Day != "" && p.Hour == "" && p.Column == "":
		return "day", string(p.Day), instant
	case p.Hour != "" && p.Day == "" && p.Column == "":
		return "hour", string(p.Hour), instant
	case p.Column != "" && p.Day == "" && p.Hour == "":
		return "column", string(p.Column), []schema.Kind{schema.String, schema.Date, schema.Int32, schema.Int64}
	}
	return "", "", nil
}

// Name is the name of the column whose values name the partitions.
func (p Partition) Name() string {
	switch {
	case p.Day != "":
		return string(p.Day) + "_day"
	case p.Hour != "":
		return string(p.Hour) + "_hour"
	}
	return string(p.Column)
}

func kindList(kinds []schema.Kind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = k.String()
	}
	return strings.Join(words, ", ")
}
