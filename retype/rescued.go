package retype

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"batcher/column"
	"batcher/record"
)

// member is one value of _rescued.
type member struct {
	path  string
	raw   []byte
	taken bool
}

// rescuedRow is _rescued of one row, where it is not null.
type rescuedRow struct {
	row     int
	members []*member
	changed bool
}

// parseRescued reads the JSON object of one row.
func parseRescued(row int, text []byte) (*rescuedRow, error) {
	bad := func(err error) (*rescuedRow, error) {
		return nil, fmt.Errorf("_rescued is not as batcher writes it: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return bad(fmt.Errorf("no JSON object (%w)", err))
	}
	out := &rescuedRow{row: row}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return bad(err)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return bad(err)
		}
		out.members = append(out.members, &member{path: key.(string), raw: raw})
	}
	if _, err := d.Token(); err != nil {
		return bad(err)
	}
	return out, nil
}

// at returns the value of a path that was not taken, or nil.
func (r *rescuedRow) at(path string) *member {
	if r == nil {
		return nil
	}
	for _, m := range r.members {
		if !m.taken && m.path == path {
			return m
		}
	}
	return nil
}

// inside says whether there is a value from inside of a path.
func (r *rescuedRow) inside(path string) bool {
	if r == nil {
		return false
	}
	for _, m := range r.members {
		if !m.taken && isInside(m.path, path) {
			return true
		}
	}
	return false
}

func isInside(path, of string) bool {
	return len(path) > len(of) && strings.HasPrefix(path, of) && (path[len(of)] == '.' || path[len(of)] == '[')
}

// take takes a value out of _rescued.
func (r *rescuedRow) take(m *member) {
	m.taken, r.changed = true, true
}

// giveBack puts a value that was taken, or a new one, into _rescued.
func (r *rescuedRow) giveBack(path string, raw []byte) {
	r.members = append(r.members, &member{path: path, raw: bytes.Clone(raw)})
	r.changed = true
}

// text is what becomes of _rescued; nil when nothing is left.
func (r *rescuedRow) text() []byte {
	var out []byte
	for _, m := range r.members {
		if m.taken {
			continue
		}
		if out == nil {
			out = append(out, '{')
		} else {
			out = append(out, ',')
		}
		out = record.AppendQuoted(out, []byte(m.path))
		out = append(append(out, ':'), m.raw...)
	}
	if out == nil {
		return nil
	}
	return append(out, '}')
}

// rescuedVector is _rescued of the block after the change.
func (v *values) rescuedVector(old *column.Vector) *column.Vector {
	changed := map[int]*rescuedRow{}
	for row, r := range v.rescued {
		if r.changed {
			changed[row] = r
		}
	}
	if len(changed) == 0 {
		return old
	}
	out := &column.Vector{Kind: old.Kind, MaxDef: old.MaxDef}
	off := 0
	for row, def := range old.Def {
		var text []byte
		if def == old.MaxDef {
			n := int(binary.LittleEndian.Uint32(old.Plain[off:]))
			text = old.Plain[off+4 : off+4+n]
			off += 4 + n
		}
		if r := changed[row]; r != nil {
			text = r.text()
		}
		if text == nil {
			out.Def = append(out.Def, 0)
			continue
		}
		out.Def = append(out.Def, out.MaxDef)
		out.Values++
		out.Plain = append(binary.LittleEndian.AppendUint32(out.Plain, uint32(len(text))), text...)
	}
	return out
}
