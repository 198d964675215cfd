package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"batcher/config"
	"batcher/manifest"
	"batcher/schema"
	"batcher/table/delta"
)

// script is what a script says, whatever the engine: which tables there are, as of
// when, and how they are reached.
type script struct {
	pipeline string
	store    config.Location
	bucket   bucketAccess // of a store in a bucket
	at       manifest.Snapshot
	pinned   *manifest.Seq // --at: the tables as they were after this manifest; nil: as they come
	tables   []opened      // the main one first
	newest   *newest       // nil: no view of newest rows
}

// opened is one table of a script.
type opened struct {
	name    string // of the pipeline
	derived bool   // it is the table of batches, which has no records of the source
	as      string // in the engine
	live    string // of the table in the engine, where as is a view of what it was once
	table   manifest.Table
	schema  *schema.Schema
	version delta.Version // that readers see; -1: no Delta log yet, because nothing was written to it
	note    string        // what its readers ought to know; "": nothing
}

// newest is the view with the newest row of each value of a column of the main table.
type newest struct {
	as    string
	by    string   // column
	event []string // path of the event time; nil: there is none
}

// writers write the script of each engine, once it is admitted.
var writers = map[string]func(*script) string{
	duckdbEngine: duckdbScript, "athena": athenaScript, "spark": sparkScript, "trino": trinoScript, "clickhouse": clickhouseScript,
}

// ddl is the verb ddl: a script that opens the tables in an engine, through their Delta
// logs or, in DuckDB, also over exactly the files that the chain names.
func ddl(ctx context.Context, c *call, o ddlOptions) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	if !o.NoExtension && r.delta == nil {
		return usageError(withoutDelta(o.Engine), "the pipeline file publishes no Delta tables, which %s would read", o.Engine)
	}
	s, err := r.script(ctx, c, o)
	if err != nil {
		return err
	}
	if o.NoExtension {
		text, err := r.plainScript(ctx, s)
		if err != nil {
			return err
		}
		return printTo(c.Stdout, text)
	}
	if err := s.admits(o.Engine); err != nil {
		return err
	}
	if err := r.versions(ctx, s); err != nil {
		return err
	}
	return printTo(c.Stdout, writers[o.Engine](s))
}

// withoutDelta is what to do where a table has no Delta log that an engine can read.
func withoutDelta(engine string) string {
	if engine == duckdbEngine {
		return "publish: [delta], or add --no-extension: read_parquet over the files that the chain names"
	}
	return "publish: [delta]"
}

// script gathers what stands in the chain.
func (r *rooms) script(ctx context.Context, c *call, o ddlOptions) (*script, error) {
	at, err := r.at(ctx, o.At)
	if err != nil {
		return nil, err
	}
	s := &script{pipeline: string(r.cfg.Name), store: r.cfg.Store, bucket: accessOf(r.cfg.S3, c.Environ), at: at, pinned: o.At}
	main := string(r.cfg.Table)
	others := slices.DeleteFunc(sortedKeys(at.Manifest.Tables), func(name string) bool { return name == main })
	for _, name := range append([]string{main}, others...) {
		_, t, err := r.table(at, name)
		if err != nil {
			return nil, err
		}
		columns, err := r.log.LoadSchema(ctx, t.Schema)
		if err != nil {
			return nil, err
		}
		s.tables = append(s.tables, opened{name: name, table: t, schema: columns, version: -1})
	}
	if !o.NoExtension {
		s.tables = append(s.tables, opened{name: delta.BatchesTable(s.pipeline), derived: true, schema: delta.BatchesSchema(), version: -1})
	}
	if o.LatestBy == "" {
		return s, nil
	}
	columns := s.tables[0].schema
	if !slices.ContainsFunc(columns.Fields, func(f schema.Field) bool { return f.Name == o.LatestBy }) {
		return nil, usageError("batcher schema show lists the columns", "--latest-by: table %s has no column %q", main, o.LatestBy)
	}
	s.newest = &newest{by: o.LatestBy, event: r.eventPath(columns)}
	return s, nil
}

// eventPath leads to the event time; nil where the pipeline has none or no batch
// brought one yet.
func (r *rooms) eventPath(s *schema.Schema) (path []string) {
	if r.cfg.EventTime == nil {
		return nil
	}
	fields := s.Fields
	for _, step := range r.cfg.EventTime.Field.Place {
		i := schema.IndexOf(fields, step.Key)
		if i < 0 || step.Element {
			return nil
		}
		path = append(path, fields[i].Name)
		if t := fields[i].Type; t.Kind == schema.Struct {
			fields = t.Fields
		} else {
			fields = nil
		}
	}
	return path
}

// versions finds what readers of the Delta logs see of each table.
func (r *rooms) versions(ctx context.Context, s *script) (err error) {
	if s.pinned != nil {
		for i := range s.tables {
			t := &s.tables[i]
			t.version, err = r.delta.Shows(ctx, s.at, t.name)
			if t.derived && isA[*delta.UnshownError](err) {
				t.note, err = err.Error(), nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	states, err := r.delta.Status(ctx, s.at)
	if err != nil {
		return err
	}
	for _, state := range states {
		i := slices.IndexFunc(s.tables, func(t opened) bool { return t.name == state.Table })
		if err := s.tables[i].shows(state); err != nil {
			return err
		}
	}
	return nil
}

// shows puts down what readers of the Delta log see.
func (t *opened) shows(state delta.State) error {
	switch t.version = state.Projected; {
	case state.Chain < 0:
	case state.Derived && state.Conflict != nil:
		t.version, t.note = max(t.version, 0), fmt.Sprintf("%s: readers see what others wrote; %s", state.Conflict, batchesCure(t.name))
	case state.Derived && state.Err != nil:
		t.note = state.Err.Error()
	case state.Derived && state.Projected < 0:
		t.note = fmt.Sprintf("%s is not published yet: batcher publish does it.", t.name)
	case state.Conflict != nil:
		t.version = max(t.version, 0)
		t.note = fmt.Sprintf("%s: readers see what others wrote, until batcher publish --rebuild restores it", state.Conflict)
	case state.Projected < 0:
		return usageError("batcher publish does it", "table %s is not published yet", t.name)
	case state.Lag() > 0:
		t.note = fmt.Sprintf("Readers of %s see version %d, the chain has version %d: batcher publish brings it up.", t.name, state.Projected, state.Chain)
	}
	return nil
}

// begin begins a script with what it is about.
func (s *script) begin(b *strings.Builder) {
	m := s.at.Manifest
	remark(b, "Tables of pipeline %s as of manifest %d, committed %s.", s.pipeline, int64(m.Seq), m.CreatedAt.UTC().Format(time.RFC3339))
	for _, t := range s.tables {
		if t.note != "" {
			remark(b, "%s", t.note)
		}
	}
}

// rename gives the tables and the view their names in the engine, no two the same.
func (s *script) rename(name func(string) string) {
	taken := map[string]bool{}
	free := func(wish string) string {
		for taken[wish] {
			wish += "_"
		}
		taken[wish] = true
		return wish
	}
	for i, t := range s.tables {
		s.tables[i].live = free(name(t.name))
		s.tables[i].as = s.tables[i].live
	}
	if s.newest != nil {
		s.newest.as = free(s.tables[0].as + "_latest")
	}
}

// renameKept is rename for an engine that keeps names for later: a view of what a table
// was once has a name that says so.
func (s *script) renameKept(name func(string) string) {
	s.rename(name)
	if s.pinned == nil {
		return
	}
	once := fmt.Sprintf("_at_%d", int64(*s.pinned))
	for i := range s.tables {
		s.tables[i].as += once
	}
	if s.newest != nil {
		s.newest.as += once
	}
}

// database holds the tables in engines that keep them in one: it is named after the
// pipeline.
func (s *script) database() string { return underscored(s.pipeline) }

// missing says of a table that there is nothing to be opened.
func (s *script) missing(b *strings.Builder, t opened) {
	switch {
	case t.derived:
		return // its note says why
	case s.pinned != nil:
		remark(b, "Nothing was written to %s by then.", t.name)
		return
	}
	remark(b, "%s has no Delta log: nothing was written to it yet. Run this again when something is.", t.name)
}

// order is by what a row is newer than another, in SQL. Which batch brought a row does
// not stand in it, and compaction mixes the files of batches, so newest is told from the
// row alone: by event time where the pipeline has one, and by the record's id between
// equals and where it has none.
func (n newest) order(b *strings.Builder, quote func(string) string) string {
	order, told := quote(schema.SourceName)+" DESC, "+quote(schema.OffsetName)+" DESC", "the largest _source, then the largest _offset"
	if n.event != nil {
		path := make([]string, len(n.event))
		for i, name := range n.event {
			path[i] = quote(name)
		}
		at := strings.Join(path, ".")
		order, told = at+" DESC NULLS LAST, "+order, "the largest "+at+", then "+told
	}
	remark(b, "The newest row is the one with %s.", told)
	return order
}

// qualified is the query of the newest rows in an engine that has QUALIFY.
func (n newest) qualified(b *strings.Builder, quote func(string) string, from string) string {
	return fmt.Sprintf("SELECT * FROM %s QUALIFY row_number() OVER (PARTITION BY %s ORDER BY %s) = 1", from, quote(n.by), n.order(b, quote))
}

// ranked is the query of the newest rows in an engine that has no QUALIFY. It names the
// columns, as they are now.
func (n newest) ranked(b *strings.Builder, quote func(string) string, from string, columns *schema.Schema) string {
	var names []string
	rank := "_rank"
	for _, f := range columns.Fields {
		names = append(names, quote(f.Name))
		if strings.HasPrefix(f.Name, rank) {
			rank = f.Name + "_"
		}
	}
	order := n.order(b, quote)
	remark(b, "It lists its columns: create it again after a new one.")
	return fmt.Sprintf("SELECT %s FROM (SELECT *, row_number() OVER (PARTITION BY %s ORDER BY %s) AS %s FROM %s) AS ranked WHERE %[4]s = 1",
		strings.Join(names, ", "), quote(n.by), order, quote(rank), from)
}

// remark writes a line of comment; what strangers chose cannot leave it.
func remark(b *strings.Builder, format string, args ...any) {
	b.WriteString("-- " + printable(fmt.Sprintf(format, args...)) + "\n")
}

// ident and literal quote names and text as SQL has it.
func ident(s string) string   { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// ticked and slashed quote names and text for the engines that follow Hive or MySQL.
func ticked(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }
func slashed(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// underscored is a name for catalogs that take letters, digits and _ only.
func underscored(s string) string { return strings.ReplaceAll(s, "-", "_") }
