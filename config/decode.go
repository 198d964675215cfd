package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// maxDepth bounds the nesting of a file; no key lies deeper than a handful.
const maxDepth = 32

// decoder carries one Parse: the node tree is walked along the Go types, and
// every error is kept.
type decoder struct {
	file   string
	opts   Options
	origin map[*yaml.Node]string // nodes that did not come from the file, and whence
	bad    map[*yaml.Node]bool   // nodes that an error was already reported for
	where  map[string]*yaml.Node // key path → the node that gave its value
	errs   Errors
}

// fail records an error at a node. Only the first one at a node is kept.
func (d *decoder) fail(n *yaml.Node, key, hint, format string, args ...any) {
	if d.bad[n] {
		return
	}
	d.bad[n] = true
	e := &Error{File: d.file, Key: key, Msg: fmt.Sprintf(format, args...), Hint: hint}
	if origin, ok := d.origin[n]; ok {
		e.File = origin
	} else {
		e.Line, e.Col = n.Line, n.Column
	}
	d.errs = append(d.errs, e)
}

// inspect refuses what no value of a pipeline file may be: anchors, aliases,
// merge keys, explicit types, repeated keys, keys that are not text, and text
// that hopes to be substituted.
func (d *decoder) inspect(n *yaml.Node, key string) {
	switch {
	case strings.Count(key, ".")+strings.Count(key, "[") > maxDepth:
		d.fail(n, "", "", "is nested too deep for a pipeline file")
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.fail(n, key, "write the value out", "anchors and aliases are not allowed")
		return
	case n.Style&yaml.TaggedStyle != 0:
		d.fail(n, key, "leave the !tag out", "explicit types are not allowed")
		return
	case n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${"):
		d.fail(n, key, "write {env: NAME} or {file: path} as the whole value", `holds "${", but text is never substituted`)
	case n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			d.inspect(item, fmt.Sprintf("%s[%d]", key, i))
		}
	case n.Kind == yaml.MappingNode:
		d.inspectKeys(n, key)
	}
}

func (d *decoder) inspectKeys(n *yaml.Node, key string) {
	first := map[string]int{}
	for name, value := range pairs(n) {
		switch {
		case name.Tag == "!!merge":
			d.fail(name, key, "write the keys out", "merge keys are not allowed")
			continue
		case name.Kind != yaml.ScalarNode || name.Anchor != "" || name.Style&yaml.TaggedStyle != 0: // null is a key of csv
			d.fail(name, key, "", "a key is plain text")
			continue
		}
		if line, ok := first[name.Value]; ok {
			d.fail(name, join(key, name.Value), "", "is given twice, first in line %d", line)
			continue
		}
		first[name.Value] = name.Line
		d.inspect(value, join(key, name.Value))
	}
}

// pairs yields the keys and values of a mapping.
func pairs(n *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// decode fills v from n. tag is the struct tag of v's field: it bounds numbers.
func (d *decoder) decode(n *yaml.Node, v reflect.Value, key string, tag reflect.StructTag) {
	if d.bad[n] {
		return
	}
	d.where[key] = n
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch {
	case isScalar(v):
		d.decodeScalar(n, v, key, tag)
	case v.Kind() == reflect.Struct:
		d.decodeStruct(n, v, key)
	case v.Kind() == reflect.Slice:
		d.decodeList(n, v, key)
	default:
		panic(fmt.Sprintf("config: no decoder for %s", v.Type()))
	}
}

func isScalar(v reflect.Value) bool {
	if _, ok := v.Addr().Interface().(value); ok {
		return true
	}
	return v.Kind() != reflect.Struct && v.Kind() != reflect.Slice
}

func (d *decoder) decodeStruct(n *yaml.Node, v reflect.Value, key string) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, key, "", "wants the keys %s, found %s", strings.Join(fieldKeys(v.Type()), ", "), describe(n))
		return
	}
	for name, value := range pairs(n) {
		if d.bad[name] || name.Kind != yaml.ScalarNode {
			continue
		}
		i := slices.Index(fieldKeys(v.Type()), name.Value)
		if i < 0 {
			d.unknown(name, v.Type(), key)
			continue
		}
		d.decode(value, v.Field(i), join(key, name.Value), v.Type().Field(i).Tag)
	}
}

// fieldKeys returns the keys of a struct, in the order of its fields.
func fieldKeys(t reflect.Type) []string {
	keys := make([]string, t.NumField())
	for i := range keys {
		keys[i] = t.Field(i).Tag.Get("yaml")
	}
	return keys
}

func (d *decoder) unknown(name *yaml.Node, t reflect.Type, key string) {
	hint := ""
	if near := nearest(name.Value, fieldKeys(t)); near != "" {
		hint = "did you mean " + near + "?"
	} else if at := placeOf(name.Value); at != "" {
		hint = "did you mean " + at + "?"
	}
	d.fail(name, join(key, printable(name.Value)), hint, "unknown key")
}

// printable shortens and quotes a key that people would not recognize as one.
func printable(name string) string {
	if len(name) > 64 {
		name = strings.ToValidUTF8(name[:64], "") + "…"
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return strconv.Quote(name)
	}
	return name
}

// placeOf returns the key path that ends in name, if there is exactly one.
func placeOf(name string) string {
	found := ""
	for _, path := range keyPaths(reflect.TypeFor[Pipeline](), "") {
		if path[strings.LastIndexByte(path, '.')+1:] != name {
			continue
		}
		if found != "" {
			return ""
		}
		found = path
	}
	return found
}

// keyPaths lists every key path below a type, structs included; the parts of
// list items follow "[]".
func keyPaths(t reflect.Type, key string) []string {
	var paths []string
	for i := range t.NumField() {
		path := join(key, t.Field(i).Tag.Get("yaml"))
		paths = append(paths, path)
		ft := t.Field(i).Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		if ft.Kind() == reflect.Slice {
			ft, path = ft.Elem(), path+"[]"
		}
		if ft.Kind() == reflect.Struct && !isScalar(reflect.New(ft).Elem()) {
			paths = append(paths, keyPaths(ft, path)...)
		}
	}
	return paths
}

func (d *decoder) decodeList(n *yaml.Node, v reflect.Value, key string) {
	if _, one := v.Addr().Interface().(*Fields); one && (n.Kind != yaml.SequenceNode || len(n.Content) == 0) {
		list := make(Fields, 1)
		d.decode(n, reflect.ValueOf(&list[0]).Elem(), key, "")
		v.Set(reflect.ValueOf(list))
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.fail(n, key, "", "wants a list like [a, b], found %s", describe(n))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		d.decode(item, list.Index(i), fmt.Sprintf("%s[%d]", key, i), "")
	}
	v.Set(list)
}

func (d *decoder) decodeScalar(n *yaml.Node, v reflect.Value, key string, tag reflect.StructTag) {
	text, loose, ok := d.text(n, v, key)
	if !ok {
		return
	}
	if !loose && !slices.Contains(tagsOf(v), n.ShortTag()) {
		d.fail(n, key, quoteHint(n, v), "wants %s, found %s", wants(v), describe(n))
		return
	}
	if c, ok := v.Interface().(choice); ok {
		d.decodeChoice(n, v, c, text, key)
		return
	}
	if err := setScalar(v, text, tag); err != nil {
		d.fail(n, key, "", "%s", err)
	}
}

// text returns the text of a scalar, or of what a reference leads to. Loose text
// has no YAML type of its own: it came from outside the file.
func (d *decoder) text(n *yaml.Node, v reflect.Value, key string) (text string, loose, ok bool) {
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && d.origin[n] == "":
		d.fail(n, key, "leave the key out for its default", "has no value")
		return "", false, false
	case n.Kind == yaml.ScalarNode:
		return n.Value, d.origin[n] != "", true
	case n.Kind == yaml.MappingNode && len(n.Content) == 2 && isReference(n.Content[0].Value):
		text, ok = d.resolve(n, key)
		return text, true, ok
	}
	if _, ok := v.Interface().(RecordID); ok && n.Kind == yaml.MappingNode {
		d.fail(n, key, "", "identifying records by fields "+notBuilt)
		return "", false, false
	}
	d.fail(n, key, "", "wants %s, found %s", wants(v), describe(n))
	return "", false, false
}

func isReference(name string) bool { return name == "env" || name == "file" }

// resolve reads the variable or the file that a reference names.
func (d *decoder) resolve(n *yaml.Node, key string) (string, bool) {
	kind, to := n.Content[0].Value, n.Content[1]
	if d.bad[to] {
		return "", false
	}
	if to.Kind != yaml.ScalarNode || to.Value == "" || to.ShortTag() == "!!null" {
		d.fail(to, join(key, kind), "", "wants the name of a variable or a file, found %s", describe(to))
		return "", false
	}
	if kind == "env" {
		text, ok := d.opts.getenv(to.Value)
		if !ok {
			d.fail(n, key, "", "environment variable %s is not set", printable(to.Value))
		}
		return text, ok
	}
	path, err := d.absolute(to.Value)
	if err != nil {
		d.fail(n, key, "", "%s", err)
		return "", false
	}
	body, err := d.opts.ReadFile(path)
	if err != nil {
		d.fail(n, key, "", "the value comes from a file: %s", err)
		return "", false
	}
	if len(body) > MaxBytes {
		d.fail(n, key, "", "the file %s is over %d bytes", printable(to.Value), MaxBytes)
		return "", false
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(body), "\n"), "\r"), true
}

func (d *decoder) decodeChoice(n *yaml.Node, v reflect.Value, c choice, text, key string) {
	if slices.Contains(c.words(), text) {
		v.SetString(text)
		return
	}
	if why, ok := c.later()[text]; ok {
		d.fail(n, key, "", "%s %s", text, why)
		return
	}
	hint := ""
	if near := nearest(text, c.words()); len(near) > 1 {
		hint = "did you mean " + near + "?"
	}
	d.fail(n, key, hint, "wants %s", wants(v))
}

// setScalar sets v from text, within the bounds of the tag.
func setScalar(v reflect.Value, text string, tag reflect.StructTag) error {
	if own, ok := v.Addr().Interface().(value); ok {
		return own.parse(text)
	}
	switch v.Interface().(type) {
	case time.Duration:
		duration, err := parseDuration(text)
		v.SetInt(int64(duration))
		return err
	case string:
		v.SetString(text)
		return nil
	case bool:
		b, ok := booleans[text]
		v.SetBool(b)
		if !ok {
			return fmt.Errorf("wants true or false")
		}
		return nil
	case int64:
		whole, err := parseWhole(text)
		if err != nil {
			return err
		}
		v.SetInt(whole)
		return within(float64(whole), tag)
	case float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("wants a number")
		}
		v.SetFloat(f)
		return within(f, tag)
	}
	panic(fmt.Sprintf("config: no scalar %s", v.Type()))
}

// booleans are those of the YAML 1.2 core schema.
var booleans = map[string]bool{"true": true, "True": true, "TRUE": true, "false": false, "False": false, "FALSE": false}

// within checks a number against the min and max of a tag. A NaN is outside.
func within(f float64, tag reflect.StructTag) error {
	if low, err := strconv.ParseFloat(tag.Get("min"), 64); err == nil && !(f >= low) {
		return fmt.Errorf("must not be below %s", tag.Get("min"))
	}
	if high, err := strconv.ParseFloat(tag.Get("max"), 64); err == nil && !(f <= high) {
		return fmt.Errorf("must not be above %s", tag.Get("max"))
	}
	return nil
}
