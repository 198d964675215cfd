package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"time"
	"unicode/utf8"

	"batcher/column"
	"batcher/manifest"
	"batcher/schema"
)

// statistics proves what a manifest says of columns of files that were not read for
// their rows.
func (w *walk) statistics(ctx context.Context, seq manifest.Seq, list []manifest.File, want *schema.Schema) error {
	if len(want.Fields) == 0 {
		return nil
	}
	for i := range list {
		held := hold(&list[i], want)
		if len(held) == 0 {
			continue
		}
		_, err := w.blocks(ctx, list[i], want, func(b *column.Block) error { held.add(b); return nil })
		if err != nil && unproved(err) {
			return err
		}
		if err == nil { // damage is found where the rows are read
			w.held(seq, &list[i], held)
		}
	}
	return nil
}

// held reports the columns of a file of which its manifest says other things than its
// rows do. A reader skips a file by its statistics: it would never see the rows.
func (w *walk) held(seq manifest.Seq, f *manifest.File, columns holding) {
	for _, e := range columns {
		if wrong := e.wrong(); wrong != "" {
			w.violation("I21", seq, "%s: the %s of column %d, %d nulls and %s to %s, does not follow from its rows",
				f.Key, wrong, e.said.ID, e.said.Nulls, e.said.Min, e.said.Max)
		}
	}
}

// without leaves out of a schema the columns that another one has.
func without(s, other *schema.Schema) *schema.Schema {
	out := &schema.Schema{LastID: s.LastID}
	for _, f := range s.Fields {
		if !slices.ContainsFunc(other.Fields, func(o schema.Field) bool { return o.ID == f.ID }) {
			out.Fields = append(out.Fields, f)
		}
	}
	return out
}

// extremes is what the rows of a file have in one column, beside what is said of it.
type extremes struct {
	said   *manifest.ColumnStats
	leaf   schema.Leaf
	at     int // of the leaf in a block
	rows   int64
	values int64
	lo, hi []byte // the least and the greatest value, in Plain form
	nan    bool
}

// holding are the columns of a file of which something is said.
type holding []*extremes

// hold begins to look at the columns of a file that are read under a schema.
func hold(f *manifest.File, want *schema.Schema) (h holding) {
	for at, leaf := range want.Leaves() {
		for i := range f.Columns {
			if f.Columns[i].ID == leaf.Field.ID {
				h = append(h, &extremes{said: &f.Columns[i], leaf: leaf, at: at})
			}
		}
	}
	return h
}

// add takes in a block.
func (h holding) add(b *column.Block) {
	for _, e := range h {
		v := b.Columns[e.at]
		e.rows += int64(b.Rows)
		if e.ordered() {
			e.extend(v)
		}
		e.values += int64(v.Values)
	}
}

// ordered says whether the column has a least and a greatest value.
func (e *extremes) ordered() bool {
	switch e.leaf.Field.Type.Kind {
	case schema.Int32, schema.Int64, schema.Date, schema.Timestamp, schema.Float64, schema.Decimal, schema.String:
		return e.leaf.MaxRep == 0
	}
	return false
}

// extend takes in the values of a vector.
func (e *extremes) extend(v *column.Vector) {
	width, rest := column.Width(v.Kind), v.Plain
	for range v.Values {
		size := width
		if size == 0 {
			size = int(binary.LittleEndian.Uint32(rest))
			rest = rest[4:]
		}
		value := rest[:size]
		rest = rest[size:]
		switch {
		case v.Kind == schema.Float64 && math.IsNaN(float(value)):
			e.nan = true
		case e.lo == nil:
			e.lo, e.hi = bytes.Clone(value), bytes.Clone(value)
		case compare(v.Kind, value, e.lo) < 0:
			e.lo = append(e.lo[:0], value...)
		case compare(v.Kind, value, e.hi) > 0:
			e.hi = append(e.hi[:0], value...)
		}
	}
}

// compare orders two values of a kind: numbers by value, strings by bytes.
func compare(k schema.Kind, a, b []byte) int {
	switch k {
	case schema.Float64:
		return cmp.Compare(float(a), float(b))
	case schema.Decimal:
		return cmp.Or(cmp.Compare(int8(a[0]), int8(b[0])), bytes.Compare(a[1:], b[1:]))
	case schema.String:
		return bytes.Compare(a, b)
	}
	return cmp.Compare(whole(a), whole(b))
}

// whole is a number of 4 or 8 bytes.
func whole(v []byte) int64 {
	if len(v) == 4 {
		return int64(int32(binary.LittleEndian.Uint32(v)))
	}
	return int64(binary.LittleEndian.Uint64(v))
}

func float(v []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(v)) }

// wrong names what is said of the column and does not hold; "" if all holds. That a
// minimum or a maximum is not given is never wrong: a reader then has to look.
func (e *extremes) wrong() string {
	given := e.said.Min != nil || e.said.Max != nil
	switch {
	case e.leaf.MaxRep > 0:
		return "place in a list or map"
	case e.said.Nulls != e.rows-e.values:
		return "number of nulls"
	case given && (!e.ordered() || e.values == 0 || e.nan):
		return "range"
	case e.said.Min != nil && !e.says(e.said.Min, least):
		return "minimum"
	case e.said.Max != nil && !e.says(e.said.Max, greatest):
		return "maximum"
	}
	return ""
}

// end is one of the two ends of a range.
type end uint8

const (
	least end = iota
	greatest
)

// says whether JSON in the form of docs/FORMAT.md names an end of the values, which
// it may place further out by the rest of a millisecond or of a decimal behind its
// first 15 digits, and of a least string behind its first 32 characters.
func (e *extremes) says(text json.RawMessage, which end) bool {
	v := [...][]byte{least: e.lo, greatest: e.hi}[which]
	switch t := e.leaf.Field.Type; t.Kind {
	case schema.Float64:
		var n float64
		return json.Unmarshal(text, &n) == nil && n == float(v)
	case schema.Decimal:
		n, ok := new(big.Rat).SetString(string(text))
		if !ok {
			return false
		}
		value := decimal(v, t.Scale)
		out := n.Sub(n, value)
		if which == least {
			out.Neg(out)
		}
		return out.Sign() == 0 || t.Scale > 0 && out.Sign() > 0 && out.Cmp(rest(value)) < 0
	case schema.String:
		var s string
		if json.Unmarshal(text, &s) != nil {
			return false
		}
		return s == string(v) || which == least && utf8.RuneCountInString(s) == 32 && bytes.HasPrefix(v, []byte(s))
	case schema.Date:
		day, err := time.Parse(`"2006-01-02"`, string(text))
		return err == nil && day.Equal(time.Unix(whole(v)*86400, 0))
	case schema.Timestamp:
		at, err := time.Parse(`"2006-01-02T15:04:05.000Z"`, string(text))
		out := at.UnixMicro() - whole(v)
		if which == least {
			out = -out
		}
		return err == nil && 0 <= out && out < 1000
	}
	var n int64
	return json.Unmarshal(text, &n) == nil && n == whole(v)
}

// rest is what the last of 15 digits of a value stands for, or more.
func rest(value *big.Rat) *big.Rat {
	return new(big.Rat).Mul(new(big.Rat).Abs(value), big.NewRat(1, 1e14))
}

// decimal is a value with so many digits behind the point.
func decimal(v []byte, scale int8) *big.Rat {
	n := new(big.Int).SetBytes(v)
	if int8(v[0]) < 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 8*uint(len(v))))
	}
	return new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
}
