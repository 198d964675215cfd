package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"batcher/manifest"
	"batcher/object"
	"batcher/pipeline"
	"batcher/source/files"
)

// statusReport is what status prints.
type statusReport struct {
	Pipeline string         `json:"pipeline"`
	Store    string         `json:"store"`
	Seq      manifest.Seq   `json:"seq"`
	Kind     manifest.Kind  `json:"kind"`
	Created  time.Time      `json:"created_at"`
	Progress reportProgress `json:"progress"`
	Open     int            `json:"open_objects"` // consumed in part
	Lag      reportLag      `json:"lag"`
	Late     int64          `json:"late_objects"`    // waiting, older than the lookback
	Changed  int64          `json:"changed_objects"` // consumed, with other content now
	Young    int64          `json:"young_objects"`   // waiting to settle
	Ignored  int64          `json:"ignored_objects"`
	Tables   []statusTable  `json:"tables"`
	Orphans  int64          `json:"orphan_bytes"` // in table folders, not live
	Delta    []published    `json:"delta,omitempty"`

	New bool `json:"new_pipeline,omitempty"` // it has not run yet
	// Unreadable are some of those that runs have passed over, tried now.
	Unreadable []reportUnreadable `json:"unreadable"`
	LeftOut    []reportLeftOut    `json:"left_out"`
}

type statusTable struct {
	Table string `json:"table"`
	Files int64  `json:"files"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
}

// status is the verb status.
func status(ctx context.Context, c *call, o statusOptions) error {
	r, err := open(ctx, c, wiring{OnGap: gapSkip, Changed: changedCounted})
	if err != nil {
		return err
	}
	s, err := r.chain(ctx)
	if isA[*notYetError](err) {
		rep, err := r.statusBefore(ctx, c, err)
		return o.judge(rep, err)
	}
	if err != nil {
		return err
	}
	rep, err := r.status(ctx, s)
	if err != nil {
		return err
	}
	if c.Output == outputJSON {
		err = printJSON(c, rep)
	} else {
		err = printTo(c.Stdout, rep.text())
	}
	return o.judge(rep, err)
}

// judge holds the lag against what the command line allows.
func (o statusOptions) judge(rep statusReport, err error) error {
	if err != nil {
		return err
	}
	lag := time.Duration(rep.Lag.Seconds * float64(time.Second))
	if o.MaxLag != nil && lag > *o.MaxLag {
		return &exitError{Code: exitLag, Err: fmt.Errorf("lag %s is above %s", lag.Truncate(time.Second), *o.MaxLag)}
	}
	return nil
}

func (r *rooms) status(ctx context.Context, s manifest.Snapshot) (statusReport, error) {
	m := s.Manifest
	plan, err := r.source.Plan(ctx, m.Progress.Files, r.set, time.Now())
	if err != nil {
		return statusReport{}, err
	}
	rep := statusReport{
		Pipeline: m.Pipeline, Store: r.store.String(), Seq: m.Seq, Kind: m.Kind, Created: m.CreatedAt,
		Lag:  lagOf(plan),
		Late: plan.Counts.Late, Changed: plan.Counts.Changed, Young: plan.Counts.Young, Ignored: plan.Counts.Ignored,
		Tables: []statusTable{}, Unreadable: []reportUnreadable{}, LeftOut: leftOut(plan.LeftOut),
	}
	if rep.Lag.Bytes > 0 {
		d, err := r.density(ctx, s)
		if err != nil {
			return rep, err
		}
		rep.Lag.Records = d.in(rep.Lag.Bytes)
	}
	if f := m.Progress.Files; f != nil {
		rep.Progress = reportProgress{Objects: f.Count, Newest: f.Newest}
		rep.Open = len(f.Open)
		rep.Unreadable = r.unreadable(ctx, plan, f.Newest)
	}
	if rep.Delta, err = r.published(ctx, s); err != nil {
		return rep, err
	}
	for _, name := range sortedKeys(m.Tables) {
		t := m.Tables[name]
		rep.Tables = append(rep.Tables, statusTable{name, t.Live.Files, t.Live.Rows, t.Live.Bytes})
		rep.Orphans -= t.Live.Bytes
		for info, err := range r.store.List(ctx, manifest.TableData(name), object.Deep) {
			if err != nil {
				return rep, err
			}
			rep.Orphans += info.Size
		}
	}
	return rep, nil
}

// maxTried is how many objects status tries to read, to say why they wait.
const maxTried = 100

// unreadable tries the objects that are left though younger ones are consumed, and
// returns those which cannot be read.
func (r *rooms) unreadable(ctx context.Context, plan *files.Plan, newest time.Time) []reportUnreadable {
	var passed []files.Object
	for _, o := range plan.Objects {
		if !o.Modified.After(newest) && len(passed) < maxTried {
			passed = append(passed, o)
		}
	}
	ctx = object.Hurried(ctx)
	causes := make([]*files.UnreadableError, len(passed))
	slots, all := make(chan struct{}, 16), sync.WaitGroup{}
	for i := range passed {
		slots <- struct{}{}
		all.Go(func() {
			if causes[i] = pipeline.Misnamed(rulesOf(r.cfg), passed[i].Key); causes[i] == nil {
				causes[i] = r.source.Try(ctx, passed[i])
			}
			<-slots
		})
	}
	all.Wait()
	out := []reportUnreadable{}
	for _, u := range append(causes, plan.Unreadable...) {
		if u != nil {
			out = append(out, reportUnreadable{u.Key, string(u.Cause), u.Code})
		}
	}
	return out
}

func lagOf(p *files.Plan) reportLag {
	lag := reportLag{Objects: p.Lag.Objects, Bytes: p.Lag.Bytes, Oldest: p.Lag.Oldest}
	if !lag.Oldest.IsZero() {
		lag.Seconds = time.Since(lag.Oldest).Seconds()
	}
	return lag
}

func (s statusReport) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pipeline %s in %s\n", s.Pipeline, s.Store)
	fmt.Fprintf(&b, "head     manifest %d (%s) of %s\n", s.Seq, s.Kind, s.Created.Format(time.RFC3339))
	fmt.Fprintf(&b, "consumed %s", many(s.Progress.Objects, "object"))
	if s.Progress.Objects > 0 {
		fmt.Fprintf(&b, ", the newest of %s", s.Progress.Newest.Format(time.RFC3339))
	}
	b.WriteString("\n")
	fmt.Fprintf(&b, "left     %s, %s", many(s.Lag.Objects, "object"), sized(s.Lag.Bytes))
	if s.Lag.Records > 0 {
		fmt.Fprintf(&b, ", about %s", many(s.Lag.Records, "record"))
	}
	if s.Lag.Objects > 0 {
		fmt.Fprintf(&b, ", the oldest %s old", time.Duration(s.Lag.Seconds*float64(time.Second)).Truncate(time.Second))
	}
	b.WriteString("\n")
	s.counts(&b)
	for _, o := range s.Unreadable {
		fmt.Fprintf(&b, "         %s\n", o)
	}
	for _, t := range s.Tables {
		fmt.Fprintf(&b, "table    %s: %s in %s, %s\n", t.Table, many(t.Rows, "row"), many(t.Files, "file"), sized(t.Bytes))
	}
	for _, p := range s.Delta {
		fmt.Fprintf(&b, "delta    %s\n", p)
	}
	return b.String()
}

// counts tells what is to be known of objects, where there are such.
func (s statusReport) counts(b *strings.Builder) {
	for _, part := range []struct {
		n    int64
		what string
	}{{int64(s.Open), "objects consumed in part"}, {s.Late, "of them late"}, {s.Changed, "consumed objects changed since"},
		{s.Young, "objects too young"}, {s.Orphans, "bytes in data files that are not live (batcher gc)"}} {
		if part.n > 0 {
			fmt.Fprintf(b, "         %d %s\n", part.n, part.what)
		}
	}
	for _, o := range s.LeftOut {
		fmt.Fprintf(b, "         %s\n", o)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
