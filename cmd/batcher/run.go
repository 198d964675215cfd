package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"batcher/batch"
	"batcher/manifest"
	"batcher/object"
	"batcher/pipeline"
	"batcher/record"
	"batcher/source"
)

// maxRangeFile bounds the file of --range.
const maxRangeFile = 64 << 20

// runPipeline is the verb run.
func runPipeline(ctx context.Context, c *call, o runOptions) (report, error) {
	r, err := open(ctx, c, wiring{Shard: o.Shard, OnGap: o.OnGap})
	if err != nil {
		return report{}, err
	}
	opts := pipeline.Options{MaxBatches: o.MaxBatches}
	if o.Deadline > 0 {
		opts.Deadline = time.Now().Add(o.Deadline)
	}
	if o.AcceptBad {
		opts.AcceptBad = pipeline.AcceptBad
	}
	if o.Range != "" {
		if opts.Ranges, err = readRanges(c, o.Range); err != nil {
			return report{}, err
		}
	}
	rep, err := r.pipeline(c).Run(ctx, opts)
	out := r.report(c, rep, err)
	if (err == nil || waits(nil)(err)) && rep.Batches > 0 {
		begun, before := time.Now(), object.RequestsOf(r.store)
		out.Merged = r.mergeAfter(ctx, c, rep, opts.Deadline)
		out.Requests = out.Requests.Add(object.RequestsOf(r.store).Sub(before))
		out.DurationMS += time.Since(begun).Milliseconds()
	}
	if err == nil && rep.Outcome == pipeline.Empty && rep.Lag.Objects > 0 && o.late(opts.Deadline) {
		out.Outcome = outcomeFailed
		err = &exitError{exitTemporary, fmt.Errorf("%w; left to read: %s", errNoTime, many(rep.Lag.Objects, "object")), "run it again with more time (--deadline, or a longer timeout of the function)"}
	}
	return out, err
}

// errNoTime says that a run began no batch because none would have been committed
// before its deadline.
var errNoTime = errors.New("no time is left for a run; nothing was done")

// late says whether the deadline is so near that a run begins no batch: it keeps a
// tenth of its time in reserve.
func (o runOptions) late(deadline time.Time) bool {
	return o.Deadline > 0 && time.Until(deadline) < o.Deadline/10
}

// readRanges reads what show printed: a manifest, or its list of ranges.
func readRanges(c *call, name string) ([]source.Range, error) {
	in := c.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usageError("", "--range: %w", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxRangeFile))
	if err != nil {
		return nil, usageError("", "--range %s: %w", name, err)
	}
	var ranges []source.Range
	if trimmed := strings.TrimSpace(string(text)); strings.HasPrefix(trimmed, "[") {
		err = json.Unmarshal(text, &ranges)
	} else {
		var m struct {
			Batch struct {
				Ranges []source.Range `json:"ranges"`
			} `json:"batch"`
		}
		err = json.Unmarshal(text, &m)
		ranges = m.Batch.Ranges
	}
	const hint = "batcher show SEQ -o json prints them"
	switch {
	case err != nil:
		return nil, usageError(hint, "--range %s: %w", name, err)
	case len(ranges) == 0:
		return nil, usageError(hint, "--range %s: it has no ranges", name)
	}
	return ranges, nil
}

// report turns what a run did into the report of the command line.
func (r *rooms) report(c *call, p pipeline.Report, failure error) report {
	out := report{
		Outcome: string(p.Outcome), Batches: p.Batches,
		Rows:       reportRows{p.Rows.Read, p.Rows.Written, p.Rows.Late, p.Rows.Dead, p.Rows.Duplicate, p.Rows.Replaced},
		Bytes:      reportBytes{p.Bytes.Read, p.Bytes.Written},
		Objects:    reportObjects{p.Objects.Read, p.Objects.Late, p.Objects.Changed, p.Objects.Ignored, p.Objects.Quarantined, p.Objects.Young, p.Objects.Appended, p.Objects.Replaced, int64(len(p.Unreadable))},
		Requests:   p.Requests,
		Progress:   reportProgress{Objects: p.Consumed, Newest: p.Newest},
		Lag:        reportLag{Objects: p.Lag.Objects, Bytes: p.Lag.Bytes, Oldest: p.Lag.Oldest},
		DurationMS: p.Duration.Milliseconds(),
		LeftOut:    leftOut(p.LeftOut),
	}
	if p.Unfounded {
		out.nothingIn = r.input.String()
	}
	if p.Batches > 0 {
		seq := int64(p.Seq)
		out.Seq, out.BatchID, out.Attempt = &seq, p.BatchID.String(), p.Attempt.String()
	}
	if !p.Lag.Oldest.IsZero() {
		out.Lag.Seconds = time.Since(p.Lag.Oldest).Seconds()
	}
	for _, f := range p.Files {
		out.Files = append(out.Files, reportFile{Table: tableOf(f), URI: r.uri(f.Key), Rows: f.Rows, Bytes: f.Size})
	}
	for _, o := range p.Unreadable[:min(len(p.Unreadable), maxUnreadable)] {
		out.Unreadable = append(out.Unreadable, reportUnreadable{o.Key, string(o.Cause), o.Code})
	}
	out.Conflicts = conflicts(string(r.cfg.Table), p.Notes)
	out.Added = addedBy(p.Notes)
	out.Warnings = warnings(p.Notes)
	if p.Seq <= youngSeq {
		out.Unmatched = unmatched(p.Notes)
	}
	out.Query = query(c, out)
	var budget *batch.BudgetError
	if failure != nil && errors.As(failure, &budget) {
		out = out.failed(failure)
		for _, o := range budget.Offenders {
			out.Error.First = append(out.Error.First, fmt.Sprintf("%s at byte %d: %s/%s: %s", o.Source, o.Offset, o.Stage, o.Code, o.Message))
		}
	}
	return out
}

// query says how to read what was committed.
func query(c *call, rep report) string {
	if rep.Batches == 0 || rep.Rows.Written == 0 {
		return ""
	}
	file := ""
	if c.Config != "pipeline.yaml" {
		file = " -c " + c.Config
	}
	return fmt.Sprintf("batcher head%[1]s   or   batcher ddl duckdb --no-extension%[1]s >lake.sql; duckdb -init lake.sql", file)
}

func tableOf(f manifest.File) string {
	name, _, _ := strings.Cut(f.Key, "/")
	return name
}

// conflicts adds up the misfits of all batches by column.
func conflicts(table string, notes []record.Notes) []reportConflict {
	var out []reportConflict
	type fate struct {
		column    string
		discarded bool
	}
	at := map[fate]int{}
	for _, n := range notes {
		for _, m := range n.Misfits {
			i, known := at[fate{m.Column, m.Dropped}]
			if !known {
				i = len(out)
				at[fate{m.Column, m.Dropped}] = i
				out = append(out, reportConflict{Table: table, Column: m.Column, Discarded: m.Dropped, Cure: m.Cure})
			}
			out[i].Count += m.Count
		}
	}
	return out
}

// showStep shows how far a run is.
func showStep(c *call, s pipeline.Step) {
	c.Progress.Update(c.Logger,
		stage{"run", s.Objects, s.Planned, "object", s.Bytes, []string{many(s.Records, "record"), many(s.Batches, "batch")}},
		"objects", s.Objects, "planned", s.Planned, "records", s.Records, "bytes", s.Bytes, "batches", s.Batches)
}
