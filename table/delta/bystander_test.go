package delta_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// bystander reads Delta tables from what a store holds, and does what the protocol
// tells readers to do. It knows nothing of batcher and shares no code with it. What it
// has decoded once it keeps.
type bystander struct {
	actions map[*byte][]logAction // of commits and checkpoints
	files   map[*byte]dataRows
}

func newBystander() *bystander {
	return &bystander{actions: map[*byte][]logAction{}, files: map[*byte]dataRows{}}
}

// logAction is as much of an action as readers need.
type logAction struct {
	Add *struct {
		Path  string  `json:"path" parquet:"path"`
		Size  int64   `json:"size" parquet:"size"`
		Stats *string `json:"stats" parquet:"stats,optional"`
	} `json:"add" parquet:"add,optional"`
	Remove *struct {
		Path string `json:"path" parquet:"path"`
	} `json:"remove" parquet:"remove,optional"`
	MetaData *struct {
		Schema string `json:"schemaString" parquet:"schemaString"`
	} `json:"metaData" parquet:"metaData,optional"`
}

// opened is one version of a table as a reader has it before him.
type opened struct {
	table   string
	version int
	needs   map[string][]byte  // every object that he has read or is going to read
	rows    map[string]float64 // by _source and _offset: the value of n, 0 where the table has none
}

// deltaDir is what a listing of a Delta log tells.
type deltaDir struct{ commits, checkpoints map[int]string }

func listLog(held map[string][]byte, table string) deltaDir {
	d := deltaDir{map[int]string{}, map[int]string{}}
	for key := range held {
		if path.Dir(key) != table+"/_delta_log" {
			continue
		}
		digits, kind, _ := strings.Cut(path.Base(key), ".")
		v, err := strconv.Atoi(digits)
		switch {
		case err != nil:
		case kind == "json":
			d.commits[v] = key
		case kind == "checkpoint.parquet":
			d.checkpoints[v] = key
		}
	}
	return d
}

// last opens the last version in both ways that readers have: from the checkpoint that
// the hint names, and from the newest one of a listing.
func (b *bystander) last(held map[string][]byte, table string) (*opened, error) {
	dir := listLog(held, table)
	first, version := math.MaxInt, -1
	for v := range dir.commits {
		first, version = min(first, v), max(version, v)
	}
	if len(dir.commits) != version-first+1 {
		return nil, fmt.Errorf("of versions %d to %d of %s there are %d", first, version, table, len(dir.commits))
	}
	listed, err := b.open(held, table, version)
	if err != nil {
		return nil, err
	}
	hint, ok := held[table+"/_delta_log/_last_checkpoint"]
	if !ok {
		return listed, nil
	}
	var from struct{ Version int }
	if err := json.Unmarshal(hint, &from); err != nil {
		return nil, fmt.Errorf("the hint: %w", err)
	}
	if dir.checkpoints[from.Version] == "" {
		return nil, fmt.Errorf("the hint names checkpoint %d, which is not there", from.Version)
	}
	hinted, err := b.replay(held, table, dir, from.Version, version)
	if err != nil {
		return nil, fmt.Errorf("from the hint: %w", err)
	}
	if !maps.Equal(hinted.rows, listed.rows) {
		return nil, fmt.Errorf("from checkpoint %d, which the hint names, the table has other rows", from.Version)
	}
	maps.Copy(listed.needs, hinted.needs) // he may be either reader
	return listed, nil
}

// open opens a version from the newest checkpoint that is not newer, or from the first
// version.
func (b *bystander) open(held map[string][]byte, table string, version int) (*opened, error) {
	dir := listLog(held, table)
	from := -1
	for v := range dir.checkpoints {
		if v <= version {
			from = max(from, v)
		}
	}
	return b.replay(held, table, dir, from, version)
}

// replay goes from a checkpoint, -1 for none, to a version.
func (b *bystander) replay(held map[string][]byte, table string, dir deltaDir, from, version int) (*opened, error) {
	o := &opened{table: table, version: version, needs: map[string][]byte{}, rows: map[string]float64{}}
	live := map[string]logAction{}
	var columns string
	apply := func(key string, decode func([]byte) ([]logAction, error)) error {
		body := held[key]
		if body == nil {
			return fmt.Errorf("%s is not there", key)
		}
		o.needs[key] = body
		actions, err := b.decode(body, decode)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		for _, a := range actions {
			switch {
			case a.MetaData != nil:
				columns = a.MetaData.Schema
			case a.Add != nil && live[a.Add.Path].Add != nil:
				return fmt.Errorf("%s adds %s twice", key, a.Add.Path)
			case a.Add != nil:
				live[a.Add.Path] = a
			case a.Remove != nil && live[a.Remove.Path].Add == nil:
				return fmt.Errorf("%s removes %s, which is not there", key, a.Remove.Path)
			case a.Remove != nil:
				delete(live, a.Remove.Path)
			}
		}
		return nil
	}
	if from >= 0 {
		if err := apply(dir.checkpoints[from], decodeCheckpoint); err != nil {
			return nil, err
		}
	}
	for v := from + 1; v <= version; v++ {
		if err := apply(fmt.Sprintf("%s/_delta_log/%020d.json", table, v), decodeCommit); err != nil {
			return nil, err
		}
	}
	for _, a := range live {
		if err := b.read(held, o, a, columns); err != nil {
			return nil, fmt.Errorf("version %d of %s: %w", version, table, err)
		}
	}
	return o, nil
}

// read reads one file of a version.
func (b *bystander) read(held map[string][]byte, o *opened, a logAction, columns string) error {
	key := o.table + "/" + a.Add.Path
	body := held[key]
	if body == nil {
		return fmt.Errorf("%s is missing", key)
	}
	o.needs[key] = body
	file, err := b.rows(body)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	var stats struct{ NumRecords int }
	if err := json.Unmarshal([]byte(*a.Add.Stats), &stats); err != nil {
		return err
	}
	if int64(len(body)) != a.Add.Size || len(file.rows) != stats.NumRecords {
		return fmt.Errorf("%s has %d bytes and %d rows, the log says %d and %d", key, len(body), len(file.rows), a.Add.Size, stats.NumRecords)
	}
	for column, is := range file.columns {
		if !strings.Contains(columns, fmt.Sprintf(`"name":%q,"type":%q`, column, is)) {
			return fmt.Errorf("%s has %s as %s, the table is %s", key, column, is, columns)
		}
	}
	for _, r := range file.rows {
		if _, twice := o.rows[r.id]; twice {
			return fmt.Errorf("%s: row %s is there twice", key, r.id)
		}
		o.rows[r.id] = r.n
	}
	return nil
}

func (b *bystander) decode(body []byte, decode func([]byte) ([]logAction, error)) ([]logAction, error) {
	if known, ok := b.actions[&body[0]]; ok {
		return known, nil
	}
	actions, err := decode(body)
	b.actions[&body[0]] = actions
	return actions, err
}

func decodeCommit(body []byte) ([]logAction, error) {
	var out []logAction
	for line := range bytes.Lines(body) {
		var a logAction
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func decodeCheckpoint(body []byte) ([]logAction, error) {
	return parquet.Read[logAction](bytes.NewReader(body), int64(len(body)))
}

// dataRows are the rows of a data file, and the Delta types of its columns _source,
// _offset, n and code, as far as it has them.
type dataRows struct {
	columns map[string]string
	rows    []dataRow
}

type dataRow struct {
	id string
	n  float64
}

func (b *bystander) rows(body []byte) (dataRows, error) {
	if known, ok := b.files[&body[0]]; ok {
		return known, nil
	}
	f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return dataRows{}, err
	}
	out := dataRows{columns: map[string]string{}}
	types := map[parquet.Kind]string{parquet.ByteArray: "string", parquet.Int64: "long", parquet.Double: "double"}
	at := map[string]int{"n": -1}
	for _, name := range []string{"_source", "_offset", "n", "code"} {
		if leaf, ok := f.Schema().Lookup(name); ok {
			at[name], out.columns[name] = leaf.ColumnIndex, types[leaf.Node.Type().Kind()]
		}
	}
	for _, group := range f.RowGroups() {
		err := eachRow(group, func(row parquet.Row) {
			r := dataRow{id: fmt.Sprintf("%s:%d", row[at["_source"]].String(), row[at["_offset"]].Int64())}
			if i := at["n"]; i >= 0 && out.columns["n"] == "double" {
				r.n = row[i].Double()
			} else if i >= 0 {
				r.n = float64(row[i].Int64())
			}
			out.rows = append(out.rows, r)
		})
		if err != nil {
			return dataRows{}, err
		}
	}
	b.files[&body[0]] = out
	return out, nil
}

// eachRow goes through the rows of a row group without lists.
func eachRow(group parquet.RowGroup, each func(parquet.Row)) error {
	r := group.Rows()
	defer r.Close()
	for buffer := make([]parquet.Row, 32); ; {
		n, err := r.ReadRows(buffer)
		for _, row := range buffer[:n] {
			each(row)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
