package delta_test

import (
	"context"

	"batcher/commit"
	"batcher/compact"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/schema"
)

const (
	readersKeep  = 10 * day // how long a reader may take for what he has opened: expire --keep
	attemptsKeep = 7 * day  // gc --keep
)

// verb is one invocation, all of whose requests go through a store.
type verb func(l *lake, store object.Store) error

// publishing opens the chain through a store so that each commit is published.
func (l *lake) publishing(store object.Store) *commit.Log {
	log := l.log(store)
	p := l.projector(store)
	log.OnCommit(func(ctx context.Context, _ commit.Receipt, head manifest.Snapshot) error {
		_, err := p.Publish(ctx, head)
		return err
	})
	return log
}

func publishVerb(l *lake, store object.Store) error {
	head, err := l.log(store).Head(l.t.Context())
	if err == nil {
		_, err = l.projector(store).Publish(l.t.Context(), head)
	}
	return err
}

func mergeWith(log *commit.Log, l *lake, store object.Store) error {
	head, err := log.Head(l.t.Context())
	m := compact.Merge{Log: log, Store: store, Random: l.random, Now: l.clock.Now, Logger: quiet, Ahead: 1,
		Rules: compact.Rules{Target: 1 << 30, FanIn: 2}}
	for _, table := range []string{"events", "events_dead"} {
		if err == nil {
			head, _, err = m.Run(l.t.Context(), head, table, compact.Until{})
		}
	}
	return err
}

func mergeVerb(l *lake, store object.Store) error { return mergeWith(l.publishing(store), l, store) }

func widenVerb(l *lake, store object.Store) error {
	w := compact.Widen{Log: l.publishing(store), Store: store, Random: l.random, Logger: quiet, FileBytes: 128 << 20}
	_, err := w.Run(l.t.Context(), "events", schema.Column("n"), schema.Type{Kind: schema.Float64})
	return err
}

func rewindVerb(to *manifest.Seq) verb {
	return func(l *lake, store object.Store) error {
		r := compact.Repair{Log: l.publishing(store), Now: l.clock.Now, Logger: quiet}
		_, err := r.Rewind(l.t.Context(), *to)
		return err
	}
}

func expireVerb(l *lake, store object.Store) error {
	head, err := l.log(store).Head(l.t.Context())
	if err != nil {
		return err
	}
	p := l.projector(store)
	if _, err := p.Publish(l.t.Context(), head); err != nil {
		return err
	}
	r := compact.Repair{Log: l.log(store), Now: l.clock.Now, Logger: quiet, ShownSince: p.ShownSince}
	_, err = r.Expire(l.t.Context(), readersKeep)
	return err
}

// gcVerb collects, and cleans the Delta logs.
func gcVerb(l *lake, store object.Store) error {
	gc := compact.GC{Log: l.log(store), Store: store, Now: l.clock.Now, Logger: quiet}
	_, err := gc.Run(l.t.Context(), compact.GCOptions{Mode: compact.Confirm, Keep: attemptsKeep, MaxShare: 1})
	for _, table := range []string{"events", "events_dead"} {
		if err == nil {
			_, err = l.projector(store).Clean(l.t.Context(), table)
		}
	}
	return err
}

// way is how a process is broken at one of its calls.
type way struct {
	name   string
	script func(call int) faultstore.Script
	late   bool // the call is carried out when others have gone on,
	after  bool // and last of all
}

func strike(f faultstore.Fault) func(int) faultstore.Script {
	return func(call int) faultstore.Script { return faultstore.Script{{Call: call, Fault: f}} }
}

// lastWords is a call that is carried out late, and the last one of its process.
func lastWords(call int) faultstore.Script {
	return faultstore.Script{{Call: call, Fault: faultstore.LandLate}, {Call: call + 1, Fault: faultstore.CrashBefore}}
}

// ways are those of a call. What reads has no effect that could be late.
func ways(op faultstore.Op) []way {
	killed, last := way{name: "killed before", script: strike(faultstore.CrashBefore)}, way{"lands last of all", lastWords, true, true}
	lost, after := way{name: "answer lost", script: strike(faultstore.LoseAnswer)}, way{name: "killed after", script: strike(faultstore.CrashAfter)}
	switch op {
	case faultstore.Get, faultstore.List:
		return []way{killed, lost}
	case faultstore.Delete:
		return []way{killed, lost, after, last}
	}
	return []way{killed, lost, after, last, {"lands late", strike(faultstore.LandLate), true, false}, {"lands after its sender died", lastWords, true, false}}
}
