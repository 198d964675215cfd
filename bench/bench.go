// Package bench makes the events that batcher's speed is measured with, and
// measures the stages of its data path.
//
// Duty: the same bytes for the same shape, seed and size; benchmarks of cutting,
// scanning, encoding and compressing alone and together. Whole processes are
// compared with other programs by cmd/compare.
//
// Invariants: nothing here is drawn from a clock or the system's randomness.
//
// It never judges: a benchmark fails only when the work it measures is not done.
package bench

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"
)

// Shape is the form of the events.
type Shape string

// The shapes. What they hold is drawn, but like the events of a shop's web site
// and of a code forge: identifiers that never repeat, names that often do,
// nulls, missing keys, escapes, text.
const (
	Flat   Shape = "flat"   // 14 fields, 456 bytes each
	Nested Shape = "nested" // structs in lists in structs, 1.7 KB each; the payload depends on the type
	CSV    Shape = "csv"    // the flat fields without nulls' keys, under a header
)

// Write writes events of a shape until they take size bytes, and returns how
// many there are.
func Write(w io.Writer, shape Shape, seed uint64, size int64) (records int64, err error) {
	d := draw{Rand: rand.New(rand.NewPCG(seed, 7)), at: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	var event func(b []byte, n int64) []byte
	switch shape {
	case Flat:
		event = d.flat
	case Nested:
		event = d.nested
	case CSV:
		event = d.csv
	default:
		return 0, fmt.Errorf("no shape %q", shape)
	}
	out := bufio.NewWriterSize(w, 1<<20)
	b := make([]byte, 0, 64<<10)
	if shape == CSV {
		b = append(b, csvHeader...)
	}
	for written := int64(0); written < size; records++ {
		d.at = d.at.Add(time.Duration(d.IntN(2000)) * time.Microsecond)
		b = append(event(b, records), '\n')
		written += int64(len(b))
		if _, err := out.Write(b); err != nil {
			return records, err
		}
		b = b[:0]
	}
	return records, out.Flush()
}

// draw draws events one after the other.
type draw struct {
	*rand.Rand
	at time.Time
}

// words are what text is made of; some need escapes or more than one byte.
var words = []string{
	"fix", "add", "update", "remove", "refactor", "tests", "docs", "parser", "scheduler", "storage", "client", "server",
	"timeout", "retry", "cache", "index", "buffer", "stream", "schema", "column", "reader", "writer", "commit", "merge",
	"branch", "release", "version", "bump", "dependency", "config", "option", "flag", "error", "handling", "for", "the",
	"in", "of", "to", "when", "with", "and", "not", "empty", "null", "unicode", `caf\u00e9`, `na\u00efve`, `\"quoted\"`,
	`path\\to`, "日本語", "—",
}

// plainWords is how many of the words stand for themselves in URLs.
const plainWords = 40

// pick draws one of a few.
func (d *draw) pick(from []string) string { return from[d.IntN(len(from))] }

// skewed draws from [0, n), small numbers far more often.
func (d *draw) skewed(n int) int {
	f := d.Float64()
	return int(f * f * f * float64(n))
}

// favorite draws one of a few, the first ones far more often.
func (d *draw) favorite(from []string) string { return from[d.skewed(len(from))] }

// hex appends n hexadecimal digits.
func (d *draw) hex(b []byte, n int) []byte {
	for n > 0 {
		v := d.Uint64()
		for k := 0; k < 16 && n > 0; k++ {
			b = append(b, "0123456789abcdef"[v&15])
			v >>= 4
			n--
		}
	}
	return b
}

// uuid appends a random UUID.
func (d *draw) uuid(b []byte) []byte {
	b = append(d.hex(b, 8), '-')
	b = append(d.hex(b, 4), "-4"...)
	b = append(d.hex(b, 3), "-a"...)
	b = append(d.hex(b, 3), '-')
	return d.hex(b, 12)
}

// text appends n words.
func (d *draw) text(b []byte, n int) []byte {
	for k := range n {
		if k > 0 {
			b = append(b, ' ')
		}
		b = append(b, d.pick(words)...)
	}
	return b
}

// key appends a separator, a key and a colon.
func key(b []byte, name string) []byte {
	if b[len(b)-1] != '{' && b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	b = append(append(b, '"'), name...)
	return append(b, `":`...)
}

// str appends a key and a string.
func str(b []byte, name, value string) []byte {
	b = append(append(key(b, name), '"'), value...)
	return append(b, '"')
}

// num appends a key and a whole number.
func num(b []byte, name string, value int64) []byte {
	return strconv.AppendInt(key(b, name), value, 10)
}
