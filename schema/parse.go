package schema

import (
	"errors"
	"fmt"
	"strings"
)

// maxDeclared is how many nested types a declared type may have inside each other.
const maxDeclared = 32

// ParseType reads a type as a pipeline file declares it: bool, int32, int64,
// float64, decimal(p,s), string, json, bytes, date, timestamp, list<T>,
// map<string,T>, struct<key:T,…> and struct alone, an object whose fields are
// inferred. Blanks around < > ( ) , : mean nothing. A key with one of these in
// it is written as a JSON string. Fields of structs have a key and no name yet.
func ParseType(text string) (Type, error) {
	p := typeParser{rest: text}
	t, err := p.parse(0)
	if err != nil {
		return Type{}, err
	}
	if p.rest != "" {
		return Type{}, errors.New("has something behind the type")
	}
	return t, nil
}

// typeParser reads one type from the front of rest.
type typeParser struct{ rest string }

const typeMarks = `<>(),:"`

func (p *typeParser) parse(depth int) (Type, error) {
	if depth > maxDeclared {
		return Type{}, errors.New("is nested too deep")
	}
	switch word := p.word(); word {
	case "list", "map":
		return p.repeated(word, depth)
	case "struct":
		if !p.skip('<') {
			return Type{Kind: Struct}, nil
		}
		return p.fields(depth)
	case "decimal":
		return p.decimal()
	default:
		if t, err := parseFlat(word); err == nil {
			return t, nil
		}
		return Type{}, errors.New("wants a type: bool, int32, int64, float64, decimal(p,s), string, json, bytes, date, timestamp, list<T>, map<string,T> or struct")
	}
}

// word takes everything up to the next mark.
func (p *typeParser) word() string {
	end := strings.IndexAny(p.rest, typeMarks)
	if end < 0 {
		end = len(p.rest)
	}
	word := strings.TrimSpace(p.rest[:end])
	p.rest = p.rest[end:]
	return word
}

// skip takes a mark and the blanks around it, and says whether it was there.
func (p *typeParser) skip(mark byte) bool {
	rest := strings.TrimLeft(p.rest, " ")
	if rest == "" || rest[0] != mark {
		return false
	}
	p.rest = strings.TrimLeft(rest[1:], " ")
	return true
}

func (p *typeParser) decimal() (Type, error) {
	wrong := errors.New("wants decimal(p,s) with 1 to 38 digits p, of which s stand after the point")
	if !p.skip('(') {
		return Type{}, wrong
	}
	precision := p.word()
	if !p.skip(',') {
		return Type{}, wrong
	}
	t, err := parseFlat(fmt.Sprintf("decimal(%s,%s)", precision, p.word()))
	if err != nil || !p.skip(')') {
		return Type{}, wrong
	}
	return t, nil
}

// repeated reads the part of a list or a map behind its word.
func (p *typeParser) repeated(word string, depth int) (Type, error) {
	t := Type{Kind: List, Fields: []Field{{Name: ElementName}}}
	wrong := errors.New("wants list<T>, like list<string>")
	if word == "map" {
		t = Type{Kind: Map, Fields: []Field{{Name: KeyName, Type: Type{Kind: String}}, {Name: ValueName}}}
		wrong = errors.New("wants map<string,T>, like map<string,int64>: keys of JSON are strings")
	}
	if !p.skip('<') || t.Kind == Map && (p.word() != "string" || !p.skip(',')) {
		return Type{}, wrong
	}
	part, err := p.part(depth)
	if err != nil {
		return Type{}, err
	}
	if !p.skip('>') {
		return Type{}, wrong
	}
	t.Fields[len(t.Fields)-1].Type = part
	return t, nil
}

// fields reads the fields of a struct, whose "<" was taken.
func (p *typeParser) fields(depth int) (Type, error) {
	wrong := errors.New("wants struct<key:T,…>, like struct<id:int64,name:string>")
	t := Type{Kind: Struct}
	known := map[string]bool{}
	for {
		key, ok := p.key()
		if !ok || !p.skip(':') {
			return Type{}, wrong
		}
		if known[key] {
			return Type{}, errors.New("names a field of a struct twice")
		}
		known[key] = true
		part, err := p.part(depth)
		if err != nil {
			return Type{}, err
		}
		t.Fields = append(t.Fields, Field{Key: key, Type: part})
		switch {
		case p.skip('>'):
			return t, nil
		case !p.skip(','):
			return Type{}, wrong
		}
	}
}

// part reads a type inside of another.
func (p *typeParser) part(depth int) (Type, error) {
	t, err := p.parse(depth + 1)
	if err == nil && t.Kind == Struct && len(t.Fields) == 0 {
		return Type{}, errors.New("wants the fields of a struct inside of another type, like struct<id:int64>")
	}
	return t, err
}

// key takes the key of a field, plain or quoted.
func (p *typeParser) key() (string, bool) {
	if rest := strings.TrimLeft(p.rest, " "); strings.HasPrefix(rest, `"`) {
		key, after, ok := cutKey(rest)
		p.rest = after
		return key, ok
	}
	key := p.word()
	return key, key != ""
}
