package record

import (
	"fmt"
	"slices"

	"batcher/schema"
)

// known are the keys of the columns that a table has or is to have, before any object
// is read.
type known struct {
	keys  map[string]bool
	folds map[string]bool // what keys that are not marked have in common with others
	names map[string]bool // what texts of a header have in common with others that have these keys
}

// knownOf are those of a published schema and of what is pinned.
func knownOf(table *schema.Schema, pins []schema.Pin) known {
	k := known{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, f := range table.Fields {
		k.add(f.Key)
	}
	for _, p := range pins {
		k.add(p.Place[0].Key)
		for _, place := range p.Places {
			if len(place) == 1 {
				k.add(place[0].Key)
			}
		}
	}
	return k
}

func (k known) add(key string) {
	if key == "" {
		return
	}
	k.keys[key] = true
	fold := schema.Fold(schema.KeyText(key))
	if schema.KeyText(key) == key {
		k.folds[fold] = true
	}
	if _, _, made := schema.CellOf(key); !made {
		k.names[fold] = true
	}
}

// has says whether a text of a header has a column.
func (k known) has(text string) bool { return k.names[schema.Fold(text)] }

// numbers says whether there are columns for as many cells without a header.
func (k known) numbers(cells int) bool {
	for i := range cells {
		if !k.keys[schema.MadeUpKey("", i+1)] && !k.folds[columnKey(i)] {
			return false
		}
	}
	return true
}

// header returns the keys of a header's texts. A text that stands there twice, and an
// empty one, have keys that no text has; where the table has a column that an earlier
// program named for them, they keep that.
func (k known) header(texts []string) []string {
	keys, times := make([]string, len(texts)), map[string]int{}
	earlier := earlierKeys(texts)
	for i, text := range texts {
		times[text]++
		switch {
		case text == "":
			keys[i] = k.madeUp(schema.MadeUpKey("", i+1), earlier[i])
		case times[text] > 1:
			keys[i] = k.madeUp(schema.MadeUpKey(text, times[text]), earlier[i])
		case k.keys[text]:
			keys[i] = text
		default:
			keys[i] = schema.GivenKey(text)
		}
	}
	return keys
}

// madeUp returns a key that was made up, as it is now or as it was.
func (k known) madeUp(now, earlier string) string {
	if !k.keys[now] && k.folds[schema.Fold(earlier)] {
		return earlier
	}
	return now
}

// earlierKeys are the keys that earlier programs gave a header: a text that stood there
// twice was told apart by the next number that made no text of the header, an empty
// one became column_N.
func earlierKeys(texts []string) []string {
	taken := map[string]bool{}
	for _, text := range texts {
		taken[text] = true
	}
	given, numbers := map[string]bool{}, map[string]int{}
	keys := make([]string, len(texts))
	for i, name := range texts {
		key, again := name, given[name]
		if name == "" {
			name = columnKey(i)
			key, again = name, taken[name]
		}
		for n := max(2, numbers[name]); again; n++ {
			key = fmt.Sprintf("%s_%d", name, n)
			again, numbers[name] = given[key] || taken[key], n+1
		}
		given[key] = true
		keys[i] = key
	}
	return keys
}

// kinOf returns the places of keys that differ from another one in case alone.
func kinOf(keys [][]byte) []int {
	folds := map[string][]int{}
	for i, key := range keys {
		fold := schema.Fold(string(key))
		folds[fold] = append(folds[fold], i)
	}
	var kin []int
	for _, places := range folds {
		if len(places) > 1 {
			kin = append(kin, places...)
		}
	}
	slices.Sort(kin)
	return kin
}
