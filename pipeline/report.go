package pipeline

import (
	"errors"
	"time"

	"batcher/batch"
	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/output"
	"batcher/record"
	"batcher/source/files"
)

// Outcome is how a run ended.
type Outcome string

// The outcomes. A failed run says so by its error; batches that it committed
// before stand.
const (
	Committed Outcome = "committed"
	Already   Outcome = "already"
	Empty     Outcome = "empty"
	Unknown   Outcome = "unknown"
	Fenced    Outcome = "fenced"
	Failed    Outcome = "failed"
)

// Report says what a run did: sums over its batches; seq, batch and attempt of
// the last one.
type Report struct {
	Outcome  Outcome
	Batches  int
	Seq      manifest.Seq // slot of the last batch that the run committed; 0 if it committed none
	BatchID  manifest.BatchID
	Attempt  manifest.Attempt
	Rows     manifest.RowCounts
	Bytes    ByteCounts
	Objects  ObjectCounts
	Requests object.Requests
	Consumed int64     // objects consumed in the whole life of the pipeline
	Newest   time.Time // newest modification time consumed
	Lag      files.Lag // what was left to read when the run ended
	Files    []manifest.File
	Notes    []record.Notes // of each batch that had any
	Changed  []files.Changed
	// Unreadable are objects that could not be read, by key, but for quarantined ones.
	Unreadable []Unreadable
	LeftOut    []files.LeftOut     // names below the source path that are no input, by the first plan
	Offenders  []record.DeadLetter // the first bad records
	Duration   time.Duration
	Head       manifest.Snapshot // as the run last saw it; empty where it saw none

	Unfounded   bool // there is no pipeline: the source has nothing to begin it with
	planObjects int64
	noops       int
	last        string // key of the object that was read last
}

// ByteCounts are decoded bytes read and file bytes written.
type ByteCounts struct{ Read, Written int64 }

// ObjectCounts say what became of the source's objects.
type ObjectCounts struct {
	Read, Late, Changed, Ignored, Young, Quarantined int64
	Appended, Replaced                               int64 // of the changed ones, consumed
}

// planned notes what the first plan of a run found.
func (r *Report) planned(p *files.Plan) {
	r.Objects.Changed = p.Counts.Changed
	r.Objects.Ignored = p.Counts.Ignored
	r.Objects.Young = p.Counts.Young
	r.Changed, r.LeftOut = p.Changed, p.LeftOut
	r.planObjects = p.Lag.Objects
}

// committed adds one batch.
func (r *Report) committed(p *prepared, out commit.Outcome) {
	b := out.Head.Manifest.Batch
	r.Batches++
	r.Seq, r.BatchID, r.Attempt = out.Receipt.Seq(), b.ID, p.attempt
	r.Rows.Read += b.Rows.Read
	r.Rows.Written += b.Rows.Written
	r.Rows.Late += b.Rows.Late
	r.Rows.Dead += b.Rows.Dead
	r.Rows.Duplicate += b.Rows.Duplicate
	r.Rows.Replaced += b.Rows.Replaced
	r.Objects.Replaced += b.Replaced.Count
	r.Bytes.Read += b.Bytes
	r.Objects.Read += b.Objects
	if ranges := p.sealed.Batch.Ranges.Items; len(ranges) > 0 {
		if ranges[0].From > 0 && ranges[0].Key == r.last {
			r.Objects.Read-- // its first part was counted
		}
		r.last = ranges[len(ranges)-1].Key
	}
	r.Objects.Late += b.Late
	for i := range p.sealed.Batch.Ranges.Items {
		x := &p.sealed.Batch.Ranges.Items[i]
		if x.Broken != "" {
			r.Objects.Quarantined++
		}
		if !x.Was.IsZero() && x.Last && p.kind() == manifest.Data {
			r.Objects.Appended++
		}
		if x.Last {
			r.Lag.Objects = max(r.Lag.Objects-1, 0)
			r.Lag.Bytes = max(r.Lag.Bytes-x.Size, 0)
		}
	}
	for _, o := range []*output.Files{p.main, p.dead} {
		for _, f := range o.Done() {
			r.Bytes.Written += f.Size
			r.Files = append(r.Files, f)
		}
	}
	r.note(p.sealed)
}

func (r *Report) note(s batch.Sealed) {
	r.Notes = append(r.Notes, s.Notes)
	r.Offenders = append(r.Offenders, s.Offenders...)
	if len(r.Offenders) > 10 {
		r.Offenders = r.Offenders[:10]
	}
}

// already notes a batch that was found committed.
func (r *Report) already() { r.noops++ }

func isWaiting(err error) bool {
	_, ok := errors.AsType[*WaitingError](err)
	return ok
}

// finish sets what is known at the end only.
func (r *run) finish(err error) {
	rep := &r.report
	rep.Head = r.head
	if r.head.Manifest != nil {
		if f := r.head.Manifest.Progress.Files; f != nil {
			rep.Consumed, rep.Newest = f.Count, f.Newest
		}
	}
	switch {
	case err != nil && (!isWaiting(err) || rep.Batches+rep.noops == 0):
		rep.Outcome = outcomeOf(err)
	case rep.Batches > 0:
		rep.Outcome = Committed
	case rep.noops > 0:
		rep.Outcome = Already
	default:
		rep.Outcome = Empty
	}
	if rep.Lag.Objects == 0 {
		rep.Lag = files.Lag{}
	}
}
