package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"batcher/commit"
	"batcher/manifest"
	"batcher/pipeline"
)

// movedSource is what adopt --source prints.
type movedSource struct {
	Done    bool         `json:"done"` // false: it only looked
	From    string       `json:"from"`
	To      string       `json:"to"`
	Same    int64        `json:"same_objects"`    // consumed, and there
	Changed int64        `json:"changed_objects"` // consumed with another content
	New     int64        `json:"new_objects"`
	Missing int64        `json:"missing_objects"` // consumed, and not there
	Seq     manifest.Seq `json:"seq,omitempty"`
}

// adoptSource is the verb adopt --source.
func adoptSource(ctx context.Context, c *call, o confirmation) error {
	r, err := open(ctx, c, wiring{Changed: changedCounted})
	if err != nil {
		return err
	}
	look := r.pipeline(c).Look
	if o.Confirm {
		look = r.pipeline(c).Move
	}
	m, err := look(ctx)
	if errors.Is(err, commit.ErrNoChain) {
		return &exitError{Code: exitGap, Err: &notYetError{string(r.cfg.Name), r.store.String()}, Hint: "batcher run begins it where the source is"}
	}
	if moved, ok := errors.AsType[*pipeline.MovedError](err); ok {
		return &exitError{Code: exitGap, Err: err, Hint: moved.Hint}
	}
	if err != nil {
		return err
	}
	out := movedSource{o.Confirm, m.From, m.To, m.Same, m.Changed, m.New, m.Missing, m.Seq}
	if c.Output == outputJSON {
		return printJSON(c, out)
	}
	return printTo(c.Stdout, out.text())
}

func (m movedSource) text() string {
	var b strings.Builder
	switch {
	case m.Seq > 0:
		fmt.Fprintf(&b, "manifest %d takes over the source: it was %s and is %s\n", m.Seq, m.From, m.To)
	case m.Done:
		fmt.Fprintf(&b, "nothing was consumed at %s: the next run reads %s\n", m.From, m.To)
	default:
		fmt.Fprintf(&b, "would take over the source: it was %s and is %s; --confirm does it\n", m.From, m.To)
	}
	for _, part := range []struct {
		n    int64
		what string
	}{{m.Same, "consumed objects are there and will not be read again"}, {m.Changed, "have another content than was consumed (source.files.on_change)"},
		{m.Missing, "consumed objects are not there"}, {m.New, "objects are new"}} {
		if part.n > 0 {
			fmt.Fprintf(&b, "  %d %s\n", part.n, part.what)
		}
	}
	return b.String()
}
