package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"batcher/commit"
	"batcher/config"
	"batcher/datafile"
	"batcher/manifest"
	"batcher/object"
	"batcher/table/delta"
)

// maxProjectionLag is how old the oldest version may be that is not published before a
// run commits no more: half of the time after which a VACUUM of another engine deletes
// files that no Delta log names.
const maxProjectionLag = 84 * time.Hour

// publishes wires the projection, if the pipeline file asks for it: after each commit
// the tables that it touched are published.
func (r *rooms) publishes(c *call) {
	if !slices.Contains(r.cfg.Publish, config.FormatDelta) {
		return
	}
	r.delta = delta.New(delta.Options{Log: r.log, Store: r.store, Clock: wallClock{}, Logger: c.Logger})
	r.log.OnCommit(func(ctx context.Context, _ commit.Receipt, head manifest.Snapshot) error {
		_, err := r.delta.Publish(ctx, head)
		return err
	})
}

// caughtUp is catchUp for the other verbs that write files: what no Delta log names a
// VACUUM of another engine may delete, whoever wrote it.
func (r *rooms) caughtUp(ctx context.Context, c *call, head manifest.Snapshot) error {
	if first := r.catchUp(c); first != nil {
		return first(ctx, head)
	}
	return nil
}

// catchUp is what a run does first: it publishes what earlier ones left. A table with
// a foreign commit ends the run before it commits anything, and so does damage. What
// fails otherwise waits for the next run, but not for ever.
func (r *rooms) catchUp(c *call) func(context.Context, manifest.Snapshot) error {
	if r.delta == nil {
		return nil
	}
	return func(ctx context.Context, head manifest.Snapshot) error {
		_, err := r.delta.Publish(ctx, head)
		if isA[*delta.ConflictError](err) && r.cfg.PublishOnConflict == config.OnConflictContinue {
			c.Logger.Warn("a table has a foreign commit and is not published; batcher publish --rebuild restores it", "error", err)
			return nil
		}
		if errors.Is(err, commit.ErrExpired) {
			return &exitError{exitUnavailable, err, "batcher publish --rebuild --confirm begins the Delta tables with what is live"}
		}
		if err == nil || isA[*delta.ConflictError](err) || errors.Is(err, commit.ErrDamaged) || ctx.Err() != nil {
			return err
		}
		states, lagErr := r.delta.Status(ctx, head)
		if lagErr != nil {
			return errors.Join(err, lagErr)
		}
		for _, s := range states {
			if !s.Derived && !s.Oldest.IsZero() && time.Since(s.Oldest) > maxProjectionLag {
				return &exitError{exitUnavailable, fmt.Errorf("table %s has versions from %s on that cannot be published: %w", s.Table, s.Oldest.Format(time.RFC3339), err),
					"nothing was committed"}
			}
		}
		c.Logger.Warn("tables are not published; a later run tries again", "error", err)
		return nil
	}
}

// publishAll publishes until every table is up to the head or cannot be brought
// further: the table of batches is brought up in steps.
func (r *rooms) publishAll(ctx context.Context, head manifest.Snapshot) ([]delta.State, error) {
	for before := delta.Version(-1); ; {
		states, err := r.delta.Publish(ctx, head)
		if len(states) == 0 {
			return states, err
		}
		batches := states[len(states)-1]
		if err != nil || batches.Err != nil || batches.Lag() == 0 || batches.Projected <= before {
			return states, errors.Join(err, batchesError(batches))
		}
		before = batches.Projected
	}
}

// batchesError is what keeps the table of batches from being published, with the cure
// where its log or one of its files is the reason; nil: nothing does.
func batchesError(s delta.State) error {
	for _, damage := range []error{commit.ErrDamaged, commit.ErrExpired, datafile.ErrDamaged, object.ErrNotFound} {
		if s.Conflict != nil || errors.Is(s.Err, damage) {
			return &exitError{exitUnavailable, s.Err, batchesCure(s.Table)}
		}
	}
	return s.Err
}

// batchesCure is what to do about a table of batches that others wrote into or deleted
// from.
func batchesCure(table string) string {
	return "delete the folder " + table + ": no data depends on it, and the next publish makes it anew from the first retained manifest on"
}

// everythingPublished refuses to forget what a table needs that is not published yet.
func (r *rooms) everythingPublished(ctx context.Context, head manifest.Snapshot) error {
	if r.delta == nil {
		return nil
	}
	states, err := r.publishAll(ctx, head)
	if n := len(states); n > 0 && errors.Is(states[n-1].Err, commit.ErrForeign) {
		_, err = r.delta.Publish(ctx, head) // another pipeline has the name: no table of batches will ever need anything
	}
	if err != nil {
		return fmt.Errorf("nothing was expired, because readers of a Delta table still need it: %w", err)
	}
	return nil
}

// cleanLogs deletes what no reader needs from the Delta logs, or only finds it.
func (r *rooms) cleanLogs(ctx context.Context, head manifest.Snapshot, o gcOptions) (*cleanedLogs, error) {
	if r.delta == nil {
		return nil, nil
	}
	var total cleanedLogs
	for _, table := range append(sortedKeys(head.Manifest.Tables), delta.BatchesTable(string(r.cfg.Name))) {
		clean := r.delta.Stale
		if o.Confirm {
			clean = r.delta.Clean
		}
		done, err := clean(ctx, table)
		if err != nil {
			return nil, err
		}
		total.Versions += done.Versions
		total.Checkpoints += done.Checkpoints
		total.Files += done.Files
	}
	return &total, nil
}

// cleanedLogs are objects of Delta logs that were deleted, or would be.
type cleanedLogs struct {
	Versions    int64 `json:"versions"`
	Checkpoints int64 `json:"checkpoints"`
	Files       int64 `json:"batches_files"` // of the table of batches
}

// published is what publish and status print of one table.
type published struct {
	Table    string     `json:"table"`
	Version  int64      `json:"version"`          // in the chain; -1: nothing was written to the table yet
	Visible  int64      `json:"published"`        // version that readers see
	Lag      int64      `json:"lag"`              // versions that they do not see yet
	Oldest   *time.Time `json:"oldest,omitempty"` // when the first of these was committed
	Conflict string     `json:"conflict,omitempty"`
	Error    string     `json:"error,omitempty"` // that is no conflict
	derived  bool
}

// String says it in a line.
func (p published) String() string {
	switch {
	case p.Conflict != "":
		return fmt.Sprintf("%s: in conflict: %s", p.Table, p.Conflict)
	case p.Error != "":
		return fmt.Sprintf("%s: %s", p.Table, p.Error)
	case p.Version < 0:
		return p.Table + ": nothing was written yet"
	}
	text := fmt.Sprintf("%s: version %d", p.Table, p.Visible)
	if p.Visible < 0 {
		text = p.Table + ": not published yet"
	}
	if p.Lag > 0 {
		text += fmt.Sprintf(", %d behind", p.Lag)
	}
	if p.Lag > 0 && p.Oldest != nil {
		text += ", the oldest of " + p.Oldest.Format(time.RFC3339)
	}
	return text
}

func publishedOf(states []delta.State) []published {
	out := make([]published, len(states))
	for i, s := range states {
		out[i] = published{Table: s.Table, Version: int64(s.Chain), Visible: int64(s.Projected), Lag: s.Lag(), derived: s.Derived}
		if !s.Oldest.IsZero() {
			out[i].Oldest = &s.Oldest
		}
		if s.Conflict != nil {
			out[i].Conflict = s.Conflict.Error()
		} else if s.Err != nil {
			out[i].Error = s.Err.Error()
		}
	}
	return out
}

// published says how far the tables are published; nothing if they are not.
func (r *rooms) published(ctx context.Context, head manifest.Snapshot) ([]published, error) {
	if r.delta == nil {
		return nil, nil
	}
	states, err := r.delta.Status(ctx, head)
	return publishedOf(states), err
}

// publish is the verb publish.
func publish(ctx context.Context, c *call, o publishOptions) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	if r.delta == nil {
		return &exitError{exitConfig, errors.New("the pipeline file publishes nothing"), "publish: [delta]"}
	}
	head, err := r.chain(ctx)
	if err != nil {
		return err
	}
	states, failed := r.publishAll(ctx, head)
	if o.Rebuild && o.Confirm && curable(states) {
		if head, err = r.rebuild(ctx, head, states); err != nil {
			return err
		}
		states, failed = r.publishAll(ctx, head)
	}
	if err := printPublished(c, o, head, publishedOf(states)); err != nil {
		return err
	}
	if o.Rebuild && !o.Confirm && curable(states) {
		return nil // it said what it would do
	}
	return failed
}

// curable says whether a rebuild helps where publishing failed.
func curable(states []delta.State) bool {
	return slices.ContainsFunc(states, func(s delta.State) bool {
		return !s.Derived && (s.Conflict != nil || errors.Is(s.Err, commit.ErrExpired))
	})
}

// rebuild has the tables that cannot be published go on with a version that restores
// them: behind foreign commits, and behind a history that is not retained.
func (r *rooms) rebuild(ctx context.Context, head manifest.Snapshot, states []delta.State) (manifest.Snapshot, error) {
	for _, s := range states {
		if s.Derived || s.Conflict == nil && s.Lag() == 0 {
			continue
		}
		var attempt manifest.Attempt
		if _, err := io.ReadFull(rand.Reader, attempt[:]); err != nil {
			return head, err
		}
		var err error
		if head, err = r.delta.Rebuild(ctx, head, s.Table, attempt); err != nil {
			return head, err
		}
	}
	return head, nil
}

func printPublished(c *call, o publishOptions, head manifest.Snapshot, tables []published) error {
	if c.Output == outputJSON {
		return printJSON(c, struct {
			Done   bool         `json:"done"` // false: a rebuild only said what it would do
			Seq    manifest.Seq `json:"seq"`  // head
			Tables []published  `json:"tables"`
		}{!o.Rebuild || o.Confirm, head.Manifest.Seq, tables})
	}
	var b strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&b, "%s\n", t)
		if (t.Conflict != "" || t.Lag > 0) && !t.derived && o.Rebuild && !o.Confirm {
			b.WriteString("  would be restored by a version behind what is there; --confirm does it\n")
		}
	}
	return printTo(c.Stdout, b.String())
}
