package schema

import (
	"slices"
	"strings"
)

// minAppearance is the share of an object's occurrences in which its keys must
// stand on average. Below it the keys are data (ids, dates, host names) rather
// than names. DuckDB draws the line between STRUCT and MAP at the same place
// (field_appearance_threshold).
const minAppearance = 0.1

// Added is a column, or a field of a published struct, that Evolve added.
type Added struct {
	Path    string // names joined by ".", "[]" behind lists
	Key     string // as received
	Renamed bool   // the name is not the key in lower (or snake) case: odd characters or a collision
	Second  bool   // the name that the key would have is another's, or two cells of a header say the same
	Split   bool   // rows of the batch hold the key's values in a column whose key differs in case alone
	Type    Type
}

// Evolve returns published and what seen adds to it. Published fields keep ids,
// order, names and types. Every pinned place that is not published yet is added
// with its declared type, seen or not. New columns come behind them in the order of their
// names and have the ids from LastID+1 on, depth first; new fields of published
// structs come at the end of their struct. Values that a published type does
// not take change nothing. Neither argument is changed.
func Evolve(published *Schema, seen *Shape, rules Rules) (*Schema, []Added) {
	next := published.Clone()
	g := &grower{rules: rules.Under(published), schema: next, room: -1}
	at := place{seen, g.rules.Pinned()}.columns(next.Fields, g.rules.Names)
	if rules.MaxColumns > 0 {
		width := Type{Kind: Struct, Fields: next.Fields}.Width()
		g.room = max(0, rules.MaxColumns-width)
	}
	for i := range next.Fields {
		f := &next.Fields[i]
		if f.Key != "" {
			g.leaves = g.rules.MaxLeaves - f.Type.Width()
			g.grow(&f.Type, at.at[f.Key], f.Name, 1)
		}
		if f.untold.saw != 0 {
			f.untold = at.at[f.Key].seen.untold(f.Type.Kind)
		}
	}
	g.leaves = -1
	next.Fields = g.add(next.Fields, at, "", 0)
	g.derive()
	return next, g.added
}

// place is what was seen at a place and what the pins say about it.
type place struct {
	seen *Shape // nil: nothing
	pins *Pinned
}

func (p place) element() place {
	if p.seen == nil {
		return place{nil, p.pins.Element()}
	}
	return place{p.seen.element, p.pins.Element()}
}

// grower adds to one schema within what is left of the bounds.
type grower struct {
	rules  Rules
	schema *Schema
	room   int // leaves the table may still get; -1 means any number
	leaves int // leaves the published column at hand may still get; -1 outside of one
	added  []Added
}

// derive adds the derived columns that are not there yet.
func (g *grower) derive() {
	for _, d := range g.rules.Derived {
		if slices.ContainsFunc(g.schema.Fields, func(f Field) bool { return f.Name == d.Name }) {
			continue
		}
		f := Field{Name: d.Name, Type: d.Type()}
		g.number(&f)
		g.schema.Fields = append(g.schema.Fields, f)
	}
}

// grow adds to the structs inside a published type.
func (g *grower) grow(t *Type, at place, path string, depth int) {
	if at.seen == nil && !at.pins.Fixed() {
		return
	}
	switch t.Kind {
	case Struct:
		inside := at.columns(t.Fields, g.rules.Names)
		for i := range t.Fields {
			f := &t.Fields[i]
			g.grow(&f.Type, inside.at[f.Key], path+"."+f.Name, depth+1)
		}
		t.Fields = g.add(t.Fields, inside, path, depth)
	case List:
		g.grow(&t.Fields[0].Type, at.element(), path+"[]", depth+1)
	}
}

// add appends the fields of the place that are not there yet.
func (g *grower) add(fields []Field, at columns, path string, depth int) []Field {
	taken := Names{}
	if depth == 0 {
		for _, d := range g.rules.Derived {
			taken.Take(d.Name)
		}
	}
	for _, f := range fields {
		taken.Take(f.Name)
	}
	fresh := g.admitted(at, depth)
	at.name(fresh, taken, g.rules.Names)
	for i := range fresh {
		g.number(&fresh[i])
		g.report(fresh[i], path, at.seen.Field(fresh[i].Key).isFolded())
	}
	return append(fields, fresh...)
}

// admitted returns the new fields of the place that there is room for. Keys for which
// there is none belong to those that differ from them in case alone.
func (g *grower) admitted(at columns, depth int) []Field {
	room, leaves := g.room, g.leaves
	var fresh []Field
	refused := map[string]bool{}
	for _, key := range at.fresh {
		inside := at.at[key]
		t := g.rules.infer(inside, depth+1)
		switch {
		case t.Kind == None:
		case g.admit(&t, inside.pins):
			f := Field{Key: key, Type: t, Name: inside.pins.name()}
			if depth == 0 && !inside.pins.Fixed() {
				f.untold = inside.seen.untold(f.Type.Kind)
			}
			fresh = append(fresh, f)
		case at.first[Fold(key)] != key:
			refused[key] = true
		}
	}
	if len(refused) == 0 {
		return fresh
	}
	for key := range refused {
		at.give(key)
	}
	at.fresh = slices.DeleteFunc(slices.Clone(at.fresh), func(key string) bool { return refused[key] })
	g.room, g.leaves = room, leaves
	return g.admitted(at, depth)
}

// admit takes the type's leaves from what is left, as JSON if that alone fits.
// What is pinned is admitted as it is.
func (g *grower) admit(t *Type, pins *Pinned) bool {
	left := func(w int) bool {
		return (g.room < 0 || w <= g.room) && (g.leaves < 0 || w <= g.leaves)
	}
	if !left(t.Width()) && !pins.Fixed() {
		if !left(1) {
			return false
		}
		if t.Kind.IsNested() {
			*t = Type{Kind: JSON}
		}
	}
	if g.room >= 0 {
		g.room = max(0, g.room-t.Width())
	}
	if g.leaves >= 0 {
		g.leaves = max(0, g.leaves-t.Width())
	}
	return true
}

// number gives ids to a field and everything in it.
func (g *grower) number(f *Field) {
	g.schema.LastID++
	f.ID = g.schema.LastID
	for i := range f.Type.Fields {
		g.number(&f.Type.Fields[i])
	}
}

// report notes an added field, and the renamed ones inside it.
func (g *grower) report(f Field, path string, split bool) {
	full := strings.TrimPrefix(path+"."+f.Name, ".")
	g.added = append(g.added, Added{Path: full, Key: f.Key, Renamed: g.renamed(f), Second: g.second(f), Split: split, Type: f.Type})
	g.reportInside(f.Type, full)
}

func (g *grower) reportInside(t Type, path string) {
	switch t.Kind {
	case List:
		g.reportInside(t.Fields[0].Type, path+"[]")
	case Struct:
		for _, f := range t.Fields {
			if g.renamed(f) {
				g.added = append(g.added, Added{Path: path + "." + f.Name, Key: f.Key, Renamed: true, Second: g.second(f), Type: f.Type})
			}
			g.reportInside(f.Type, path+"."+f.Name)
		}
	}
}

func (g *grower) second(f Field) bool {
	text, _, _ := strings.Cut(f.Key, madeUp)
	return f.Name != g.rules.Names.Plain(f.Key) || isMadeUp(f.Key) && text != ""
}

func (g *grower) renamed(f Field) bool {
	return f.Name != g.rules.Names.Plain(f.Key) || !isPlainKey(f.Key)
}

// infer returns the type for a place that has none yet: what the pins declare,
// and else what was seen.
func (r Rules) infer(at place, depth int) Type {
	s := at.seen
	if s == nil {
		s = &Shape{}
	}
	if at.pins.feeds != nil {
		return Type{} // its values are in another column
	}
	kind := s.saw.Kind()
	if at.pins.Fixed() {
		kind = at.pins.kind
	}
	switch {
	case kind == Struct:
		return r.inferStruct(place{s, at.pins}, depth)
	case kind == List:
		return r.inferList(place{s, at.pins}, depth)
	case at.pins.Fixed():
		return r.declared(at.pins.typ)
	case kind == Decimal:
		return s.decimal()
	case kind == Map:
		return r.inferMap(place{s, at.pins}, depth)
	}
	return Type{Kind: kind}
}

// inferMap returns a map if its values are plain ones of one kind.
func (r Rules) inferMap(at place, depth int) Type {
	v := r.infer(at.element(), depth+1)
	if v.Kind == None || v.Kind == JSON || v.Kind.IsNested() || (depth > r.MaxDepth && !at.seen.settled) {
		return Type{Kind: JSON}
	}
	return Type{Kind: Map, Fields: []Field{{Name: KeyName, Type: Type{Kind: String}}, {Name: ValueName, Type: v}}}
}

// declared returns a declared type with names for the fields in it.
func (r Rules) declared(t Type) Type {
	t.Fields = cloneFields(t.Fields)
	for i := range t.Fields {
		t.Fields[i].Type = r.declared(t.Fields[i].Type)
	}
	if t.Kind == Struct {
		named(t.Fields, Names{}, r.Names, nil)
	}
	return t
}

func (r Rules) inferList(at place, depth int) Type {
	fixed := at.pins.Fixed()
	if !fixed && (at.seen.element == nil || (depth > r.MaxDepth && !at.seen.settled)) {
		return Type{Kind: JSON}
	}
	e := r.infer(at.element(), depth+1)
	switch {
	case e.Kind == None && fixed:
		return Type{} // a list of structs without any field yet
	case (e.Kind == None || e.Kind == JSON) && !fixed:
		return Type{Kind: JSON}
	}
	return Type{Kind: List, Fields: []Field{{Name: ElementName, Type: e}}}
}

func (r Rules) inferStruct(at place, depth int) Type {
	fixed := at.pins.Fixed()
	if !fixed && !at.seen.settled && (depth > r.MaxDepth || !r.regular(at.seen)) {
		return Type{Kind: JSON}
	}
	var fields []Field
	inside := at.columns(nil, r.Names)
	for _, key := range inside.fresh {
		if t := r.infer(inside.at[key], depth+1); t.Kind != None {
			fields = append(fields, Field{Key: key, Type: t})
		}
	}
	switch {
	case fixed:
		fields = r.bounded(fields, at.pins)
		if len(fields) == 0 {
			return Type{}
		}
	case len(fields) == 0 || !r.fold(fields, at.pins):
		return Type{Kind: JSON}
	}
	inside.name(fields, Names{}, r.Names)
	return Type{Kind: Struct, Fields: fields}
}

// bounded leaves out fields without a pin until all together have no more
// leaves than a column may have, or only pinned ones are left.
func (r Rules) bounded(fields []Field, pins *Pinned) []Field {
	if r.fold(fields, pins) {
		return fields
	}
	total := 0
	for _, f := range fields {
		if pins.Field(f.Key).Fixed() {
			total += f.Type.Width()
		}
	}
	return slices.DeleteFunc(fields, func(f Field) bool {
		if pins.Field(f.Key).Fixed() {
			return false
		}
		total += f.Type.Width()
		return total > r.MaxLeaves
	})
}

// regular says whether the objects seen are alike enough, and often enough
// seen, for their keys to be names of fields. Declared ones are.
func (r Rules) regular(s *Shape) bool {
	if s.named {
		return true
	}
	if s.records < r.MinRecords || len(s.fields) == 0 {
		return false
	}
	var times int64
	for _, f := range s.fields {
		times += f.times
	}
	return float64(times) >= minAppearance*float64(s.objects)*float64(len(s.folds))
}

// fold turns the widest nested fields without a pin into JSON until all fields
// together have no more leaves than a column may have. It says whether that was
// possible.
func (r Rules) fold(fields []Field, pins *Pinned) bool {
	for {
		total, widest, most := 0, -1, 1
		for i, f := range fields {
			w := f.Type.Width()
			total += w
			if w > most && !pins.Field(f.Key).Fixed() {
				widest, most = i, w
			}
		}
		if total <= r.MaxLeaves {
			return true
		}
		if widest < 0 {
			return false
		}
		fields[widest].Type = Type{Kind: JSON}
	}
}

// Widened says whether next, which was evolved from the same published schema
// as current, gives some column of current another type or another field. New
// columns of the table are no widening.
func Widened(current, next *Schema) bool {
	byKey := map[string]Type{}
	for _, f := range next.Fields {
		byKey[f.Key] = f.Type
	}
	for _, f := range current.Fields {
		if t, ok := byKey[f.Key]; ok && f.Key != "" && !sameForm(f.Type, t) {
			return true
		}
	}
	return false
}

// sameForm compares types but for ids, names and the order of fields.
func sameForm(a, b Type) bool {
	if a.Kind != b.Kind || a.Precision != b.Precision || a.Scale != b.Scale || len(a.Fields) != len(b.Fields) {
		return false
	}
	if a.Kind != Struct {
		for i := range a.Fields {
			if !sameForm(a.Fields[i].Type, b.Fields[i].Type) {
				return false
			}
		}
		return true
	}
	byKey := map[string]Type{}
	for _, f := range b.Fields {
		byKey[f.Key] = f.Type
	}
	for _, f := range a.Fields {
		t, ok := byKey[f.Key]
		if !ok || !sameForm(f.Type, t) {
			return false
		}
	}
	return true
}
