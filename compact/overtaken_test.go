package compact_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"batcher/commit"
	"batcher/compact"
	"batcher/localdev"
	"batcher/manifest"
	"batcher/object"
)

// watched does something else before one of its reads.
type watched struct {
	object.Store
	reads, at int
	then      func()
}

func (s *watched) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	if s.reads++; s.reads == s.at {
		s.then()
	}
	return s.Store.Get(ctx, key, o)
}

// replaceAll commits a merge of all live files into one.
func (w *world) replaceAll() {
	w.t.Helper()
	a := w.begin(w.writers[0], size{1, 1, 1})
	p := &a.proposal
	live, err := a.log.LoadLive(w.t.Context(), p.Base.Manifest.Tables["events"].Live)
	if err != nil {
		w.t.Fatal(err)
	}
	d := p.Tables["events"]
	d.Add[0].Rows = 0
	for i := range live {
		d.Remove = append(d.Remove, live[i].Key)
		d.Add[0].Rows += live[i].Rows
	}
	p.Kind, p.Batch, p.Advance = manifest.Compact, nil, nil
	p.Tables["events"] = d
	if v := w.propose(a); v != commit.Committed {
		w.t.Fatal(v)
	}
}

// TestWhatExpiryOvertakesIsNotDamaged has snapshots expire and their runs collected
// before each read of a collector and of a rewind, which need them.
func TestWhatExpiryOvertakesIsNotDamaged(t *testing.T) {
	before := newWorld(t, 3)
	repair := func(w *world, store object.Store) *compact.Repair {
		return &compact.Repair{Log: w.writer(store).log, Now: w.clock.Now, Logger: quiet}
	}
	expire := func(w *world) {
		w.collect(compact.GCOptions{Mode: compact.Confirm})
		if _, err := repair(w, w.bytes).Expire(w.t.Context(), 0); err != nil {
			w.t.Fatal(err)
		}
		w.collect(compact.GCOptions{Mode: compact.Confirm})
	}
	var to manifest.Seq
	for i := range 12 {
		before.commit(size{2, 4, 20}) // the live list spills
		before.clock.now = before.clock.now.Add(time.Hour)
		if i == 8 {
			expire(before)
			to = before.head().Manifest.Seq
		}
	}
	before.replaceAll()
	before.clock.now = before.clock.now.Add(time.Hour)
	for name, act := range map[string]func(*world, object.Store) error{
		"gc": func(w *world, store object.Store) error {
			_, err := w.gc(store).Run(w.t.Context(), compact.GCOptions{Mode: compact.Confirm})
			return err
		},
		"rewind": func(w *world, store object.Store) error {
			_, err := repair(w, store).Rewind(w.t.Context(), to)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			superseded, reads := 0, 1<<30
			for at := 1; at <= reads; at++ {
				w := before.clone(t)
				s := &watched{Store: w.bytes, at: at, then: func() { expire(w) }}
				err := act(w, s)
				var over *commit.SupersededError
				switch {
				case errors.As(err, &over):
					superseded++
				case err != nil && !errors.Is(err, commit.ErrExpired):
					t.Fatalf("overtaken before read %d: %v", at, err)
				case err == nil && s.reads < at:
					reads = at
				}
				w.audit()
			}
			if superseded == 0 {
				t.Error("nothing was overtaken")
			}
			localdev.Figure("moments at which expiry overtakes "+name+", told as such", superseded)
		})
	}
}
