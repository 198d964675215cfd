package dlq

import (
	"context"

	"batcher/commit"
	"batcher/manifest"
	"batcher/record"
)

// Discard drops letters for good, in one manifest that says how many they were and
// the sum of their ids: the records are accounted for, and nothing else of them is
// left. A quarantined object that is discarded stays consumed.
func (q *Queue) Discard(ctx context.Context, f Filter, mode Mode) (Report, error) {
	return q.settle(ctx, func(ctx context.Context, a *attempt) error {
		letters := manifest.Letters{}
		gone, touched := map[ID]bool{}, map[int]bool{}
		err := a.visit(ctx, a.live, f, func(at int, l *record.DeadLetter) error {
			gone[idOf(l)], touched[at] = true, true
			letters.Discarded++
			letters.DiscardedID = letters.DiscardedID.Add(record.IDHash(l.Source, l.Offset))
			return nil
		})
		a.report.Letters, a.report.Discarded = letters.Discarded, letters.Discarded
		switch {
		case err != nil:
			return err
		case mode == DryRun:
			a.report.Outcome = Dry
			return nil
		case letters.Discarded == 0:
			return nil
		}
		away, err := a.rewrite(ctx, touched, func(l *record.DeadLetter) move {
			if gone[idOf(l)] {
				return leaves
			}
			return stays
		})
		a.proposal = &commit.Proposal{
			Kind: manifest.Replay, Attempt: a.id, Base: a.head, Config: a.head.Manifest.Config, Letters: &letters,
			Tables: map[string]commit.Delta{a.Dead: {Add: a.dead.Done(), Remove: away}},
		}
		return err
	})
}
