package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"batcher/manifest"
	"batcher/schema"
	"batcher/segment"
)

// notYetError says that a pipeline has no manifest.
type notYetError struct{ pipeline, store string }

// Error says so.
func (e *notYetError) Error() string {
	return fmt.Sprintf("pipeline %s has not run yet: nothing of it is in %s", e.pipeline, e.store)
}

// notYet answers a question about a pipeline that has not run yet, where that is
// nothing wrong: in JSON with an empty answer, for people in words.
func (c *call) notYet(err error, empty any) error {
	if c.Output == outputJSON {
		return printJSON(c, empty)
	}
	return printTo(c.Stdout, err.Error()+"; batcher run begins it\n")
}

// statusBefore is the status before the first run: what there is to read.
func (r *rooms) statusBefore(ctx context.Context, c *call, notYet error) (statusReport, error) {
	plan, err := r.source.Plan(ctx, nil, r.set, time.Now())
	if err != nil {
		return statusReport{}, err
	}
	rep := statusReport{
		Pipeline: string(r.cfg.Name), Store: r.store.String(), New: true, Lag: lagOf(plan),
		Late: plan.Counts.Late, Young: plan.Counts.Young, Ignored: plan.Counts.Ignored,
		Tables: []statusTable{}, Unreadable: []reportUnreadable{}, LeftOut: leftOut(plan.LeftOut),
	}
	if c.Output == outputJSON {
		return rep, printJSON(c, rep)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s; batcher run begins it\n", notYet)
	fmt.Fprintf(&b, "left     %s, %s under %s\n", many(rep.Lag.Objects, "object"), sized(rep.Lag.Bytes), r.input)
	rep.counts(&b)
	return rep, printTo(c.Stdout, b.String())
}

// empty is a table that the next run brings in: of a pipeline that has consumed nothing
// and whose file names it since.
func (r *rooms) empty(name string) (manifest.Table, error) {
	s := &schema.Schema{Fields: schema.Reserved(), LastID: schema.LastReserved}
	if name == string(r.cfg.DeadLetters.Table) {
		s = schema.DeadLetters()
	}
	ref, err := manifest.NewSchemaRef(s, segment.NewPack(""))
	return manifest.Table{Version: -1, Schema: ref}, err
}
