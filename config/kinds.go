package config

import (
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// tagsOf lists the YAML types that a scalar of v's Go type may have in a file.
// A plain date is text too: YAML 1.2 has no time type.
func tagsOf(v reflect.Value) []string {
	switch v.Addr().Interface().(type) {
	case *Size, *Share, *Settle, *time.Duration:
		return []string{"!!str", "!!int"}
	case *bool:
		return []string{"!!bool"}
	case *int64:
		return []string{"!!int"}
	case *float64:
		return []string{"!!int", "!!float"}
	case *Header, *Trailing:
		return []string{"!!str", "!!bool"}
	case *Default:
		return []string{"!!str", "!!timestamp", "!!int", "!!float", "!!bool"}
	}
	return []string{"!!str", "!!timestamp"}
}

// wants says what a scalar of v's Go type is, to complete "wants …".
func wants(v reflect.Value) string {
	if own, ok := v.Addr().Interface().(value); ok {
		return own.wants()
	}
	if c, ok := v.Interface().(choice); ok {
		switch words := c.words(); len(words) {
		case 0:
			return "nothing in this version"
		case 1:
			return words[0]
		default:
			return "one of " + strings.Join(words, ", ")
		}
	}
	switch v.Interface().(type) {
	case time.Duration:
		return "a duration like 72h, 14m or 5s"
	case bool:
		return "true or false"
	case int64:
		return "a whole number"
	case float64:
		return "a number"
	}
	return "text"
}

// describe says what a node is, without its value, to complete "found …".
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
	default:
		return "nothing"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "true or false"
	case "!!int":
		return "a whole number"
	case "!!float":
		return "a number"
	}
	return "text"
}

// quoteHint tells how text that looks like something else is written.
func quoteHint(n *yaml.Node, v reflect.Value) string {
	if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!str" && tagsOf(v)[0] == "!!str" && len(tagsOf(v)) == 2 && tagsOf(v)[1] == "!!timestamp" {
		return "quote it if it is meant as text"
	}
	return ""
}
