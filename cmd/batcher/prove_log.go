package main

import (
	"context"
	"errors"
	"fmt"

	"batcher/audit"
	"batcher/manifest"
)

// proof is what verify prints.
type proof struct {
	audit.Report
	Delta     []checkedLog `json:"delta,omitempty"` // where tables are published
	conflicts error
}

// checkedLog is what verify says of the Delta log of one table.
type checkedLog struct {
	Table       string `json:"table"`
	Version     int64  `json:"version"`     // in the chain; -1: nothing was written to the table yet
	Published   int64  `json:"published"`   // last version that readers see whole; -1: none
	Lag         int64  `json:"lag"`         // versions that they do not see yet
	From        int64  `json:"from"`        // first version that was compared; -1: none was
	Versions    int64  `json:"versions"`    // that were compared
	Checkpoints int64  `json:"checkpoints"` // that were compared
	Files       int64  `json:"files"`       // that readers see
	Conflict    string `json:"conflict,omitempty"`
}

// String says it in a line.
func (l checkedLog) String() string {
	text := fmt.Sprintf("published %s: %s compared up to %d, %s, %s", l.Table, many(l.Versions, "version"), l.Published, many(l.Checkpoints, "checkpoint"), many(l.Files, "file"))
	if l.Published < 0 {
		text = fmt.Sprintf("published %s: no version", l.Table)
	}
	if l.Lag > 0 {
		text += fmt.Sprintf(", %d behind", l.Lag)
	}
	if l.Conflict != "" {
		text += ": in conflict: " + l.Conflict
	}
	return text
}

// logs holds the Delta logs against the chain, and counts what is wrong among the
// violations.
func (p *proof) logs(ctx context.Context, r *rooms, head manifest.Snapshot, since manifest.Seq) error {
	checked, err := r.delta.Check(ctx, head, since)
	if err != nil {
		return err
	}
	for _, t := range checked {
		l := checkedLog{
			Table: t.Table, Version: int64(t.Chain), Published: int64(t.Projected), Lag: t.Lag(), From: int64(t.From),
			Versions: t.Versions, Checkpoints: t.Checkpoints, Files: t.Files,
		}
		if t.Conflict != nil {
			l.Conflict = t.Conflict.Error()
		}
		if t.Conflict != nil && !t.Derived {
			p.conflicts = errors.Join(p.conflicts, t.Conflict)
		}
		p.Delta = append(p.Delta, l)
		for _, f := range t.Findings {
			p.Violations = append(p.Violations, audit.Violation{Invariant: "I16", Seq: f.Seq, Detail: f.Key + ": " + f.Detail})
		}
	}
	return nil
}
