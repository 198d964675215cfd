package schema

import (
	"fmt"
	"maps"
	"slices"
)

// Pinned is a place of the records and what the pins say about it and all below
// it: the tree that Rules.Pinned makes of the pins. Its zero value says nothing.
type Pinned struct {
	pin     *Pin
	feeds   *Pin  // the column that the place feeds is that of this pin, elsewhere
	place   Place // then: the place
	kind    Kind  // declared here or implied by pins below: Struct or List
	typ     Type  // declared, unless the fields of a struct or an element say it
	listed  bool  // keys without a pin are asked for here
	open    bool  // and become fields
	fields  map[string]*Pinned
	element *Pinned
}

// Pinned returns the tree for records under the rules.
func (r Rules) Pinned() *Pinned {
	root := &Pinned{kind: Struct}
	for i := range r.Pins {
		p := &r.Pins[i]
		at := root.walk(p.Place)
		at.pin = p
		at.declare(p.Type)
		for _, place := range p.Places {
			if at := root.walk(place); at.pin != p {
				at.feeds, at.place = p, place
			}
		}
	}
	root.inherit(!r.OnlyListed, r.frozen)
	return root
}

// walk returns the place that steps lead to.
func (p *Pinned) walk(place Place) *Pinned {
	for _, s := range place {
		p = p.step(s)
	}
	return p
}

// Others are the keys directly below that feed columns elsewhere, or have such keys
// below them, sorted.
func (p *Pinned) Others() []string {
	var keys []string
	for key, f := range p.fields {
		if f.feeds != nil || len(f.Others()) > 0 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Feeds is the pin whose column is elsewhere and fed from the place, with the place;
// nil if there is none.
func (p *Pinned) Feeds() (*Pin, Place) { return p.feeds, p.place }

// step returns the place below, which it makes if need be.
func (p *Pinned) step(s Step) *Pinned {
	if s.Element {
		p.kind = List
		if p.element == nil {
			p.element = &Pinned{}
		}
		return p.element
	}
	p.kind = Struct
	if p.fields == nil {
		p.fields = map[string]*Pinned{}
	}
	if p.fields[s.Key] == nil {
		p.fields[s.Key] = &Pinned{}
	}
	return p.fields[s.Key]
}

// declare makes t the type of the place, and its parts those of the places below.
func (p *Pinned) declare(t Type) {
	p.kind, p.typ = t.Kind, t
	switch t.Kind {
	case Struct:
		for _, f := range t.Fields {
			p.step(Step{Key: f.Key}).declare(f.Type)
		}
	case List:
		p.step(Step{Element: true}).declare(t.Fields[0].Type)
	case Map:
		p.element = &Pinned{}
		p.element.declare(t.Fields[1].Type)
	}
}

// inherit says where keys without a pin are listed: everywhere or only in structs
// that were declared without fields; and that they become fields there, unless
// the table is frozen.
func (p *Pinned) inherit(listed, frozen bool) {
	p.listed = listed || p.typ.Kind == Struct && len(p.typ.Fields) == 0
	p.open = p.listed && !frozen
	for _, f := range p.fields {
		f.inherit(p.listed, frozen)
	}
	if p.element != nil {
		p.element.inherit(p.listed, frozen)
	}
}

// Field returns the place under a key, never nil.
func (p *Pinned) Field(key string) *Pinned {
	if f := p.fields[key]; f != nil {
		return f
	}
	return &Pinned{listed: p.listed, open: p.open}
}

// Element returns the place of a list's elements or a map's values, never nil.
func (p *Pinned) Element() *Pinned {
	if p.element != nil {
		return p.element
	}
	return &Pinned{listed: p.listed, open: p.open}
}

// Fixed says whether the pins decide the type of the place.
func (p *Pinned) Fixed() bool { return p.kind != None }

// Open says whether keys without a pin become fields of the place.
func (p *Pinned) Open() bool { return p.open }

// Listed says whether keys without a pin are asked for at all: if not, only
// pinned columns are.
func (p *Pinned) Listed() bool { return p.listed }

// Declares returns what is declared of this very place, or nil.
func (p *Pinned) Declares() *Pin { return p.pin }

// Default is the JSON scalar for records without the key, or "".
func (p *Pinned) Default() string {
	if p.pin == nil {
		return ""
	}
	return p.pin.Default
}

// Pin is what was declared of the place itself, or nil.
func (p *Pinned) Pin() *Pin { return p.pin }

// Unit is what a number means if the place is a timestamp.
func (p *Pinned) Unit() Unit {
	if p.pin == nil {
		return ISO
	}
	return p.pin.Unit
}

// name is the declared name of a column, or "".
func (p *Pinned) name() string {
	if p.pin == nil {
		return ""
	}
	return p.pin.Name
}

// Bound says which published fields the places directly below a pinned place are.
type Bound struct {
	free *Pinned
	at   map[string]*Pinned // by the field's key
	rest []string           // keys of places that no field is, sorted
}

// Bind finds for each place directly below the field that it is: that of its key,
// else the first whose key differs from it in case alone, else the one whose key was
// made up and reads like it.
func (p *Pinned) Bind(fields []Field) Bound {
	b := Bound{free: &Pinned{listed: p.listed, open: p.open}}
	if len(p.fields) == 0 {
		return b
	}
	b.at = map[string]*Pinned{}
	for _, f := range fields {
		if pinned := p.fields[f.Key]; pinned != nil {
			b.at[f.Key] = pinned
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.fields)) {
		if b.at[key] == nil {
			b.rest = append(b.rest, key)
		}
	}
	b.alike(p, fields, Fold)
	b.alike(p, fields, func(key string) string { return Fold(KeyText(key)) })
	return b
}

// alike binds what is left to the first field with a key of the same form.
func (b *Bound) alike(p *Pinned, fields []Field, form func(key string) string) {
	if len(b.rest) == 0 {
		return
	}
	first := map[string]string{}
	for _, f := range fields {
		if at := form(f.Key); f.Key != "" && b.at[f.Key] == nil && first[at] == "" {
			first[at] = f.Key
		}
	}
	b.rest = slices.DeleteFunc(b.rest, func(pinned string) bool {
		key := first[Fold(pinned)]
		if key == "" || b.at[key] != nil {
			return false
		}
		b.at[key] = p.fields[pinned]
		return true
	})
}

// Of returns the place that the field with a key is, never nil.
func (b Bound) Of(key string) *Pinned {
	if p := b.at[key]; p != nil {
		return p
	}
	return b.free
}

// PinError says that a pin wants of a published column what it is not.
type PinError struct {
	Column   string // as published, nested parts after dots
	Is, Want string
	Widen    bool // Want is a type: schema widen may bring the column there
}

// Error gives the difference.
func (e *PinError) Error() string {
	return fmt.Sprintf("column %s is published as %s, but the pipeline file declares %s", e.Column, e.Is, e.Want)
}

// CheckPublished says which pin the published columns do not follow: types and
// names do not change once they are published.
func (r Rules) CheckPublished(published *Schema) error {
	r.Pins = homed(r.Pins, published)
	root := r.Pinned()
	bound := root.Bind(published.Fields)
	keyOf := map[string]string{}
	for _, f := range published.Fields {
		keyOf[f.Name] = f.Key
		p := bound.Of(f.Key)
		if f.Key == "" {
			continue
		}
		if name := p.name(); name != "" && name != f.Name {
			return &PinError{Column: f.Name, Is: f.Name, Want: "the name " + name}
		}
		if err := p.check(f.Type, f.Name); err != nil {
			return err
		}
	}
	for _, d := range r.Derived {
		if err := d.check(published); err != nil {
			return err
		}
	}
	for _, pin := range r.Pins {
		if key, taken := keyOf[pin.Name]; taken && pin.Name != "" && bound.at[key] != root.fields[pin.Place[0].Key] {
			return &PinError{Column: pin.Name, Is: "the column of another field", Want: "it for " + pin.Place.String()}
		}
	}
	return nil
}

// check holds a published type to the place.
func (p *Pinned) check(t Type, path string) error {
	switch {
	case p.feeds != nil:
		return &PinError{Column: path, Is: "a column of its own", Want: "another place of " + p.feeds.Place.String()}
	case !p.Fixed():
		return nil
	case p.kind != t.Kind, p.kind == Map && !sameForm(p.typ, t), p.kind == Decimal && !sameForm(p.typ, t):
		want := p.typ.String()
		if p.typ.Kind == None || p.typ.Kind == Struct {
			want = p.kind.String()
		}
		return &PinError{Column: path, Is: t.String(), Want: want, Widen: true}
	case p.kind == List:
		return p.Element().check(t.Fields[0].Type, path+"[]")
	case p.kind == Struct:
		bound := p.Bind(t.Fields)
		for _, f := range t.Fields {
			if err := bound.Of(f.Key).check(f.Type, path+"."+f.Name); err != nil {
				return err
			}
		}
	}
	return nil
}
