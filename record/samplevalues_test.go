package record_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"batcher/schema"
)

// objects parses the rows.
func (s *seen) objects() []map[string]any {
	out := make([]map[string]any, len(s.rows))
	for i, row := range s.rows {
		v, err := parse(row)
		if err != nil {
			panic(err) // column.Cursor writes JSON
		}
		out[i] = v.(map[string]any)
	}
	return out
}

// byKey returns the columns by the keys that they were received under.
func (s *seen) byKey() map[string]schema.Field {
	out := map[string]schema.Field{}
	for _, f := range s.schema.Fields[3:] {
		out[f.Key] = f
	}
	return out
}

// extremes are the least and greatest of the values of a column, and how many
// are null.
type extremes struct {
	nulls      int64
	texts      int64 // of type string and not empty
	empty      int64
	least      *big.Rat
	most       *big.Rat
	first      string
	last       string
	numberless int64 // values that are no number
}

func (s *seen) extremes(rows []map[string]any, f schema.Field) extremes {
	var x extremes
	for _, row := range rows {
		v := row[f.Name]
		if v == nil {
			x.nulls++
			continue
		}
		text, isText := v.(string)
		if n, ok := v.(json.Number); ok {
			text = string(n)
		}
		if isText {
			if text == "" {
				x.empty++
			}
			if x.texts == 0 || text < x.first {
				x.first = text
			}
			if x.texts == 0 || text > x.last {
				x.last = text
			}
			x.texts++
		}
		r, ok := new(big.Rat).SetString(text)
		if !ok || len(text) > 400 {
			x.numberless++
			continue
		}
		if x.least == nil || r.Cmp(x.least) < 0 {
			x.least = r
		}
		if x.most == nil || r.Cmp(x.most) > 0 {
			x.most = r
		}
	}
	return x
}

// sameNumber compares as a double does where one of them was read as one.
func sameNumber(got *big.Rat, want string) bool {
	w, ok := new(big.Rat).SetString(want)
	if !ok || got == nil {
		return ok == (got != nil)
	}
	if got.Cmp(w) == 0 {
		return true
	}
	g, _ := got.Float64()
	f, _ := w.Float64()
	return g == f && !math.IsInf(f, 0) && strings.ContainsAny(want, ".eE") || float32(g) == float32(f) && strings.ContainsAny(want, ".e")
}

// fields compares nulls and extremes with what Python saw under each key.
func (s *seen) fields(want map[string]truthField, k *sums) error {
	if len(s.dead) > 0 || len(s.notes.Misfits) > 0 {
		return nil // what Python counted is not all in the columns
	}
	columns, rows := s.byKey(), s.objects()
	for key, w := range want {
		f, ok := columns[key]
		if !ok {
			if w.Null+w.Missing != int64(len(rows)) && w.Types["null"] != int64(len(rows)) {
				return fmt.Errorf("no column for %q", key)
			}
			continue
		}
		x := s.extremes(rows, f)
		k.facts++
		if x.nulls != w.Null+w.Missing {
			return fmt.Errorf("%s: %d nulls, not %d", key, x.nulls, w.Null+w.Missing)
		}
		if onlyOf(w.Types, "int", "float", "null") && w.Min != nil && x.numberless == 0 {
			k.facts += 2
			if !sameNumber(x.least, strings.Trim(string(w.Min), `"`)) || !sameNumber(x.most, strings.Trim(string(w.Max), `"`)) {
				return fmt.Errorf("%s: from %v to %v, not from %s to %s", key, x.least, x.most, w.Min, w.Max)
			}
		}
		if onlyOf(w.Types, "str", "null") && w.Min != nil {
			w.MinString, w.MaxString = unquote(w.Min), unquote(w.Max)
		}
		if onlyOf(w.Types, "string", "str", "null") && w.MinString != nil && f.Type.Kind != schema.Timestamp {
			k.facts += 2
			if !sameText(x.first, *w.MinString) || !sameText(x.last, *w.MaxString) {
				return fmt.Errorf("%s: from %q to %q, not from %q to %q", key, x.first, x.last, *w.MinString, *w.MaxString)
			}
		}
	}
	return nil
}

func unquote(text json.RawMessage) *string {
	var s string
	if json.Unmarshal(text, &s) != nil {
		return nil
	}
	return &s
}

// sameText compares with text that the truth may have cut.
func sameText(got, want string) bool {
	head, cut := strings.CutSuffix(want, "…")
	return got == want || cut && strings.HasPrefix(got, head)
}

func onlyOf(types map[string]int64, names ...string) bool {
	n := 0
	for _, name := range names {
		if types[name] > 0 {
			n++
		}
	}
	return n == len(types)
}

// duck compares columns with those of the same name that DuckDB read from as
// many rows.
func (s *seen) duck(want duckTruth, k *sums) error {
	if want.Error != "" || len(s.dead) > 0 || want.Count != int64(len(s.rows)) {
		return nil
	}
	columns, rows := s.byKey(), s.objects()
	for key, w := range want.Columns {
		f, ok := columns[key]
		if !ok {
			continue
		}
		x := s.extremes(rows, f)
		k.facts++
		if text := f.Type.Kind == schema.String && w.Type != "VARCHAR"; !text && x.nulls != w.Nulls && x.nulls+x.empty != w.Nulls && (w.Type != "VARCHAR" || f.Type.Kind == schema.String || x.nulls <= w.Nulls) {
			return fmt.Errorf("%s: %d nulls, DuckDB has %d", key, x.nulls, w.Nulls)
		}
		if w.Min == nil || w.Max == nil {
			continue
		}
		switch {
		case f.Type.Kind == schema.String && w.Type == "DATE" && x.first == *w.Min && x.last == *w.Max:
			return fmt.Errorf("%s: its dates are text", key)
		case f.Type.Kind == schema.Int64 || f.Type.Kind == schema.Float64 || f.Type.Kind == schema.Decimal || f.Type.Kind == schema.Int32:
			if !isNumber(*w.Min) || !isNumber(*w.Max) {
				continue
			}
			k.facts += 2
			if !sameNumber(x.least, *w.Min) || !sameNumber(x.most, *w.Max) {
				return fmt.Errorf("%s: from %v to %v, DuckDB has %s to %s", key, x.least, x.most, *w.Min, *w.Max)
			}
		case (f.Type.Kind == schema.String && w.Type == "VARCHAR" || f.Type.Kind == schema.Date && w.Type == "DATE") && x.empty == 0:
			k.facts += 2
			if !sameText(x.first, *w.Min) || !sameText(x.last, *w.Max) {
				return fmt.Errorf("%s: from %q to %q, DuckDB has %q to %q", key, x.first, x.last, *w.Min, *w.Max)
			}
		}
	}
	return nil
}

func isNumber(s string) bool {
	f, err := strconv.ParseFloat(s, 64)
	return err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// eachValue holds every value of every record against encoding/json.
func (s *seen) eachValue(f *truth, text string, k *sums) error {
	if strings.HasPrefix(f.Text.BOM, "utf-16") || f.Text.BOM == "" && text == "" || s.asLines() {
		return nil
	}
	k.values += s.leaves()
	return checkBatch(s.outcome, text)
}

// asLines says whether the rows are lines of text.
func (s *seen) asLines() bool {
	return len(s.schema.Fields) == 4 && s.schema.Fields[3].Key == "line" && len(s.rows) > 0
}

// leaves counts the values that are not null in all rows.
func (s *seen) leaves() (n int64) {
	for _, row := range s.objects() {
		n += leavesOf(row) - 2 // without _source and _offset
	}
	return n
}

func leavesOf(v any) (n int64) {
	switch v := v.(type) {
	case nil:
		return 0
	case map[string]any:
		for _, e := range v {
			n += leavesOf(e)
		}
		return n
	case []any:
		for _, e := range v {
			n += leavesOf(e)
		}
		return n
	}
	return 1
}

// lineValues holds each row of text against the line at its offset.
func (s *seen) lineValues(f *truth, text string, k *sums) error {
	if strings.HasPrefix(f.Text.BOM, "utf-16") || !s.asLines() {
		return nil
	}
	for _, row := range s.objects() {
		at, err := row["_offset"].(json.Number).Int64()
		if err != nil {
			return err
		}
		want, _, _ := strings.Cut(text[at:], "\n")
		k.values++
		if want = strings.TrimSuffix(want, "\r"); row["line"] != want {
			return fmt.Errorf("the line at %d is %q, not %q", at, row["line"], want)
		}
	}
	return nil
}

// csvValues holds each cell against encoding/csv, if that reads the sample
// under a delimiter that makes as many columns.
func (s *seen) csvValues(f *truth, text string, k *sums) error {
	if !f.Text.ValidUTF8 || len(s.dead) > 0 || s.asLines() {
		return nil
	}
	text = strings.TrimPrefix(text, "\ufeff")
	for _, delimiter := range ",;\t|:" {
		r := csv.NewReader(strings.NewReader(text))
		r.Comma, r.FieldsPerRecord = delimiter, -1
		rows, err := r.ReadAll()
		if err != nil || len(rows) != len(s.rows)+1 || !s.hasColumns(rows[0]) {
			continue
		}
		return s.cells(rows, k)
	}
	return nil
}

// hasColumns says whether each column was received under one of the keys.
func (s *seen) hasColumns(header []string) bool {
	keys := map[string]bool{}
	for i, h := range header {
		h = strings.TrimSpace(h)
		if header[i] = h; keys[h] || h == "" {
			return false // renamed by rules that other tests hold
		}
		keys[h] = true
	}
	for key := range s.byKey() {
		if !keys[key] {
			return false
		}
	}
	return true
}

func (s *seen) cells(rows [][]string, k *sums) error {
	columns := s.byKey()
	for i, row := range s.objects() {
		for j, cell := range rows[i+1] {
			if j == len(rows[0]) && cell == "" {
				break // a delimiter at the end
			}
			f, known := columns[rows[0][j]]
			if known && row[f.Name] != nil {
				k.values++
			}
			if !known && cell != "" || known && !sameCell(f.Type.Kind, row[f.Name], cell) {
				return fmt.Errorf("row %d: %s is %v, not %q", i, rows[0][j], row[f.Name], cell)
			}
		}
	}
	return nil
}

// sameCell says whether a value is the text of a cell. encoding/csv rewrites
// CRLF inside of quotes.
func sameCell(kind schema.Kind, got any, cell string) bool {
	switch v := got.(type) {
	case nil:
		return cell == "" || kind != schema.String && slices.Contains([]string{"NULL", "null", "NA", "N/A", "None", "none", `\N`}, strings.TrimSpace(cell))
	case bool:
		return strings.EqualFold(strconv.FormatBool(v), cell)
	case json.Number:
		if kind != schema.Float64 {
			g, _ := new(big.Rat).SetString(string(v))
			w, ok := new(big.Rat).SetString(strings.Trim(cell, " \t"))
			return ok && g.Cmp(w) == 0
		}
		f, err := v.Float64()
		w, also := strconv.ParseFloat(strings.Trim(cell, " \t"), 64)
		return err == nil && also == nil && f == w
	case string:
		if kind == schema.Timestamp {
			g, ok := instant(v)
			w, also := instant(cell)
			return ok && also && g.Equal(w.Truncate(1000))
		}
		return strings.ReplaceAll(v, "\r\n", "\n") == cell
	}
	return false
}
