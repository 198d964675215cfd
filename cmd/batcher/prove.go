package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"batcher/audit"
	"batcher/commit"
	"batcher/compact"
	"batcher/config"
)

// verify is the verb verify.
func verify(ctx context.Context, c *call, o verifyOptions) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	// A damaged chain is for the proof to tell, a pipeline file that does not fit is not:
	// it would be told as damage.
	head, err := r.chain(ctx)
	if err == nil {
		o.Since, err = resolve(o.Since, head)
	}
	switch {
	case err == nil && o.Since > head.Manifest.Seq:
		return usageError(fmt.Sprintf("manifests 0 to %d are there", head.Manifest.Seq), "--since %d: there is no such manifest", o.Since)
	case err != nil && !errors.Is(err, commit.ErrDamaged):
		return err
	}
	v := r.verifier(c)
	v.Step = func(what string, done, total int64) {
		c.step(stage{what: "verify", done: done, total: total, unit: what})
	}
	rep, err := v.Verify(ctx, audit.Options{Since: o.Since, Checks: o.checks()})
	if err != nil {
		return err
	}
	p := proof{Report: rep}
	if r.delta != nil && head.Manifest != nil {
		err := p.logs(ctx, r, head, o.Since)
		if err != nil && len(p.Violations) == 0 {
			return err
		}
		if err != nil {
			c.Logger.Warn("the Delta logs could not be held against the chain", "error", err)
		}
	}
	if err := printVerified(c, o, p); err != nil {
		return err
	}
	if n := len(p.Violations); n > 0 {
		return &exitError{Code: exitDamaged, Err: fmt.Errorf("verify found %d violations", n), Hint: "nothing was changed; docs/OPERATIONS.md says what each means"}
	}
	if r.cfg.PublishOnConflict == config.OnConflictContinue {
		return nil
	}
	return p.conflicts
}

// verifier proves the chain under the pipeline file.
func (r *rooms) verifier(c *call) *audit.Verifier {
	return &audit.Verifier{
		Log: r.log, Store: r.store, Source: r.source, Set: r.set, Rules: rulesOf(r.cfg), Record: limitsOf(r.cfg), Format: formatOf(r.cfg),
		Config: r.cfg.Hash(), Table: string(r.cfg.Table), Dead: string(r.cfg.DeadLetters.Table), Logger: c.Logger,
	}
}

// checks are what is proved beside the chain.
func (o verifyOptions) checks() audit.Check {
	checks := audit.CheckRows
	if o.Source {
		checks |= audit.CheckSource
	}
	if o.Deep {
		checks |= audit.CheckHashes
	}
	return checks
}

func printVerified(c *call, o verifyOptions, p proof) error {
	if c.Output == outputJSON {
		p.Violations = listed(p.Violations)
		return printJSON(c, p)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "verified manifests %d to %d: %s, %s, %s, %s, %s: %s lost, %s doubled\n",
		p.Since, p.Head, many(p.Batches, "batch"), many(p.Objects, "object"), many(p.Records, "record"), many(p.Files, "file"),
		many(p.Live, "live row"), grouped(p.Lost), grouped(p.Doubled))
	if o.Deep {
		fmt.Fprintf(&b, "hashed %s\n", many(p.Hashed, "file"))
	}
	if o.Source {
		fmt.Fprintf(&b, "against the source: %s verified, %s unverifiable, %s mismatched\n",
			many(p.Source.Verified, "record"), grouped(p.Source.Unverifiable), grouped(p.Source.Mismatch))
	}
	if n := p.Source.Reconfigured; n > 0 {
		fmt.Fprintf(&b, "%d of the unverifiable were written under another configuration, and are other rows under this one\n", n)
	}
	for _, l := range p.Delta {
		fmt.Fprintf(&b, "%s\n", l)
	}
	for _, v := range p.Violations {
		fmt.Fprintf(&b, "%s %s at manifest %d: %s\n", c.Colors.in(red, "VIOLATION"), v.Invariant, v.Seq, v.Detail)
	}
	return printTo(c.Stdout, b.String())
}

// maxKeysShown bounds the keys that gc lists for people.
const maxKeysShown = 100

// collect is the verb gc.
func collect(ctx context.Context, c *call, o gcOptions) error {
	r, err := open(ctx, c, wiring{})
	if err != nil {
		return err
	}
	head, err := r.chain(ctx)
	if err != nil {
		return err
	}
	gc := &compact.GC{Log: r.log, Store: r.store, Now: time.Now, Logger: c.Logger, Ahead: 16}
	opts := compact.GCOptions{Keep: o.Keep}
	if o.Confirm {
		opts.Mode = compact.Confirm
	}
	rep, err := gc.Run(ctx, opts)
	if err != nil {
		return err
	}
	logs, err := r.cleanLogs(ctx, head, o)
	if err != nil {
		return err
	}
	if c.Output == outputJSON {
		rep.Keys = listed(rep.Keys)
		return printJSON(c, struct {
			compact.GCReport
			Logs *cleanedLogs `json:"delta_logs,omitempty"`
		}{rep, logs})
	}
	done := fmt.Sprintf("deleted %d", rep.Deleted)
	if !o.Confirm {
		done = "nothing deleted; --confirm does it"
	}
	text := fmt.Sprintf("floor %d: %s of %s are garbage (%s), %s more may still be committed: %s\n",
		rep.Floor, grouped(rep.Garbage), many(rep.Listed, "object"), sized(rep.GarbageBytes), grouped(rep.AboveFloor), done)
	if !o.Confirm {
		for i, key := range rep.Keys {
			if i == maxKeysShown {
				text += fmt.Sprintf("  … and %s (-o json has all)\n", many(len(rep.Keys)-i, "more key"))
				break
			}
			text += "  " + printable(key) + "\n"
		}
	}
	if logs != nil && logs.Versions+logs.Checkpoints+logs.Files > 0 {
		text += fmt.Sprintf("of Delta logs, %s and %s are older than readers need, and %s of the table of batches\n", many(logs.Versions, "version"), many(logs.Checkpoints, "checkpoint"), many(logs.Files, "file"))
	}
	return printTo(c.Stdout, text)
}
