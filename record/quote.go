package record

// AppendQuoted appends s as a JSON string with nothing escaped but what has to be.
func AppendQuoted(dst, s []byte) []byte { return appendQuoted(dst, s) }

// AppendKey appends a step to a place of _rescued: ["key"], the value of a key
// that is no column's name.
func AppendKey(place, key []byte) []byte { return appendKey(place, key) }
