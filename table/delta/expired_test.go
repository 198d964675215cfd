package delta_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"batcher/commit"
	"batcher/compact"
	"batcher/object/memstore"
)

// TestAPublisherThatExpiryPassesIsNotToldOfDamage has the chain go on, expire and be
// collected right before each call of a publisher with an old head, whose manifests
// hold their schemas by reference.
func TestAPublisherThatExpiryPassesIsNotToldOfDamage(t *testing.T) {
	wide := func(i int) string {
		var b strings.Builder
		for k := range 300 + i {
			fmt.Fprintf(&b, `"column_number_%d":1,`, k)
		}
		return `{` + b.String() + `"z":1}` + "\n"
	}
	story := newLake(t, memstore.New())
	for i := range 4 {
		story.run(fmt.Sprint("o", i), wide(i))
	}
	head := story.head()
	superseded := 0
	for call := 1; ; call++ {
		l, _ := clone(story)
		pass := func() {
			l.run("later", wide(9))
			p := l.projector(l.store)
			if _, err := p.Publish(t.Context(), l.head()); err != nil {
				t.Fatal(err)
			}
			l.clock.add(31 * day)
			l.collect()
			r := compact.Repair{Log: l.log(l.store), Now: l.clock.Now, Logger: quiet, ShownSince: p.ShownSince}
			if _, err := r.Expire(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			l.collect()
		}
		hooked := &hookedStore{Store: l.store, left: call, hook: pass}
		_, err := l.projector(hooked).Publish(t.Context(), head)
		var late *commit.SupersededError
		switch {
		case errors.Is(err, commit.ErrDamaged):
			t.Errorf("expired before call %d: %v", call, err)
		case errors.As(err, &late):
			superseded++
		case err != nil:
			t.Errorf("expired before call %d: %v", call, err)
		}
		if hooked.left > 0 {
			break
		}
		l.publish()
	}
	if superseded == 0 {
		t.Error("nothing was gone at any call")
	}
}

// collect deletes what is not needed, with a floor of now.
func (l *lake) collect() {
	l.t.Helper()
	g := compact.GC{Log: l.log(l.store), Store: l.store, Now: l.clock.Now, Logger: quiet}
	if _, err := g.Run(l.t.Context(), compact.GCOptions{Mode: compact.Confirm, Keep: time.Second}); err != nil {
		l.t.Fatal(err)
	}
}
