package record_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"batcher/record"
	"batcher/schema"
)

// checkBatch holds an outcome against encoding/json: every record is a row or a
// dead letter, dead letters deserve it, and each row and its _rescued hold every
// value of its line.
func checkBatch(out *outcome, text string) error {
	if n := int64(len(out.rows) + len(out.dead)); n != out.results[0].Records {
		return fmt.Errorf("%d rows and %d dead letters of %d records", len(out.rows), len(out.dead), out.results[0].Records)
	}
	for _, d := range out.dead {
		if d.Code == "syntax" && json.Valid(d.Raw) && d.Length == int64(len(d.Raw)) {
			return fmt.Errorf("%q is valid JSON but %s", d.Raw, d.Message)
		}
	}
	for _, row := range out.rows {
		var head struct {
			Offset  int64   `json:"_offset"`
			Rescued *string `json:"_rescued"`
		}
		if err := json.Unmarshal([]byte(row), &head); err != nil {
			return fmt.Errorf("row %s: %w", row, err)
		}
		line := valueAt(text, head.Offset)
		if err := checkRow(out.schema, line, row, head.Rescued); err != nil {
			return fmt.Errorf("line %q became %s: %w", line, row, err)
		}
	}
	return nil
}

// valueAt returns the JSON value that begins at an offset.
func valueAt(text string, at int64) string {
	d := json.NewDecoder(strings.NewReader(text[at:]))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return err.Error()
	}
	return string(raw)
}

func parse(s string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func checkRow(s *schema.Schema, line, row string, rescued *string) error {
	want, err := parse(line)
	if err != nil {
		return err
	}
	got, err := parse(row)
	if err != nil {
		return err
	}
	o := oracle{rescued: map[string]any{}}
	if rescued != nil {
		r, err := parse(*rescued)
		if err != nil {
			return err
		}
		o.rescued = r.(map[string]any)
	}
	if err := o.object("", s.Fields, want.(map[string]any), got.(map[string]any)); err != nil {
		return err
	}
	if o.used != len(o.rescued) {
		return fmt.Errorf("_rescued holds %v, of which %d were missing", o.rescued, o.used)
	}
	return nil
}

// oracle compares one record with its row.
type oracle struct {
	rescued map[string]any
	used    int
}

// gone says whether the value at path stands in _rescued as received.
func (o *oracle) gone(path string, want any) error {
	r, ok := o.rescued[path]
	if !ok || !reflect.DeepEqual(r, want) {
		return fmt.Errorf("%s: %v is neither in the row nor in _rescued", path, want)
	}
	o.used++
	return nil
}

func (o *oracle) object(path string, fields []schema.Field, want, got map[string]any) error {
	byKey := map[string]schema.Field{}
	for _, f := range fields {
		if f.Key != "" {
			byKey[f.Key] = f
		}
	}
	for key, w := range want {
		f, ok := byKey[key]
		if !ok {
			f, ok = alike(fields, want, key)
		}
		var err error
		switch {
		case ok:
			err = o.value(strings.TrimPrefix(path+"."+f.Name, "."), f.Type, w, got[f.Name])
		case w != nil:
			q, _ := json.Marshal(key)
			var plain any
			if json.Unmarshal(q, &plain) == nil {
				err = o.goneUnder(path, key, w)
			}
		}
		if err != nil {
			return err
		}
		delete(byKey, f.Key)
	}
	for _, f := range byKey {
		if got[f.Name] != nil {
			return fmt.Errorf("%s.%s: %v out of nothing", path, f.Name, got[f.Name])
		}
	}
	return nil
}

// alike returns the field for a key of an object that is no field's: the first whose
// key differs from it in case alone, unless the object has that key, or a lesser one
// that differs from it in case alone.
func alike(fields []schema.Field, object map[string]any, key string) (schema.Field, bool) {
	for _, f := range fields {
		if f.Key == "" || !strings.EqualFold(f.Key, key) {
			continue
		}
		for other := range object {
			own := slices.ContainsFunc(fields, func(o schema.Field) bool { return o.Key == other })
			if other == f.Key || !own && other < key && strings.EqualFold(other, key) {
				return schema.Field{}, false
			}
		}
		return f, true
	}
	return schema.Field{}, false
}

// goneUnder looks for an unknown key, whose spelling in the path may escape
// other characters than encoding/json does.
func (o *oracle) goneUnder(path, key string, want any) error {
	for p := range o.rescued {
		quoted, ok := strings.CutPrefix(p, path+"[")
		var k string
		if ok && json.Unmarshal([]byte(strings.TrimSuffix(quoted, "]")), &k) == nil && k == key {
			return o.gone(p, want)
		}
	}
	return fmt.Errorf("%s: key %q is lost", path, key)
}

func (o *oracle) value(path string, t schema.Type, want, got any) error {
	if want == nil {
		if got != nil {
			return fmt.Errorf("%s: null became %v", path, got)
		}
		return nil
	}
	if text, isText := want.(string); got == nil && isText && strings.Trim(text, " \t") == "" && t.Kind != schema.JSON && !t.Kind.IsNested() {
		if _, rescued := o.rescued[path]; !rescued {
			return nil // text that says nothing, in a column that is no text
		}
	}
	if got == nil {
		return o.gone(path, want)
	}
	switch t.Kind {
	case schema.Struct:
		w, ok := want.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: %v became a struct", path, want)
		}
		return o.object(path, t.Fields, w, got.(map[string]any))
	case schema.List:
		w, ok := want.([]any)
		g := got.([]any)
		if !ok || len(w) != len(g) {
			return fmt.Errorf("%s: %v became %v", path, want, got)
		}
		for i := range w {
			if err := o.value(fmt.Sprintf("%s[%d]", path, i), t.Fields[0].Type, w[i], g[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if !o.scalar(path, t.Kind, want, got) {
		return fmt.Errorf("%s: %v became %v", path, want, got)
	}
	return nil
}

// quantity is a number in text, but no identifier like 007.
var quantity = regexp.MustCompile(`^-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$`)

func (o *oracle) scalar(path string, k schema.Kind, want, got any) bool {
	number, isNumber := want.(json.Number)
	text, isText := want.(string)
	if isText && quantity.MatchString(strings.Trim(text, " \t")) { // a number in a string is one for columns of numbers
		number, isNumber = json.Number(strings.Trim(text, " \t")), true
	}
	switch k {
	case schema.Int64, schema.Int32, schema.Decimal:
		g, _ := new(big.Rat).SetString(string(got.(json.Number)))
		w, ok := new(big.Rat).SetString(string(number))
		return isNumber && ok && g.Cmp(w) == 0
	case schema.Bool:
		if isText {
			return strings.EqualFold(text, fmt.Sprint(got))
		}
	case schema.Float64:
		w, err := strconv.ParseFloat(string(number), 64)
		g, _ := got.(json.Number).Float64()
		if !isNumber || err != nil || g != w || math.Signbit(g) != math.Signbit(w) {
			return false
		}
		return keeps(w, string(number)) || o.gone(path, want) == nil
	case schema.String:
		if !isText {
			return got == fmt.Sprint(want)
		}
		return got == text
	case schema.Date:
		_, err := time.Parse(time.DateOnly, text)
		return isText && err == nil && got == text
	case schema.Timestamp:
		g, err := time.Parse(time.RFC3339Nano, got.(string))
		w, ok := instant(text)
		if err != nil || !ok {
			return false
		}
		if !w.Equal(w.Truncate(time.Microsecond)) && o.gone(path, want) != nil {
			return false
		}
		return g.Equal(w.Truncate(time.Microsecond))
	}
	return reflect.DeepEqual(want, got)
}

// keeps says whether a double, rounded to as many digits as a number has, is the
// number.
func keeps(f float64, number string) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(number), "e")
	digits := strings.Trim(strings.NewReplacer("-", "", ".", "").Replace(mantissa), "0")
	rounded := new(big.Float).SetFloat64(f).Text('e', max(0, len(digits)-1))
	want, _ := new(big.Rat).SetString(number)
	got, _ := new(big.Rat).SetString(rounded)
	return want.Cmp(got) == 0
}

func instant(s string) (time.Time, bool) {
	for _, date := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		for _, zone := range []string{"Z07:00", "Z0700", "Z07"} {
			if t, err := time.Parse(date+zone, s); err == nil {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

// small are options under which anything happens early.
func small() record.Options {
	return record.Options{
		Table:  schema.New(),
		Rules:  schema.Rules{MinRecords: 2, MaxLeaves: 5, MaxDepth: 3},
		Limits: record.Limits{PrimeBytes: 60, BlockBytes: 200, MaxRecordBytes: 500, MaxDepth: 20, MaxColumns: 14},
	}
}
