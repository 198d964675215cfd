package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"batcher/batch"
	"batcher/column"
	"batcher/commit"
	"batcher/compact"
	"batcher/manifest"
	"batcher/pipeline"
	"batcher/record"
	"batcher/sample"
	"batcher/schema"
	"batcher/source"
	"batcher/source/files"
)

// schemaVerb is the verb schema.
func schemaVerb(ctx context.Context, c *call, o schemaOptions) error {
	r, err := open(ctx, c, wiring{Changed: changedCounted})
	if err != nil {
		return err
	}
	switch o.Action {
	case "show":
		return r.showSchema(ctx, c, o)
	case "widen":
		return r.widen(ctx, c, o)
	case "diff":
		return r.schemaDiff(ctx, c)
	default:
		return r.inferSchema(ctx, c)
	}
}

// schemaColumn is one field as schema prints it.
type schemaColumn struct {
	ID     int32  `json:"id,omitempty"`
	Column string `json:"column"` // as schema widen takes it
	Key    string `json:"key,omitempty"`
	Type   string `json:"type"`
}

// columnsOf lists columns, and below structs, lists and maps their parts.
func columnsOf(fields []schema.Field, above string) []schemaColumn {
	var out []schemaColumn
	for _, f := range fields {
		at := strings.TrimPrefix(above+"."+f.Name, ".")
		if f.Name == schema.ElementName && f.Key == "" || f.Name == schema.ValueName && f.Key == "" {
			at = above + "[]"
		}
		if f.Name == schema.KeyName && f.Key == "" && above != "" {
			continue
		}
		out = append(out, schemaColumn{f.ID, at, schema.KeyText(f.Key), f.Type.String()})
		out = append(out, columnsOf(f.Type.Fields, at)...)
	}
	return out
}

// schemaReport is what schema show and infer print.
type schemaReport struct {
	Table   string         `json:"table"`
	Seq     *manifest.Seq  `json:"seq,omitempty"` // show: as of this manifest
	Columns []schemaColumn `json:"columns"`
}

func (s schemaReport) print(c *call) error {
	if c.Output == outputJSON {
		return printJSON(c, s)
	}
	var b strings.Builder
	for _, x := range s.Columns {
		id := ""
		if x.ID > 0 {
			id = fmt.Sprint(x.ID)
		}
		fmt.Fprintf(&b, "%5s  %-32s %s\n", id, printable(x.Column), printable(briefType(x.Type)))
	}
	return printTo(c.Stdout, b.String())
}

// showSchema prints the published columns.
func (r *rooms) showSchema(ctx context.Context, c *call, o schemaOptions) error {
	at, err := r.at(ctx, o.At)
	if err != nil {
		return err
	}
	name, t, err := r.table(at, o.Table)
	if err != nil {
		return err
	}
	s, err := r.log.LoadSchema(ctx, t.Schema)
	if err != nil {
		return err
	}
	return schemaReport{name, &at.Manifest.Seq, columnsOf(s.Fields, "")}.print(c)
}

// widened is what schema widen prints.
type widened struct {
	Done     bool         `json:"done"` // false: it only said what it would do, or there is nothing to do
	Table    string       `json:"table"`
	Column   string       `json:"column"`
	From     string       `json:"from"`
	To       string       `json:"to"`
	Seq      manifest.Seq `json:"seq"` // head
	Files    int64        `json:"files"`
	Rows     int64        `json:"rows"`
	Bytes    int64        `json:"bytes"`
	Returned int64        `json:"returned"` // values put back into the column
	Left     int64        `json:"left"`     // values that the new type does not take either
	Text     string       `json:"text"`
}

// widen gives a column another type.
func (r *rooms) widen(ctx context.Context, c *call, o schemaOptions) error {
	head, err := r.chain(ctx)
	if err != nil {
		return err
	}
	name, _, err := r.table(head, o.Table)
	if err != nil {
		return err
	}
	if name != string(r.cfg.Table) {
		return usageError("", "the columns of %s are always the same", name)
	}
	for _, d := range r.cfg.Derived() {
		if d.From == string(o.Column) || d.Name == string(o.Column) {
			return usageError("", "column %s follows from %s", d.Name, d.From)
		}
	}
	p := r.pipeline(c)
	w := &compact.Widen{Log: r.log, Store: r.store, Random: rand.Reader, Logger: c.Logger, File: p.File, FileBytes: p.FileBytes, Naming: p.Rules.Names}
	step := w.Plan
	if o.Confirm {
		if err := r.caughtUp(ctx, c, head); err != nil {
			return err
		}
		step = w.Run
	}
	done, err := step(ctx, name, o.Column, o.Type)
	if err != nil {
		return err
	}
	out := widened{o.Confirm && !done.Already(), name, string(o.Column), done.From.String(), o.Type.String(), done.Head.Manifest.Seq,
		done.Files, done.Rows, done.Bytes, done.Returned, done.Left, ""}
	out.Text = out.text(done.Already())
	if c.Output == outputJSON {
		return printJSON(c, out)
	}
	return printTo(c.Stdout, printable(out.Text)+"\n")
}

func (w widened) text(already bool) string {
	switch {
	case already:
		return fmt.Sprintf("column %s of %s is %s already", w.Column, w.Table, w.To)
	case !w.Done:
		return fmt.Sprintf("would write %s with %s of %s again, column %s as %s instead of %s; --confirm does it", many(w.Files, "file"), many(w.Rows, "row"), w.Table, w.Column, w.To, w.From)
	}
	text := fmt.Sprintf("manifest %d: column %s of %s is %s now; %s with %s written again, %s put back", w.Seq, w.Column, w.Table, w.To, many(w.Files, "file"), many(w.Rows, "row"), many(w.Returned, "value"))
	if w.Left > 0 {
		text += fmt.Sprintf(", %d still in _rescued because they do not fit it either", w.Left)
	}
	return text
}

// schemaDifference is what schema diff prints.
type schemaDifference struct {
	Seq     manifest.Seq     `json:"seq"`     // head
	Objects int64            `json:"objects"` // of the next batch that were read
	Records int64            `json:"records"`
	Dead    int64            `json:"dead"`
	Added   []schemaColumn   `json:"added"`
	Misfits []reportConflict `json:"misfits"`
	Breaks  string           `json:"breaks,omitempty"` // schema.contract: freeze: why a run commits nothing of it
}

// schemaDiff decodes the next batch as a run would, and writes nothing. What a run
// would refuse is shown as if it were admitted.
func (r *rooms) schemaDiff(ctx context.Context, c *call) error {
	p := r.pipeline(c)
	out := schemaDifference{Seq: -1, Added: []schemaColumn{}, Misfits: []reportConflict{}}
	published, progress := schema.New(), (*source.FilesProgress)(nil)
	head, err := r.begun(ctx)
	switch {
	case errors.Is(err, commit.ErrNoChain): // everything is new
	case err != nil:
		return err
	default:
		out.Seq, progress = head.Manifest.Seq, head.Manifest.Progress.Files
		if published, err = r.log.LoadSchema(ctx, head.Manifest.Tables[p.Table].Schema); err != nil {
			return err
		}
	}
	plan, err := r.source.Plan(ctx, progress, r.set, time.Now())
	if err != nil {
		return err
	}
	sealed, err := preview(ctx, p, published, plan.Objects)
	var broken *record.ContractError
	if errors.As(err, &broken) { // what breaks the contract shows when nothing does
		out.Breaks, p.Rules.Contract = err.Error(), schema.Evolving
		sealed, err = preview(ctx, p, published, plan.Objects)
	}
	if err != nil {
		return err
	}
	rows := sealed.Batch.Rows
	out.Objects, out.Records, out.Dead = sealed.Batch.Objects, rows.Read, rows.Dead
	for _, a := range sealed.Notes.Added {
		out.Added = append(out.Added, schemaColumn{Column: a.Path, Key: schema.KeyText(a.Key), Type: a.Type.String()})
	}
	out.Misfits = append(out.Misfits, conflicts(p.Table, []record.Notes{sealed.Notes})...)
	return out.print(c)
}

func (d schemaDifference) print(c *call) error {
	if c.Output == outputJSON {
		return printJSON(c, d)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the next batch: %s of %s, %s of them bad\n", many(d.Records, "record"), many(d.Objects, "object"), grouped(d.Dead))
	for _, a := range d.Added {
		fmt.Fprintf(&b, "+ %-32s %s\n", printable(a.Column), printable(a.Type))
	}
	for _, m := range d.Misfits {
		fmt.Fprintf(&b, "! %-32s %s that the column does not take; %s\n", printable(m.Column), many(m.Count, "value"), printable(m.Cure))
	}
	if d.Breaks != "" {
		fmt.Fprintf(&b, "a run would fail: %s\n", printable(d.Breaks))
	}
	if len(d.Added)+len(d.Misfits) == 0 {
		b.WriteString("nothing would change\n")
	}
	return printTo(c.Stdout, b.String())
}

// maxPreviews bounds how often a batch is read again because its types widened.
const maxPreviews = 1000

// preview decodes one batch from the front of objects, and keeps no row of it.
func preview(ctx context.Context, p *pipeline.Pipeline, published *schema.Schema, objects []files.Object) (batch.Sealed, error) {
	keep := func(b *column.Block) (*column.Block, error) { return b, nil }
	var learned *schema.Schema
	for range maxPreviews {
		g := batch.New(batch.Options{Schema: published, Learned: learned, Rules: p.Rules, Record: p.Record, Limits: p.Limits,
			Format: p.Format, Main: keep, Dead: keep})
		err := readAll(ctx, p, g, objects)
		if err == nil {
			return g.Seal(nil)
		}
		if !errors.Is(err, record.ErrRestart) {
			return batch.Sealed{}, err
		}
		learned = g.Schema()
	}
	return batch.Sealed{}, fmt.Errorf("the types of the batch do not settle: %w", pipeline.ErrNoProgress)
}

// readAll reads objects until the batch is full. One that is not as it was listed,
// or whose container is broken, is left out.
func readAll(ctx context.Context, p *pipeline.Pipeline, g *batch.Gather, objects []files.Object) error {
	for _, o := range objects {
		if g.Full(o.Key, o.Size) || g.Cut() {
			return nil
		}
		body, err := p.Source.Open(ctx, o)
		if files.OutOfSight(err) {
			continue
		}
		if err != nil {
			return err
		}
		in := batch.Object{Info: o.Range(), Whole: o.Replaces}
		err = g.Read(ctx, in, body)
		_ = body.Close()
		var broken *record.BrokenError
		if err != nil && !errors.As(err, &broken) && !errors.Is(err, files.ErrStale) {
			return fmt.Errorf("%s: %w", o.Key, err)
		}
	}
	return nil
}

// inferSchema prints the columns of a sample over the whole input.
func (r *rooms) inferSchema(ctx context.Context, c *call) error {
	p := r.pipeline(c)
	p.Rules.Contract = schema.Evolving // of the published table, which this leaves aside
	seen, err := sample.Look(ctx, r.source, sample.Options{Format: p.Format, Rules: p.Rules, Limits: p.Record})
	if err != nil {
		return err
	}
	columns := columnsOf(seen.Columns, "")
	for i := range columns {
		columns[i].ID = 0 // given when they are published
	}
	return schemaReport{Table: p.Table, Columns: columns}.print(c)
}
