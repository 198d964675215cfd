package interop

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
)

const (
	hintFile      = "_delta_log/_last_checkpoint" // what readers of Delta begin with, if it is there
	perCheckpoint = 10                            // versions
)

// hinted is a table with checkpoints at its versions 10 and 20, in old versions around
// them, and copies of it of which the hint is not as it should be: writers overwrite it
// after the checkpoint, best effort, so that it may be missing, or be an older one, and
// on a disk that failed it may be torn.
func hinted(ctx context.Context, program, dir string, place Place) ([]Case, error) {
	const versions = 2*perCheckpoint + 4
	pins := [][2]string{{"n", "int64"}, {"s", "string"}}
	p, err := newPipeline(ctx, program, dir, place, "hinted", "batch: {max_objects: 1}\n"+settings(pins))
	if err != nil {
		return nil, err
	}
	t := &teller{pipeline: p, columns: columns(pins)}
	hint := path.Join("hinted", "events", hintFile)
	t.versions(0, perCheckpoint+3)
	older := t.look(place, hint)
	t.versions(perCheckpoint+3, versions)
	newer := t.look(place, hint)
	t.past("between two checkpoints", perCheckpoint+5)
	t.past("above the last checkpoint", versions-2)
	t.past("", versions-1)
	switch {
	case t.err != nil:
		return nil, t.err
	case bytes.Equal(older, newer):
		return nil, fmt.Errorf("the hint is %s, and was so", newer)
	}
	now := t.cases[len(t.cases)-1]
	t.cases = t.cases[:len(t.cases)-1]
	for _, c := range []struct {
		name string
		hint []byte
	}{{"hint missing", nil}, {"hint stale", older}, {"hint torn", newer[:len(newer)/2]}} {
		copied := now
		copied.Name, copied.Version = c.name, nil
		if copied.Table, err = copyTable(ctx, place, now, c.name, c.hint); err != nil {
			return nil, fmt.Errorf("copy a table: %w", err)
		}
		t.cases = append(t.cases, copied)
	}
	t.batches(versions)
	return t.cases, nil
}

// batches makes a case of the table of batches, of which two times ten files are one.
// Manifest s took the object that versions numbered s-1.
func (t *teller) batches(versions int) {
	columns := []string{"seq:int64", "kind:string", "fact:string", "table_name:string", "source:string", "range_start:int64", "range_end:int64", "row_count:int64", "complete:bool"}
	c := Case{Name: "table of batches", Table: t.table("hinted_batches"), Partial: true, Key: "seq",
		Rows: []Row{{"seq": num(0), "kind": "genesis", "fact": "batch"}},
		Filters: []Filter{{"fact", "=", "string", "batch"}, {"seq", ">=", "int64", "9"}, {"seq", "=", "int64", "15"}, {"source", "=", "string", "003.ndjson"},
			{"table_name", "=", "string", "events"}, {"range_end", ">", "int64", "20"}, {"row_count", "null", "int64", ""}}}
	for _, name := range columns {
		name, kind, _ := strings.Cut(name, ":")
		c.Columns = append(c.Columns, column(name, kind))
	}
	for s := 1; s <= versions; s++ {
		name, line := fmt.Sprintf("%03d.ndjson", s-1), fmt.Sprintf(`{"n":%d,"s":"row %d"}`, s-1, s-1)
		c.Rows = append(c.Rows,
			Row{"seq": num(s), "kind": "data", "fact": "batch", "row_count": num(1)},
			Row{"seq": num(s), "kind": "data", "fact": "consumed", "source": name, "range_start": num(0), "range_end": num(len(line) + 1), "row_count": num(1), "complete": true},
			Row{"seq": num(s), "kind": "data", "fact": "added", "table_name": "events", "row_count": num(1)})
	}
	for from := 0; from <= versions; {
		to := from + 1
		if from+perCheckpoint <= versions {
			to = from + perCheckpoint
		}
		c.Files = append(c.Files, fmt.Sprintf("%s/data/%020d-%020d.parquet", c.Table, from, to))
		from = to
	}
	t.cases = append(t.cases, c)
}

// versions makes versions of a table, each with a row more than the one before it.
func (t *teller) versions(from, to int) {
	for n := from; n < to && t.err == nil; n++ {
		var rows []Row
		rows, t.err = t.put(fmt.Sprintf("%03d.ndjson", n), []any{Row{"n": num(n), "s": fmt.Sprint("row ", n)}})
		t.rows = append(t.rows, rows...)
	}
	t.call("run")
}

// past makes a case of an old version that versions made.
func (t *teller) past(name string, version int64) {
	if t.err != nil {
		return
	}
	var now moment
	if now, t.err = t.now(); t.err != nil {
		return
	}
	c := Case{Name: name, Table: t.table("events"), Version: &version, Columns: t.columns, Key: "n", Rows: t.rows[:version+1],
		Filters: []Filter{{"n", ">=", "int64", "9"}, {"s", "=", "string", "row 3"}}}
	c.Files, t.err = t.files("events", "--at", strconv.FormatInt(now.seq-now.version+version, 10))
	t.cases = append(t.cases, c)
}

// look reads a file, unless an earlier step failed.
func (t *teller) look(place Place, key string) (body []byte) {
	if t.err == nil {
		body, t.err = place.get(t.ctx, key)
	}
	return body
}

// copyTable copies the table of a case, all versions of it, without its hint or with
// another one. It returns where the copy lies.
func copyTable(ctx context.Context, place Place, c Case, name string, hint []byte) (string, error) {
	from, to := strings.TrimPrefix(c.Table, place.Root+"/"), strings.ReplaceAll(name, " ", "-")
	var keys []string
	for _, file := range c.Files {
		keys = append(keys, strings.TrimPrefix(file, c.Table+"/"))
	}
	for v := range *c.Version + 1 {
		keys = append(keys, fmt.Sprintf("_delta_log/%020d.json", v))
	}
	for v := int64(perCheckpoint); v <= *c.Version; v += perCheckpoint {
		keys = append(keys, fmt.Sprintf("_delta_log/%020d.checkpoint.parquet", v))
	}
	for _, key := range keys {
		body, err := place.get(ctx, path.Join(from, key))
		if err == nil {
			err = place.put(ctx, path.Join(to, key), body)
		}
		if err != nil {
			return "", err
		}
	}
	if hint == nil {
		return place.Root + "/" + to, nil
	}
	return place.Root + "/" + to, place.put(ctx, path.Join(to, hintFile), hint)
}
