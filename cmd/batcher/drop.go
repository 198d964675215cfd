package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"batcher/commit"
	"batcher/compact"
	"batcher/table/delta"
)

// dropped is what drop prints.
type dropped struct {
	Done bool `json:"done"` // false: it only listed
	compact.DropReport
}

// drop is the verb drop. It asks nothing of the pipeline file but where the pipeline is:
// that settings were changed may be why it has to go.
func drop(ctx context.Context, c *call, o confirmation) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	d := &compact.Drop{
		Log:    commit.New(commit.Options{Store: r.store, Pipeline: string(r.cfg.Name), Clock: wallClock{}, Logger: c.Logger, Writer: writer()}),
		Store:  r.store,
		Tables: []string{string(r.cfg.Table), string(r.cfg.DeadLetters.Table), delta.BatchesTable(string(r.cfg.Name))},
		Logger: c.Logger,
	}
	out := dropped{Done: o.Confirm}
	if o.Confirm {
		out.DropReport, err = d.Run(ctx)
	} else {
		out.DropReport, err = d.List(ctx)
	}
	if errors.Is(err, commit.ErrNoChain) {
		return &exitError{Code: exitGap, Err: &notYetError{string(r.cfg.Name), r.store.String()}}
	}
	if err != nil {
		return err
	}
	if c.Output == outputJSON {
		return printJSON(c, out)
	}
	return printTo(c.Stdout, out.text(string(r.cfg.Name), r.store.String()))
}

func (d dropped) text(pipeline, store string) string {
	did := "would delete"
	if d.Done {
		did = "deleted"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s pipeline %s in %s: %s, %s\n", did, pipeline, store, many(d.Objects, "object"), sized(d.Bytes))
	for _, f := range d.Folders {
		fmt.Fprintf(&b, "  %s: %s, %s\n", f.Folder, many(f.Objects, "object"), sized(f.Bytes))
	}
	if !d.Done {
		b.WriteString("stop its writers first; --confirm does it\n")
	}
	return b.String()
}
