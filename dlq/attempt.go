package dlq

import (
	"context"
	"fmt"
	"io"
	"time"

	"batcher/batch"
	"batcher/column"
	"batcher/commit"
	"batcher/manifest"
	"batcher/output"
	"batcher/record"
	"batcher/schema"
)

// maxAttempts is how many lost races in a row end a change: each of them means
// that a rival changed the same letters or the columns they become.
const maxAttempts = 64

// attempt is one way to change the dead-letter table, on one head.
type attempt struct {
	*Queue
	head      manifest.Snapshot
	id        manifest.Attempt
	published *schema.Schema  // of the main table
	live      []manifest.File // of the dead-letter table
	numbers   [2]int          // of the next files, main and dead
	main      *output.Files
	dead      *output.Files
	proposal  *commit.Proposal // nil: there is nothing to change
	report    Report
}

// Outcome says how a change ended.
type Outcome string

// The outcomes.
const (
	Committed Outcome = "committed"
	Already   Outcome = "already" // none of the letters is dead any more
	Empty     Outcome = "empty"   // there is nothing to change
	Dry       Outcome = "dry"     // nothing was changed: it was only asked what would be
)

// Report says what became of letters.
type Report struct {
	Outcome   Outcome          `json:"outcome"`
	Seq       manifest.Seq     `json:"seq"`     // manifest of the change, or head
	Attempt   manifest.Attempt `json:"attempt"` // of the change; zero if there is none
	Letters   int64            `json:"letters"` // that were chosen and are dead
	Replayed  int64            `json:"replayed"`
	Discarded int64            `json:"discarded"`
	Dead      int64            `json:"dead"`     // still, with the reason of now
	Refused   int64            `json:"refused"`  // not tried
	Already   int64            `json:"already"`  // asked for and not dead any more
	Examples  []Example        `json:"examples"` // of the last three kinds, the first few
	Notes     record.Notes     `json:"-"`        // of the rows
}

// Example is a letter that did not become a row.
type Example struct {
	ID
	Fate   Fate   `json:"fate"`
	Code   string `json:"code,omitempty"` // of a dead one
	Reason string `json:"reason"`
}

// Fate is what became of a letter that did not become a row.
type Fate string

// The fates.
const (
	StillDead Fate = "dead"
	Refused   Fate = "refused"
	NotDead   Fate = "already"
)

// maxExamples bounds Report.Examples.
const maxExamples = 20

func (r *Report) example(e Example) {
	if len(r.Examples) < maxExamples {
		r.Examples = append(r.Examples, e)
	}
}

// settle brings a change into the chain. The work is done anew, under another
// attempt, on every head on which a rival made it void; what it finds there to do
// is all that decides. The steps, and why no two may swap:
//  1. the work reads the live letters of the head and writes files that no
//     manifest names yet;
//  2. when all are acknowledged they are proposed, and commit refuses them unless
//     every file they replace is live still;
//  3. files are deleted only after it is proved that no manifest names them: they
//     were never proposed, or the proposal was refused.
func (q *Queue) settle(ctx context.Context, work func(context.Context, *attempt) error) (Report, error) {
	for range maxAttempts {
		a, err := q.begin(ctx)
		if err != nil {
			return Report{}, err
		}
		if err := work(ctx, a); err != nil {
			a.drop(ctx)
			return a.report, q.Log.Absent(ctx, a.head, a.head, err)
		}
		if a.proposal == nil {
			a.drop(ctx)
			return a.report, nil
		}
		out, err := q.Log.Append(ctx, *a.proposal)
		if err != nil {
			return a.report, err
		}
		switch out.Verdict {
		case commit.Committed:
			a.committed(out)
			return a.report, nil
		case commit.Reencode, commit.Replan, commit.Already:
			a.drop(ctx)
			q.Logger.Info("starting over on a newer head", "reason", out.Reason)
		default:
			return a.report, &commit.SupersededError{Reason: out.Reason}
		}
	}
	return Report{}, fmt.Errorf("lost %d races in a row: %w", maxAttempts, commit.ErrUnresolved)
}

// begin draws an attempt on the head.
func (q *Queue) begin(ctx context.Context) (*attempt, error) {
	head, err := q.Log.Head(ctx)
	if err != nil {
		return nil, err
	}
	a := &attempt{Queue: q, head: head, report: Report{Outcome: Empty, Seq: head.Manifest.Seq, Examples: []Example{}}}
	if _, err := io.ReadFull(q.Random, a.id[:]); err != nil {
		return nil, err
	}
	if a.live, err = q.live(ctx, head); err != nil {
		return nil, q.Log.Absent(ctx, head, head, err)
	}
	if a.published, err = q.Log.LoadSchema(ctx, head.Manifest.Tables[q.Table].Schema); err != nil {
		return nil, q.Log.Absent(ctx, head, head, err)
	}
	a.main, a.dead = a.output(q.Table, &a.numbers[0]), a.output(q.Dead, &a.numbers[1])
	return a, nil
}

func (a *attempt) output(table string, next *int) *output.Files {
	o := output.Options{Store: a.Store, Table: table, Base: a.head.Manifest.Seq, Attempt: a.id,
		File: a.File, Bytes: a.FileBytes, Next: next}
	if table == a.Table {
		o.PartitionBy = a.Config.PartitionBy()
	}
	return output.New(o)
}

// committed notes the manifest.
func (a *attempt) committed(out commit.Outcome) {
	a.report.Outcome, a.report.Seq, a.report.Attempt = Committed, out.Receipt.Seq(), a.id
	a.Logger.Info("dead letters changed", "seq", int64(out.Receipt.Seq()), "attempt", a.id.String(),
		"replayed", a.report.Replayed, "discarded", a.report.Discarded, "dead", a.report.Dead)
}

// drop gives up the attempt's files.
func (a *attempt) drop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	a.main.Drop(ctx)
	a.dead.Drop(ctx)
}

// rewrite writes anew every live file with a letter that changes, without those
// that leave: change says what becomes of one, and may alter its stage, code and
// message. It returns the keys of the files that are replaced. A letter may be
// looked at twice.
func (a *attempt) rewrite(ctx context.Context, touched map[int]bool, change func(*record.DeadLetter) move) ([]string, error) {
	write := batch.NewLetters(func(b *column.Block) (*column.Block, error) { return nil, a.dead.Write(ctx, b) })
	var away []string
	for i := range a.live {
		f := &a.live[i]
		if !touched[i] {
			continue
		}
		moves, err := a.moves(ctx, f, change)
		if err != nil {
			return nil, err
		}
		if !moves {
			continue
		}
		for l, err := range a.letters(ctx, f) {
			if err == nil && change(&l) != leaves {
				err = write.Add(l)
			}
			if err != nil {
				return nil, err
			}
		}
		away = append(away, f.Key)
	}
	if err := write.Flush(); err != nil {
		return nil, err
	}
	return away, a.dead.Close(ctx)
}

// moves says whether anything changes in a file.
func (a *attempt) moves(ctx context.Context, f *manifest.File, change func(*record.DeadLetter) move) (bool, error) {
	for l, err := range a.letters(ctx, f) {
		if err != nil {
			return false, err
		}
		if change(&l) != stays {
			return true, nil
		}
	}
	return false, nil
}

// move is what becomes of a letter in its table.
type move uint8

const (
	stays  move = iota // as it is
	alters             // it has another reason
	leaves
)
