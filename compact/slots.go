package compact

import (
	"context"
	"iter"

	"batcher/commit"
	"batcher/manifest"
)

// readSlot is a manifest on its way.
type readSlot struct {
	manifest.Snapshot
	err error
}

// slots yields the manifests [from, to] in order, and reads up to ahead of them at the
// same time; with less than two each is read when it is asked for. An error comes last.
// When it ends nothing runs any more.
func slots(ctx context.Context, l *commit.Log, from, to manifest.Seq, ahead int) iter.Seq2[manifest.Snapshot, error] {
	return func(yield func(manifest.Snapshot, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var begun []chan readSlot // in order
		defer func() {
			cancel()
			for _, c := range begun {
				<-c
			}
		}()
		for seq := from; seq <= to || len(begun) > 0; {
			for ; seq <= to && len(begun) < max(ahead, 1); seq++ {
				begun = append(begun, beginSlot(ctx, l, seq, ahead))
			}
			got := <-begun[0]
			begun = begun[1:]
			if !yield(got.Snapshot, got.err) || got.err != nil {
				return
			}
		}
	}
}

// beginSlot reads a manifest behind the back of the caller, unless one at a time is
// wanted.
func beginSlot(ctx context.Context, l *commit.Log, seq manifest.Seq, ahead int) chan readSlot {
	c := make(chan readSlot, 1)
	read := func() {
		s, err := l.Slot(ctx, seq)
		c <- readSlot{s, err}
	}
	if ahead < 2 {
		read()
		return c
	}
	go read()
	return c
}
