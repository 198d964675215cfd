package record

import (
	"bytes"
	"fmt"

	"batcher/column"
	"batcher/schema"
	"batcher/source"
)

// KeyError says that the key of an object does not say what the pipeline file has it
// say: nothing of the object can be read under that file.
type KeyError struct {
	Key     string
	Pattern string // source.files.key_columns
	Column  string // whose value is no value of its type; "" if the key does not follow the pattern
	Wants   string // the type
	Value   string
	Naive   bool // the value is a time without a zone
}

// Error names the pattern and, if there is one, the value.
func (e *KeyError) Error() string {
	switch {
	case e.Column == "":
		return fmt.Sprintf("key %q does not follow source.files.key_columns %q", e.Key, e.Pattern)
	case e.Naive:
		return fmt.Sprintf("key %q: %s is %q, a time without a zone: set source.files.zone", e.Key, e.Column, e.Value)
	}
	return fmt.Sprintf("key %q: %s is %q, no %s, under source.files.key_columns %q", e.Key, e.Column, e.Value, e.Wants, e.Pattern)
}

// CheckKey says with a KeyError why the key of an object does not give the columns that
// the rules take from it; nil if it does, or if they take none.
func CheckKey(rules schema.Rules, key string) error {
	if rules.Key == nil {
		return nil
	}
	_, err := keyValues(rules, key)
	return err
}

// keyValues are the values that a key says, in the form that they have in columns; nil
// for null.
func keyValues(rules schema.Rules, key string) ([][]byte, error) {
	k := rules.Key
	said, ok := k.Path.Match(key)
	if !ok {
		return nil, &KeyError{Key: key, Pattern: k.Path.String()}
	}
	values := make([][]byte, len(k.Columns))
	for i, c := range k.Columns {
		if said[i].Null {
			continue
		}
		n := &node{
			kind: c.Type.Kind, precision: int(c.Type.Precision), scale: int(c.Type.Scale), name: c.Name, column: c.Name, def: 1,
			parent: &node{}, fixed: true, pinned: true, wide: true, reads: writing{format: c.Format, zone: rules.Zone},
			leaf: column.NewFiller(schema.Leaf{Field: schema.Field{Type: c.Type}, MaxDef: 1}),
		}
		s := scanner{final: true}
		if !s.fill([]byte(said[i].Text), n) || len(s.misfits) > 0 {
			return nil, &KeyError{Key: key, Pattern: k.Path.String(), Column: c.Name, Wants: c.Type.String(), Value: said[i].Text, Naive: s.naives != nil}
		}
		if n.leaf.Values > 0 {
			values[i] = n.leaf.Plain
		}
	}
	return values, nil
}

// keyed gives rows the values that the keys of their objects say.
type keyed struct {
	fillers []*column.Filler // of the current tree; nil where the table has no such column
	source  []byte           // whose values these are; nil: nobody's
	values  [][]byte
}

// follow finds the columns in a tree that is new.
func (k *keyed) follow(b *builder, s *schema.Schema) {
	k.fillers = k.fillers[:0]
	for _, c := range b.rules.Key.Columns {
		var filler *column.Filler
		for _, f := range s.Fields {
			if f.Name == c.Name && f.Key == "" && f.Type.Kind == c.Type.Kind {
				filler = b.fillers[f.ID]
			}
		}
		k.fillers = append(k.fillers, filler)
	}
}

// row gives a row what the key of its object says.
func (k *keyed) row(row int, name []byte, rules schema.Rules) error {
	if k.source == nil || !bytes.Equal(name, k.source) {
		values, err := keyValues(rules, source.KeyOf(string(name)))
		if err != nil {
			return err
		}
		k.source, k.values = append([]byte{}, name...), values
	}
	for i, v := range k.values {
		if v != nil && k.fillers[i] != nil {
			k.fillers[i].Value(row, v)
		}
	}
	return nil
}
