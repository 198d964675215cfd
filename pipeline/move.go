package pipeline

import (
	"context"
	"fmt"

	"batcher/commit"
	"batcher/manifest"
	"batcher/output"
)

// Moved says what a source is like that stands at another location than it was consumed
// at.
type Moved struct {
	From, To string
	Same     int64        // consumed objects that are there
	Changed  int64        // keys that were consumed with another content
	New      int64        // objects that later runs will read
	Missing  int64        // consumed objects that are not there, or not to be read now
	Renamed  []string     // new objects with a content that was consumed under another key
	Seq      manifest.Seq // of the manifest that took the source over; 0 if none did
}

// MovedError says why a source is not taken over.
type MovedError struct {
	Reason string
	Hint   string
}

// Error gives the reason.
func (e *MovedError) Error() string { return "the source is not taken over: " + e.Reason }

// Look compares the source with what was consumed at another location. Nothing is
// changed.
func (p *Pipeline) Look(ctx context.Context) (Moved, error) {
	_, moved, err := p.look(ctx)
	return moved, err
}

// Move takes the source over at its new location: one manifest of kind data, without a
// range, has the new location and gives the entries of the objects that are there their
// identity of now. A run under the settings from before cannot commit after it, and
// commits before it at the place from before; then this looks again.
func (p *Pipeline) Move(ctx context.Context) (Moved, error) {
	for range maxReencodes {
		r, moved, err := p.look(ctx)
		if err != nil || r == nil {
			return moved, err
		}
		b := &prepared{base: r.head, main: output.New(output.Options{}), dead: output.New(output.Options{})}
		if b.attempt, err = p.draw(); err != nil {
			return moved, err
		}
		out, err := r.propose(ctx, b)
		if err != nil {
			return moved, err
		}
		if out.Verdict == commit.Committed {
			moved.Seq = out.Receipt.Seq()
			return moved, nil
		}
	}
	return Moved{}, fmt.Errorf("take the source over: lost %d races: %w", maxReencodes, commit.ErrUnresolved)
}

// look plans the source against the head. It returns no run where there is nothing to
// take over.
func (p *Pipeline) look(ctx context.Context) (*run, Moved, error) {
	head, err := p.Log.Head(ctx)
	if err != nil {
		return nil, Moved{}, err
	}
	was := head.Manifest.Config
	moved := Moved{From: was.Source, To: p.Config.Source}
	was.Source = p.Config.Source
	if err := was.Admits(p.Config); err != nil {
		return nil, moved, err
	}
	f := head.Manifest.Progress.Files
	switch {
	case moved.From == moved.To:
		return nil, moved, &MovedError{"the pipeline file names the place that it was read at", "set source.files.path to the new place first"}
	case head.Fresh():
		return nil, moved, nil // any place will do
	case len(f.Open) > 0:
		return nil, moved, &MovedError{fmt.Sprintf("%d objects are consumed in part, the first is %q", len(f.Open), f.Open[0].Key), "batcher run at the place from before finishes them"}
	}
	r := &run{Pipeline: p, head: head, begun: p.Clock.Now(), unread: newUnread(), leftOut: true}
	p.Set.PassNothingOver()
	if r.plan, err = p.Source.From(moved.From).Plan(ctx, f, p.Set, r.begun); err != nil {
		return nil, moved, err
	}
	moved.Same, moved.Changed, moved.New = int64(len(r.plan.Touched))+r.plan.Counts.Consumed, r.plan.Counts.Changed, r.plan.Lag.Objects
	moved.Missing = max(f.Count-moved.Same-moved.Changed, 0)
	if moved.Same == 0 {
		return nil, moved, &MovedError{fmt.Sprintf("none of the %d objects that were consumed is at %s", f.Count, moved.To), "keys below source.files.path have to be what they were; another source is another pipeline"}
	}
	if moved.Missing == 0 {
		return r, moved, nil
	}
	if moved.Renamed, err = p.Source.Known(ctx, f, p.Set, r.plan.Objects); err != nil {
		return nil, moved, err
	}
	if n := len(moved.Renamed); n > 0 {
		return nil, moved, &MovedError{fmt.Sprintf("%d objects have a content that was consumed under another key, and would be read again; the first is %q", n, moved.Renamed[0]),
			"give them their keys back, or leave them out (source.files.exclude)"}
	}
	return r, moved, nil
}
