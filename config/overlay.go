package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// envPrefix begins the variables that override keys.
const envPrefix = "BATCHER_"

// overlay lays the environment over the file and --set over both. What it puts
// into the tree remembers where it came from.
func (d *decoder) overlay(root *yaml.Node) {
	for _, name := range d.overrides() {
		text, _ := d.opts.getenv(name)
		path := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, envPrefix), "__", "."))
		d.set(root, "environment variable "+name, path, text)
	}
	for _, assignment := range d.opts.Set {
		path, text, ok := strings.Cut(assignment, "=")
		if !ok || path == "" {
			d.errs = append(d.errs, &Error{File: "--set", Msg: "wants key.path=value"})
			continue
		}
		d.set(root, "--set", path, text)
	}
}

// overrides returns the names of the set variables that override a key, sorted.
// A variable is one if what follows BATCHER_ begins with a key of the top
// level; the rest must then be right.
func (d *decoder) overrides() []string {
	top := fieldKeys(reflect.TypeFor[Pipeline]())
	names := map[string]bool{}
	for _, entry := range d.opts.Environ {
		name, _, _ := strings.Cut(entry, "=")
		if _, set := d.opts.getenv(name); !set || !strings.HasPrefix(name, envPrefix) {
			continue
		}
		first, rest, nested := strings.Cut(strings.TrimPrefix(name, envPrefix), "__")
		if slices.Contains(top, strings.ToLower(first)) {
			names[name] = true
			continue
		}
		if nested || nearest(first, top) != "" {
			d.opts.Warn(fmt.Sprintf("environment variable %s names no key of a pipeline file and is ignored%s", name, didYouMean(first, rest, top)))
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func didYouMean(first, rest string, top []string) string {
	near := nearest(first, top)
	if near == "" {
		return ""
	}
	name := envPrefix + strings.ToUpper(near)
	if rest != "" {
		name += "__" + rest
	}
	return "; did you mean " + name + "?"
}

// set puts a value at a key path of the tree and makes the mappings on the way.
func (d *decoder) set(root *yaml.Node, origin, path, text string) {
	leaf := d.outside(origin, path, text)
	if leaf == nil {
		return
	}
	at := root
	names := strings.Split(path, ".")
	for i, name := range names {
		slot := valueSlot(at, name)
		if slot == nil {
			keyNode := d.own(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, origin)
			at.Content = append(at.Content, keyNode, d.own(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, origin))
			slot = &at.Content[len(at.Content)-1]
		}
		if i == len(names)-1 {
			*slot = leaf
			return
		}
		if (*slot).Kind != yaml.MappingNode {
			d.errs = append(d.errs, &Error{File: origin, Key: path, Msg: "cannot be set: " + strings.Join(names[:i+1], ".") + " is not a mapping in the file"})
			return
		}
		at = *slot
	}
}

// valueSlot returns where a mapping holds the value of a key, or nil.
func valueSlot(n *yaml.Node, name string) **yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return &n.Content[i+1]
		}
	}
	return nil
}

// outside makes a node of text from outside the file. Text that begins like a
// list, a mapping or a quoted text is read as YAML; any other is taken as it is.
func (d *decoder) outside(origin, path, text string) *yaml.Node {
	if !strings.ContainsAny(text[:min(1, len(text))], `[{"'`) {
		leaf := d.own(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}, origin)
		d.inspect(leaf, path)
		return leaf
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) != 1 {
		d.errs = append(d.errs, &Error{File: origin, Key: path, Msg: "begins like a YAML list, mapping or quoted text, but is none"})
		return nil
	}
	leaf := d.own(doc.Content[0], origin)
	d.inspect(leaf, path)
	return leaf
}

// own marks a node and all below it as coming from outside the file.
func (d *decoder) own(n *yaml.Node, origin string) *yaml.Node {
	d.origin[n] = origin
	for _, child := range n.Content {
		d.own(child, origin)
	}
	return n
}
