package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"batcher/object"
)

// maxTries and firstPause bound how often a racer repeats a Put that settled
// nothing: 12 tries within about 8 seconds.
const (
	maxTries   = 12
	firstPause = 2 * time.Millisecond
)

// Admission returns the checks without which the commit protocol loses or
// doubles data. A store that fails one of them must be refused.
func Admission() []Check {
	return []Check{
		{"round-trip", "what is read is not what was written", roundTrip},
		{"create-if-absent", "the store ignores the condition and overwrites: two runs both believe they committed", createIfAbsent},
		{"create-race", "several racing creators are told that they won, or a loser cannot read who did", createRace},
		{"absent-is-not-found", "an absent key looks like something else, so the head of the chain cannot be found; on S3 grant s3:ListBucket", absentIsNotFound},
		{"visible-at-once", "a key that was absent a moment ago stays invisible after it was written", visibleAtOnce},
		{"overwrite", "an unconditional write does not replace, or a stale body is served", overwrite},
	}
}

func roundTrip(ctx context.Context, env Env) error {
	for _, size := range []int{0, 1, 1000, 70_000} {
		name, body := fmt.Sprintf("size-%d", size), string(pattern(size))
		if _, err := env.put(ctx, name, body, object.IfAbsent); err != nil {
			return err
		}
		if err := env.holds(ctx, name, body); err != nil {
			return err
		}
	}
	return nil
}

func createIfAbsent(ctx context.Context, env Env) error {
	if _, err := env.put(ctx, "slot", "first", object.IfAbsent); err != nil {
		return err
	}
	for _, body := range []string{"second", "first"} { // equal bytes are no excuse
		_, err := env.put(ctx, "slot", body, object.IfAbsent)
		if err := wantErr("second create of one key", err, object.ErrExists); err != nil {
			return err
		}
		if err := env.holds(ctx, "slot", "first"); err != nil {
			return fmt.Errorf("after a refused create: %w", err)
		}
	}
	return nil
}

func absentIsNotFound(ctx context.Context, env Env) error {
	for _, name := range []string{"absent", "no/such/folder/absent"} {
		for _, opts := range []object.GetOptions{{}, {From: 1}, {Limit: 5}} {
			_, _, err := env.get(ctx, name, opts)
			if err := wantErr("get of an absent key", err, object.ErrNotFound); err != nil {
				return err
			}
		}
	}
	return nil
}

func visibleAtOnce(ctx context.Context, env Env) error {
	for i := range 10 {
		name := fmt.Sprintf("slot-%d", i)
		_, _, err := env.get(ctx, name, object.GetOptions{})
		if err := wantErr("get of an absent key", err, object.ErrNotFound); err != nil {
			return err
		}
		if _, err := env.put(ctx, name, name, object.IfAbsent); err != nil {
			return err
		}
		if err := env.holds(ctx, name, name); err != nil {
			return fmt.Errorf("right after the put: %w", err)
		}
	}
	return nil
}

func overwrite(ctx context.Context, env Env) error {
	for i := range 10 {
		body := fmt.Sprintf("version %d", i) // all of one length
		if _, err := env.put(ctx, "hint", body, object.Always); err != nil {
			return err
		}
		if err := env.holds(ctx, "hint", body); err != nil {
			return err
		}
	}
	return nil
}

// createRace lets all racers create each key at the same instant.
func createRace(ctx context.Context, env Env) error {
	stores := append([]object.Store{env.Store}, env.Peers...)
	for k := range env.Params.RaceKeys {
		key := env.key(fmt.Sprintf("slot-%d", k))
		racers := make([]racer, env.Params.Racers)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range racers {
			racers[i] = racer{store: stores[i%len(stores)], key: key, body: fmt.Appendf(nil, "racer %d of key %d", i, k)}
			wg.Go(func() {
				<-start
				racers[i].run(ctx)
			})
		}
		close(start)
		wg.Wait()
		if err := judge(racers); err != nil {
			return fmt.Errorf("key %d of %d: %w", k+1, env.Params.RaceKeys, err)
		}
	}
	return nil
}

// racer is one creator and what it saw.
type racer struct {
	store     object.Store
	key       string
	body      []byte
	won       bool   // a Put returned nil
	ambiguous bool   // a Put may have landed although it returned an error
	occupant  []byte // what the key holds after the race, as this racer reads it
	err       error
}

// run creates the key, repeating the same bytes while nothing is settled, and
// then reads who won.
func (r *racer) run(ctx context.Context) {
	pause := firstPause
	for try := 0; ; try++ {
		_, err := r.store.Put(ctx, r.key, r.body, object.IfAbsent)
		r.won = r.won || err == nil
		if err == nil || errors.Is(err, object.ErrExists) {
			break
		}
		open := errors.Is(err, object.ErrUnknown)
		r.ambiguous = r.ambiguous || open
		if !open && !errors.Is(err, object.ErrConflict) || try == maxTries || ctx.Err() != nil {
			r.err = err
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause *= 2
	}
	for range maxTries {
		r.occupant, _, r.err = object.ReadAll(ctx, r.store, r.key, object.GetOptions{}, 1<<20)
		if !errors.Is(r.err, object.ErrUnknown) {
			break
		}
	}
	if errors.Is(r.err, object.ErrNotFound) {
		r.err = fmt.Errorf("the key was taken and then absent: %w", r.err)
	}
}

// judge says whether exactly one racer won, and all agree on who.
func judge(racers []racer) error {
	winners := 0
	for _, r := range racers {
		if r.err != nil {
			return r.err
		}
		if r.won {
			winners++
		}
		if !bytes.Equal(r.occupant, racers[0].occupant) {
			return fmt.Errorf("one racer reads %s, another %s", brief(racers[0].occupant), brief(r.occupant))
		}
	}
	if winners > 1 {
		return fmt.Errorf("%d of %d racers were told that they created the key", winners, len(racers))
	}
	for _, r := range racers {
		if own := bytes.Equal(r.occupant, r.body); own {
			if winners == 1 && !r.won {
				return fmt.Errorf("the key holds %s, whose create was refused", brief(r.body))
			}
			if winners == 0 && !r.ambiguous {
				return fmt.Errorf("the key holds %s, and nobody was told to have created it", brief(r.body))
			}
			return nil
		}
	}
	return fmt.Errorf("the key holds %s, which nobody wrote", brief(racers[0].occupant))
}

// pattern returns n bytes without any repetition, always the same ones.
func pattern(n int) []byte {
	body := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(body) // never fails
	return body
}
