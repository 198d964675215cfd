package delta_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/table/delta"
)

func versionKey(v int) string { return fmt.Sprintf("events/_delta_log/%020d.json", v) }

func checkpointKey(v int) string {
	return fmt.Sprintf("events/_delta_log/%020d.checkpoint.parquet", v)
}

const hintKey = "events/_delta_log/_last_checkpoint"

// put writes an object over whatever is there.
func (l *lake) put(key, body string) {
	l.t.Helper()
	if _, err := l.store.Put(l.t.Context(), key, []byte(body), object.Always); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lake) delete(keys ...string) {
	l.t.Helper()
	for _, key := range keys {
		if err := l.store.Delete(l.t.Context(), key); err != nil {
			l.t.Fatal(err)
		}
	}
}

// foreign is a commit as another engine writes it.
const foreign = `{"commitInfo":{"timestamp":1,"operation":"DELETE","engineInfo":"other/1.0"}}
{"remove":{"path":"data/x.parquet","dataChange":true}}
`

// TestTwoProjectors_MakeOneLog has several projectors work at the same time, on
// heads of different age.
func TestTwoProjectors_MakeOneLog(t *testing.T) {
	l := story(t)
	alone, store := clone(l)
	alone.publish()
	want := deltaLog(store)
	head := l.head()
	var heads []manifest.Snapshot
	for seq := head.Manifest.Seq - 3; seq <= head.Manifest.Seq; seq++ {
		s, err := l.log(l.store).Slot(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		heads = append(heads, s)
	}
	for round := range 20 {
		l, store := clone(l)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				if _, err := l.projector(l.store).Publish(t.Context(), heads[(round+i)%len(heads)]); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		l.publish()
		if got := deltaLog(store); !maps.Equal(got, want) {
			t.Fatalf("round %d: the log differs", round)
		}
		for key := range want {
			if n := len(store.History(key)); n > 1 && !strings.HasSuffix(key, "_last_checkpoint") {
				t.Fatalf("round %d: %s was written %d times", round, key, n)
			}
		}
	}
}

// TestARivalGoesOnWhileOneLooks lets a rival publish everything right before each
// call of a projector, which starts from any state and on any head; before calls about
// the table of batches, where that folds files.
func TestARivalGoesOnWhileOneLooks(t *testing.T) {
	story := story(t)
	whole, store := clone(story)
	whole.publish()
	want := deltaLog(store)
	calls := 0
	for _, projected := range []manifest.Seq{0, 1, 9, 10, 11, 14} {
		for _, seq := range []manifest.Seq{1, 11, 14} {
			uncounted := batchesTable + "/"
			if projected == 9 && seq == 11 {
				uncounted = ""
			}
			for call := 1; ; call += everyCall() {
				l, store := clone(story)
				if projected > 0 {
					s, err := l.log(l.store).Slot(t.Context(), projected)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := l.projector(l.store).Publish(t.Context(), s); err != nil {
						t.Fatal(err)
					}
				}
				head, err := l.log(l.store).Slot(t.Context(), seq)
				if err != nil {
					t.Fatal(err)
				}
				hooked := &hookedStore{Store: l.store, left: call, uncounted: uncounted, hook: func() { l.publish() }}
				if _, err := l.projector(hooked).Publish(t.Context(), head); err != nil {
					t.Fatalf("%d projected, head %d, a rival before call %d: %v", projected, seq, call, err)
				}
				if hooked.left > 0 {
					break
				}
				calls++
				l.publish()
				if got := deltaLog(store); !maps.Equal(got, want) {
					t.Fatalf("%d projected, head %d, a rival before call %d: the log differs", projected, seq, call)
				}
			}
		}
	}
	t.Logf("a rival went before %d calls", calls)
}

// hookedStore calls a hook right before the call for which none are left. Calls about
// keys below a folder do not count.
type hookedStore struct {
	object.Store
	left      int
	uncounted string // "": all calls count
	hook      func()
}

func (s *hookedStore) count(key string) {
	if s.uncounted != "" && strings.HasPrefix(key, s.uncounted) {
		return
	}
	if s.left--; s.left == 0 {
		s.hook()
	}
}

func (s *hookedStore) Get(ctx context.Context, key string, o object.GetOptions) (io.ReadCloser, object.Info, error) {
	s.count(key)
	return s.Store.Get(ctx, key, o)
}

func (s *hookedStore) Put(ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
	s.count(key)
	return s.Store.Put(ctx, key, body, cond)
}

// TestALateWriteChangesNothing lets a version land that its sender gave up.
func TestALateWriteChangesNothing(t *testing.T) {
	l := story(t)
	alone, store := clone(l)
	alone.publish()
	want := deltaLog(store)
	l, store = clone(l)
	faults := faultstore.New(l.store, faultstore.Script{{Op: faultstore.Put, Prefix: versionKey(3), Times: -1, Fault: faultstore.LandLate}})
	if _, err := l.projector(faults).Publish(t.Context(), l.head()); !errors.Is(err, object.ErrUnknown) {
		t.Fatalf("published, %v", err)
	}
	l.publish()
	for _, err := range faults.Release(t.Context()) {
		if !errors.Is(err, object.ErrExists) {
			t.Errorf("a late version: %v", err)
		}
	}
	if got := deltaLog(store); !maps.Equal(got, want) {
		t.Error("the log differs")
	}
}

// TestForeignCommit stops the projection of one table and of no other.
func TestForeignCommit(t *testing.T) {
	for name, c := range map[string]struct {
		projected int // manifests before the foreign commits
		at, n     int // version of the first of them, and how many
		want      delta.Version
	}{
		"behind the chain's last version": {99, 15, 1, 14},
		"many behind it":                  {99, 15, 20, 14},
		"where the chain goes on":         {5, 5, 1, 4},
		"the first one":                   {0, 0, 1, -1},
		"as many as the chain has":        {5, 5, 10, 4},
		"more than the chain has":         {5, 5, 12, 4},
	} {
		t.Run(name, func(t *testing.T) {
			l, store := clone(story(t))
			head := l.head()
			if c.projected > 0 && c.projected < 99 {
				s, err := l.log(l.store).Slot(t.Context(), manifest.Seq(c.projected))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := l.projector(l.store).Publish(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			} else if c.projected == 99 {
				l.publish()
			}
			for i := range c.n {
				l.put(versionKey(c.at+i), foreign)
			}
			before := len(store.History(versionKey(c.at)))
			states, err := l.projector(l.store).Publish(t.Context(), head)
			var conflict *delta.ConflictError
			if !errors.As(err, &conflict) || conflict.Table != "events" || conflict.Version != delta.Version(c.at) || conflict.Engine != "other/1.0" {
				t.Fatalf("%v", err)
			}
			if errors.Is(err, commit.ErrDamaged) {
				t.Errorf("damage: %v", err)
			}
			if s := states[0]; s.Projected != c.want || s.Conflict == nil || s.Chain != 14 {
				t.Errorf("state %+v, want projected %d", s, c.want)
			}
			if s := states[1]; s.Projected != 0 || s.Conflict != nil {
				t.Errorf("the other table: %+v", s)
			}
			if n := len(store.History(versionKey(c.at))); n != before {
				t.Error("the foreign commit was written over")
			}
			if store.Objects()[versionKey(c.at+c.n)] != nil {
				t.Error("something was built on the foreign commit")
			}
			status, err := l.projector(l.store).Status(t.Context(), head)
			if err != nil || status[0].Projected != c.want || status[0].Conflict == nil || status[0].Conflict.Version != delta.Version(c.at) {
				t.Errorf("status %+v, %v", status[0], err)
			}
		})
	}
}

// TestAnotherChainsVersion is an alarm: the same pipeline made it from other
// manifests.
func TestAnotherChainsVersion(t *testing.T) {
	for name, c := range map[string]struct{ key, from, to string }{
		"another hash, last":    {versionKey(14), `"sha256":"`, `"sha256":"0000`},
		"another hash, earlier": {versionKey(13), `"sha256":"`, `"sha256":"0000`},
		"another manifest":      {versionKey(14), `"seq":`, `"seq":2`},
	} {
		t.Run(name, func(t *testing.T) {
			l, store := clone(story(t))
			l.publish()
			body := string(store.Objects()[c.key])
			at := strings.Index(body, c.from) + len(c.from)
			l.put(c.key, body[:at]+c.to[len(c.from):]+body[at+len(c.to)-len(c.from):])
			if c.key != versionKey(14) {
				l.delete(versionKey(14))
			}
			for range 2 {
				_, err := l.projector(l.store).Publish(t.Context(), l.head())
				if !errors.Is(err, commit.ErrDamaged) {
					t.Errorf("%v", err)
				}
			}
			if _, err := l.projector(l.store).Status(t.Context(), l.head()); !errors.Is(err, commit.ErrDamaged) {
				t.Errorf("status: %v", err)
			}
		})
	}
}

// TestAnotherPipelinesVersion is a foreign commit like any other.
func TestAnotherPipelinesVersion(t *testing.T) {
	for _, seq := range []string{"3", "99"} {
		l, _ := clone(story(t))
		l.publish()
		l.put(versionKey(15), `{"commitInfo":{"engineInfo":"batcher 9","batcher":{"seq":`+seq+`,"sha256":"`+strings.Repeat("0", 64)+`"}}}
{"txn":{"appId":"batcher:others-1","version":3}}
`)
		_, err := l.projector(l.store).Publish(t.Context(), l.head())
		var conflict *delta.ConflictError
		if !errors.As(err, &conflict) || conflict.Version != 15 || errors.Is(err, commit.ErrDamaged) {
			t.Errorf("made from manifest %s: %v", seq, err)
		}
	}
}

// TestOccupantWithAnotherForm is ours though its bytes are not: another version of
// batcher wrote it.
func TestOccupantWithAnotherForm(t *testing.T) {
	l, store := clone(story(t))
	l.publish()
	body := store.Objects()[versionKey(14)]
	other := bytes.Replace(body, []byte(`"operation":"WRITE"`), []byte(`"operation":"APPEND"`), 1)
	if bytes.Equal(body, other) {
		t.Fatal("nothing was replaced")
	}
	l.put(versionKey(14), string(other))
	p := l.projector(faultstore.New(l.store, faultstore.Script{{Op: faultstore.Get, Prefix: versionKey(14), Fault: faultstore.Unavailable}}))
	if _, err := p.Publish(t.Context(), l.head()); !errors.Is(err, object.ErrUnknown) {
		t.Fatal(err)
	}
	if states, err := p.Publish(t.Context(), l.head()); err != nil || states[0].Projected != 14 {
		t.Errorf("%+v, %v", states, err)
	}
}

// TestPositions finds where the log stands from any state, and goes on from there.
func TestPositions(t *testing.T) {
	l := newLake(t, memstore.New())
	for i := range 60 {
		l.run(record(i))
	}
	whole, store := clone(l)
	whole.publish()
	want := deltaLog(store)
	for _, projected := range []int{0, 1, 2, 3, 9, 10, 11, 30, 41, 57, 58, 59, 60} {
		for _, hint := range []string{"kept", "lost", "torn", "older"} {
			l, store := clone(l)
			if projected <= 10 && hint != "kept" {
				continue // there is none yet
			}
			if projected > 0 {
				s, err := l.log(l.store).Slot(t.Context(), manifest.Seq(projected))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := l.projector(l.store).Publish(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			switch hint {
			case "lost":
				l.delete(hintKey)
			case "torn":
				l.put(hintKey, `{"version":`)
			case "older":
				l.put(hintKey, `{"version":0}`)
			}
			states, err := l.projector(l.store).Status(t.Context(), l.head())
			if err != nil || int(states[0].Projected) != projected-1 || int(states[0].Lag()) != 60-projected {
				t.Fatalf("%d projected, hint %s: %+v, %v", projected, hint, states[0], err)
			}
			if s := states[0]; s.Lag() > 0 {
				if first, err := l.log(l.store).Slot(t.Context(), manifest.Seq(projected+1)); err != nil || !s.Oldest.Equal(first.Manifest.CreatedAt) {
					t.Errorf("%d projected: the oldest is of %v, %v", projected, s.Oldest, err)
				}
			} else if !s.Oldest.IsZero() {
				t.Errorf("no lag, and the oldest is of %v", s.Oldest)
			}
			l.publish()
			got := deltaLog(store)
			for key, body := range want {
				if strings.HasSuffix(key, ".json") && got[key] != body {
					t.Fatalf("%d projected, hint %s: %s differs", projected, hint, key)
				}
			}
			if projected < 60 && got[hintKey] != want[hintKey] {
				t.Errorf("%d projected, hint %s: the hint is %s, want %s", projected, hint, got[hintKey], want[hintKey])
			}
		}
	}
}

// TestIdleRunsAreCheap counts requests where nothing or little is to be done.
func TestIdleRunsAreCheap(t *testing.T) {
	l := newLake(t, memstore.New())
	for i := range 25 {
		l.run(record(i))
	}
	l.publish()
	count := func(p *delta.Projector) object.Requests {
		t.Helper()
		head, before := l.head(), object.RequestsOf(l.store)
		if _, err := p.Publish(t.Context(), head); err != nil {
			t.Fatal(err)
		}
		return object.RequestsOf(l.store).Sub(before)
	}
	idle := l.projector(l.store)
	if got := count(idle); got != (object.Requests{Get: 2 + 2}) { // of the table of batches, too
		t.Errorf("the first look takes %+v", got)
	}
	if got := count(idle); got != (object.Requests{}) {
		t.Errorf("the second look takes %+v", got)
	}
	l.run(record(25))
	if got := count(idle); got.Put != 1+2 || got.Get > 3 {
		t.Errorf("a version takes %+v", got)
	}
	l.run(record(26))
	if got := count(l.projector(l.store)); got.Put != 1+2 || got.Get > 8 {
		t.Errorf("a version in a new process takes %+v", got)
	}
}

// TestLowerHintIsRepaired by whoever projects next.
func TestLowerHintIsRepaired(t *testing.T) {
	l, store := clone(story(t))
	l.publish()
	want := string(store.Objects()[hintKey])
	if !strings.HasPrefix(want, `{"version":10,`) {
		t.Fatalf("hint %s", want)
	}
	l.put(hintKey, `{"version":0,"size":4}`)
	l.run(record(20))
	l.publish()
	if got := string(store.Objects()[hintKey]); got != want {
		t.Errorf("hint %s, want %s", got, want)
	}
	if n := len(store.History(checkpointKey(10))); n != 1 {
		t.Errorf("the checkpoint was written %d times", n)
	}
}

// TestLateHintIsNotPut: it could name a checkpoint that was deleted.
func TestLateHintIsNotPut(t *testing.T) {
	l, store := clone(story(t))
	slow := &slowStore{Store: l.store, clock: l.clock, key: checkpointKey(10)}
	if _, err := l.projector(slow).Publish(t.Context(), l.head()); err != nil {
		t.Fatal(err)
	}
	objects := store.Objects()
	if objects[checkpointKey(10)] == nil || objects[hintKey] != nil {
		t.Errorf("checkpoint %t, hint %s", objects[checkpointKey(10)] != nil, objects[hintKey])
	}
}

// slowStore lets an hour pass when a key is put.
type slowStore struct {
	object.Store
	clock *clock
	key   string
}

func (s *slowStore) Put(ctx context.Context, key string, body []byte, cond object.Condition) (object.Info, error) {
	if key == s.key {
		s.clock.add(time.Hour)
	}
	return s.Store.Put(ctx, key, body, cond)
}
