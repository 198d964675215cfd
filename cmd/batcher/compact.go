package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"batcher/compact"
	"batcher/manifest"
	"batcher/pipeline"
)

// compacted is what compact prints of one table.
type compacted struct {
	Table     string      `json:"table"`
	Manifests int         `json:"manifests"`
	Files     int64       `json:"files"` // replaced, or to be replaced
	Into      int64       `json:"into"`
	Rows      int64       `json:"rows"`
	Bytes     reportBytes `json:"bytes"`
	Left      int         `json:"left"` // groups of files that wait for another time
}

// compactTables is the verb compact.
func compactTables(ctx context.Context, c *call, o compactOptions) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	head, err := r.chain(ctx)
	if err != nil {
		return err
	}
	tables := slices.Sorted(maps.Keys(head.Manifest.Tables))
	if o.Table != "" {
		if _, _, err := r.table(head, o.Table); err != nil {
			return err
		}
		tables = []string{o.Table}
	}
	if !o.DryRun {
		if err := r.caughtUp(ctx, c, head); err != nil {
			return err
		}
	}
	var until compact.Until
	if o.Deadline > 0 {
		until.Done = time.Now().Add(o.Deadline)
	}
	m := r.merge(c)
	m.Rules.Classes = o.Classes
	var out []compacted
	for _, table := range tables {
		var did compact.Merged
		if o.DryRun {
			did, err = m.Plan(ctx, head, table)
		} else {
			head, did, err = m.Run(ctx, head, table, until)
		}
		if err != nil {
			return err
		}
		out = append(out, compacted{table, did.Manifests, did.Files, did.Into, did.Rows, reportBytes{did.Read, did.Written}, did.Left})
	}
	return o.print(c, head, out)
}

// print tells what was merged, table by table.
func (o compactOptions) print(c *call, head manifest.Snapshot, tables []compacted) error {
	if c.Output == outputJSON {
		return printJSON(c, struct {
			Done   bool         `json:"done"` // false: it only said what it would do
			Seq    manifest.Seq `json:"seq"`  // head
			Tables []compacted  `json:"tables"`
		}{!o.DryRun, head.Manifest.Seq, tables})
	}
	var b strings.Builder
	for _, t := range tables {
		switch {
		case t.Files == 0 && t.Left == 0:
			fmt.Fprintf(&b, "%s: nothing to merge\n", t.Table)
		case o.DryRun:
			fmt.Fprintf(&b, "%s: would merge %s of %s and %s into %d\n", t.Table, many(t.Files, "file"), sized(t.Bytes.Read), many(t.Rows, "row"), t.Into)
		default:
			fmt.Fprintf(&b, "%s: merged %s of %s into %d of %s, %s, in %s; %s left\n", t.Table, many(t.Files, "file"), sized(t.Bytes.Read),
				t.Into, sized(t.Bytes.Written), many(t.Rows, "row"), many(t.Manifests, "manifest"), many(t.Left, "group"))
		}
	}
	return printTo(c.Stdout, b.String())
}

// mergeAfter merges small files after a run that committed something, for as long as
// the pipeline file allows. What fails is repeated by a later run: the batches stand.
func (r *rooms) mergeAfter(ctx context.Context, c *call, run pipeline.Report, deadline time.Time) (out reportMerged) {
	share := float64(r.cfg.Compact.AfterRun)
	if share == 0 {
		return out
	}
	m := r.merge(c)
	m.Pace = float64(run.Bytes.Written) / run.Duration.Seconds()
	until := compact.Until{Begin: time.Now().Add(time.Duration(share * float64(run.Duration))), Done: deadline}
	head := run.Head
	for _, table := range []string{string(r.cfg.Table), string(r.cfg.DeadLetters.Table)} {
		if !m.Due(head.Manifest.Tables[table]) {
			continue
		}
		var did compact.Merged
		var err error
		head, did, err = m.Run(ctx, head, table, until)
		out.Files += did.Files
		out.Into += did.Into
		if err != nil {
			c.Logger.Warn("small files are not merged; a later run tries again", "table", table, "error", err)
			return out
		}
	}
	return out
}

// merge wires a compaction.
func (r *rooms) merge(c *call) *compact.Merge {
	p := r.pipeline(c)
	m := &compact.Merge{Log: r.log, Store: r.store, Random: rand.Reader, Now: time.Now, Logger: c.Logger, File: p.File,
		Rules: compact.Rules{Target: p.FileBytes},
		Step:  func(done, total int64) { c.step(stage{what: "compact", done: done, total: total, unit: "file"}) }}
	if e := r.cfg.EventTime; e != nil && len(e.Field.Place) == 1 {
		m.OrderBy = e.Field.Place[0].Key
	}
	return m
}
