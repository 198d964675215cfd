package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"batcher/dlq"
	"batcher/record"
)

// deadLetters is the verb dlq.
func deadLetters(ctx context.Context, c *call, o dlqOptions) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	head, err := r.chain(ctx)
	if isA[*notYetError](err) && o.Action == "list" {
		return c.notYet(err, dlq.Summary{Groups: []dlq.Group{}, Sources: []dlq.SourceCount{}, Quarantined: []dlq.Quarantined{}})
	}
	if err != nil {
		return err
	}
	if o.changes() {
		if err := r.caughtUp(ctx, c, head); err != nil {
			return err
		}
	}
	q := r.queue(c)
	if c.Output == outputText && (o.Action == "list" || o.Action == "show" || o.Action == "export") {
		if err := o.known(ctx, q); err != nil {
			return err
		}
	}
	switch o.Action {
	case "list":
		return listLetters(ctx, c, q, o)
	case "show":
		return showLetters(ctx, c, q, o)
	case "export":
		return exportLetters(ctx, c, q, o)
	case "replay":
		return r.replayLetters(ctx, c, q, o)
	case "retry":
		return retryObjects(ctx, c, q, o)
	}
	return discardLetters(ctx, c, q, o)
}

// changes says whether the verb may commit something.
func (o dlqOptions) changes() bool {
	switch o.Action {
	case "replay":
		return !o.DryRun
	case "retry":
		return true
	}
	return o.Action == "discard" && o.Confirm
}

// queue wires the dead-letter queue.
func (r *rooms) queue(c *call) *dlq.Queue {
	p := r.pipeline(c)
	return &dlq.Queue{
		Log: p.Log, Store: p.Store, Source: p.Source, Set: p.Set, Config: p.Config, Table: p.Table, Dead: p.Dead,
		Rules: p.Rules, Record: p.Record, Format: p.Format, File: p.File, FileBytes: p.FileBytes,
		Random: rand.Reader, Logger: c.Logger,
	}
}

func listLetters(ctx context.Context, c *call, q *dlq.Queue, o dlqOptions) error {
	s, err := q.List(ctx, o.Filter)
	if err != nil {
		return err
	}
	if c.Output == outputJSON {
		return printJSON(c, s)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s at manifest %d\n", many(s.Letters, "dead letter"), s.Seq)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(s.Groups) > 0 {
		fmt.Fprintln(w, "\nLETTERS\tSTAGE\tCODE\tFIRST\tMESSAGE")
	}
	for _, g := range s.Groups {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", g.Letters, g.Stage, g.Code, printable(g.First.String()), printable(g.Message))
	}
	if len(s.Sources) > 0 {
		fmt.Fprintln(w, "\nLETTERS\tOBJECT")
	}
	for _, n := range s.Sources {
		fmt.Fprintf(w, "%d\t%s\n", n.Letters, printable(n.Source))
	}
	if s.Others > 0 {
		fmt.Fprintf(w, "…\tand %d more\n", s.Others)
	}
	if len(s.Quarantined) > 0 {
		fmt.Fprintln(w, "\nQUARANTINED OBJECT\tBYTES\tMESSAGE")
	}
	for _, x := range s.Quarantined {
		fmt.Fprintf(w, "%s\t%d\t%s\n", printable(x.Source), x.Size, printable(x.Message))
	}
	_ = w.Flush() // into memory
	return printTo(c.Stdout, b.String())
}

func showLetters(ctx context.Context, c *call, q *dlq.Queue, o dlqOptions) error {
	if c.Output == outputJSON {
		return exportLetters(ctx, c, q, o)
	}
	shown := int64(0)
	err := q.Letters(ctx, o.Filter, func(l *record.DeadLetter) error {
		shown++
		return printTo(c.Stdout, letterText(l))
	})
	if err == nil {
		err = o.told(ctx, c, q, shown)
	}
	if err == nil && len(o.Filter.IDs) > 0 && shown == 0 {
		return &exitError{Code: exitUsage, Err: errors.New("no such dead letter"), Hint: "batcher dlq list says which there are; one that was replayed or discarded is dead no more"}
	}
	return err
}

// told says how many letters show left out, and that it knows no such code or stage.
func (o dlqOptions) told(ctx context.Context, c *call, q *dlq.Queue, shown int64) error {
	if shown < o.Filter.Limit || o.Filter.Limit == 0 {
		return nil
	}
	all := o.Filter
	all.Limit = 0
	s, err := q.List(ctx, all)
	if err != nil {
		return err
	}
	if shown < s.Letters {
		return printTo(c.Stdout, fmt.Sprintf("%s of %s shown; --limit shows more\n", grouped(shown), many(s.Letters, "dead letter")))
	}
	return nil
}

// known refuses codes and stages that no dead letter has, unless there is none at all: of
// a typing error nobody should learn by silence. As JSON the answer is that there are none.
func (o dlqOptions) known(ctx context.Context, q *dlq.Queue) error {
	if len(o.Filter.Codes)+len(o.Filter.Stages) == 0 {
		return nil
	}
	s, err := q.List(ctx, dlq.Filter{})
	if err != nil {
		return err
	}
	var codes, stages []string
	for _, g := range s.Groups {
		codes, stages = append(codes, g.Code), append(stages, g.Stage)
	}
	for _, x := range []struct {
		flag         string
		asked, there []string
	}{{"code", o.Filter.Codes, codes}, {"stage", o.Filter.Stages, stages}} {
		there := slices.Compact(slices.Sorted(slices.Values(x.there)))
		for _, word := range x.asked {
			if len(there) > 0 && !slices.Contains(there, word) {
				return usageError("there are "+strings.Join(there, ", "), "--%s %s: no dead letter has it", x.flag, word)
			}
		}
	}
	return nil
}

// letterText is a letter for people.
func letterText(l *record.DeadLetter) string {
	id := dlq.ID{Source: l.Source, Offset: l.Offset}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s/%s  %s", printable(id.String()), l.Stage, l.Code, many(l.Length, "byte"))
	if n := int64(len(l.Raw)); n > 0 && n < l.Length {
		fmt.Fprintf(&b, ", the first %d of them here", n)
	}
	fmt.Fprintf(&b, "\n  %s\n", printable(l.Message))
	if !utf8.Valid(l.Raw) {
		fmt.Fprintf(&b, "  %+q\n", l.Raw)
		return b.String()
	}
	for line := range strings.Lines(string(l.Raw)) {
		fmt.Fprintf(&b, "  %s\n", printable(strings.TrimSuffix(line, "\n")))
	}
	return b.String()
}

func exportLetters(ctx context.Context, c *call, q *dlq.Queue, o dlqOptions) error {
	out := bufio.NewWriterSize(c.Stdout, 1<<20)
	var line []byte
	err := q.Letters(ctx, o.Filter, func(l *record.DeadLetter) (err error) {
		if line, err = dlq.AppendLine(line[:0], l); err != nil {
			return err
		}
		return printTo(out, string(line))
	})
	if flushErr := out.Flush(); err == nil && flushErr != nil {
		err = &exitError{Code: exitTemporary, Err: flushErr, Hint: "the result could not be written"}
	}
	return err
}

// changed is what replay and discard print.
type changed struct {
	dlq.Report
	Attempt string `json:"attempt"` // "" where nothing was changed
}

func changedBy(r dlq.Report) changed {
	if r.Outcome == dlq.Committed {
		return changed{r, r.Attempt.String()}
	}
	return changed{Report: r}
}

// replayed is what replay prints.
type replayed struct {
	changed
	Conflicts []reportConflict `json:"conflicts"`
}

func (r *rooms) replayLetters(ctx context.Context, c *call, q *dlq.Queue, o dlqOptions) error {
	opts := dlq.ReplayOptions{Filter: o.Filter, Mode: dlq.Confirm}
	if o.DryRun {
		opts.Mode = dlq.DryRun
	}
	var err error
	if o.File != "" {
		if opts.Edits, err = readEdits(c, o.File); err != nil {
			return err
		}
	}
	rep, err := q.Replay(ctx, opts)
	if err != nil {
		return err
	}
	out := replayed{changedBy(rep), listed(conflicts(string(r.cfg.Table), []record.Notes{rep.Notes}))}
	if c.Output == outputJSON {
		err = printJSON(c, out)
	} else {
		err = printTo(c.Stdout, out.text())
	}
	if err == nil && rep.Refused > 0 {
		err = &exitError{Code: exitGap, Err: fmt.Errorf("not tried: %s; the others were", many(rep.Refused, "dead letter")), Hint: "each says why; batcher dlq replay -o json lists the first"}
	}
	return err
}

// readEdits reads letters from a file, or from stdin.
func readEdits(c *call, name string) (map[dlq.ID]dlq.Edit, error) {
	in := c.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usageError("", "read letters: %w", err)
		}
		defer f.Close()
		in = f
	}
	edits, err := dlq.ReadEdits(in)
	if err != nil {
		return nil, usageError("a line is what batcher dlq export prints, with another raw or an object under record", "read letters: %w", err)
	}
	return edits, nil
}

// text is the report for people.
func (r replayed) text() string {
	var b strings.Builder
	switch r.Outcome {
	case dlq.Committed:
		fmt.Fprintf(&b, "manifest %d: %s became rows", r.Seq, many(r.Replayed, "dead letter"))
	case dlq.Dry:
		fmt.Fprintf(&b, "%s would become rows", many(r.Replayed, "dead letter"))
	default:
		fmt.Fprintf(&b, "nothing was changed: %s became rows", many(r.Replayed, "dead letter"))
	}
	fmt.Fprintf(&b, "; stay dead: %d, not tried: %d, dead no more: %d\n", r.Dead, r.Refused, r.Already)
	for _, e := range r.Examples {
		what := string(e.Fate)
		if e.Code != "" {
			what += " " + e.Code
		}
		fmt.Fprintf(&b, "  %s  %s: %s\n", printable(e.String()), what, printable(e.Reason))
	}
	for _, x := range r.Conflicts {
		fmt.Fprintf(&b, "  %s\n", printable(x.String()))
	}
	return b.String()
}

func retryObjects(ctx context.Context, c *call, q *dlq.Queue, o dlqOptions) error {
	rep, err := q.Retry(ctx, o.Filter)
	if err != nil {
		return err
	}
	var b strings.Builder
	refused := 0
	if len(rep.Objects) == 0 {
		b.WriteString("no quarantined object\n")
	}
	for _, x := range rep.Objects {
		fmt.Fprintf(&b, "%s: %s", printable(x.Source), x.Result)
		switch x.Result {
		case dlq.Read:
			fmt.Fprintf(&b, " by manifest %d: %s, %s, %s", x.Seq, many(x.Rows.Read, "record"), many(x.Rows.Written, "row"), many(x.Rows.Dead, "dead letter"))
		case dlq.Gone, dlq.Skipped:
			refused++
		}
		if x.Reason != "" {
			fmt.Fprintf(&b, ": %s", printable(x.Reason))
		}
		b.WriteByte('\n')
	}
	if c.Output == outputJSON {
		err = printJSON(c, rep)
	} else {
		err = printTo(c.Stdout, b.String())
	}
	if err == nil && refused > 0 {
		err = &exitError{Code: exitGap, Err: fmt.Errorf("%s cannot be read again", many(refused, "quarantined object")), Hint: "batcher dlq discard gives one up for good"}
	}
	return err
}

func discardLetters(ctx context.Context, c *call, q *dlq.Queue, o dlqOptions) error {
	mode := dlq.DryRun
	if o.Confirm {
		mode = dlq.Confirm
	}
	rep, err := q.Discard(ctx, o.Filter, mode)
	if err != nil {
		return err
	}
	if c.Output == outputJSON {
		return printJSON(c, changedBy(rep))
	}
	switch rep.Outcome {
	case dlq.Committed:
		return printTo(c.Stdout, fmt.Sprintf("manifest %d discards %s\n", rep.Seq, many(rep.Discarded, "dead letter")))
	case dlq.Dry:
		return printTo(c.Stdout, fmt.Sprintf("would discard %s; --confirm does it\n", many(rep.Discarded, "dead letter")))
	}
	return printTo(c.Stdout, "no such dead letters\n")
}
