package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"batcher/object"
)

// How often a racer repeats a Put that settled nothing: 12 tries within about 8
// seconds of pauses, each of tryTime at most.
const (
	maxTries   = 12
	firstPause = 2 * time.Millisecond
	tryTime    = 10 * time.Second
)

// A store that looks whether a key is there, and then writes, lets two creators win
// that both look before either has written. How long that takes, and where in a
// request, differs from store to store; so few racers meet on many keys, with bodies
// of several sizes, at once and a little after one another. More racers of one key
// add little: the first one ends the window for all that come later.
var (
	raceCounts   = []int{2, 3, 4}
	raceSizes    = []int{bodyHead, 2 << 10, 64 << 10}
	raceStaggers = []time.Duration{0, 0, 50 * time.Microsecond, 0, 250 * time.Microsecond, 0, time.Millisecond}
)

const (
	raceLanes = 8  // keys raced for at a time
	bodyHead  = 64 // bytes that tell one racer's body from all others
	// largeBody is over 5 MiB, the least part of a multipart upload, from which on
	// services are free to write what they held in memory before.
	largeBody = 5<<20 + 300<<10
	// leastLarge is how many keys are raced for with such bodies however long it takes.
	leastLarge = 4
)

// createRace has two to four creators meet on each of many keys.
func createRace(ctx context.Context, env Env) error {
	return env.race(ctx, env.Params.RaceKeys)
}

// createRaceLarge has a creator with a large body and one with a small one meet on each
// key, for as long as Params.LargeTime lasts. The large one takes its look after a time
// that nobody knows: where the small one won, it comes later to the next key, where it
// lost, earlier. So both soon meet at the instant of the look, wherever it is.
func createRaceLarge(ctx context.Context, env Env) error {
	until := time.Now().Add(env.Params.LargeTime)
	h := heat{env: env}
	begun := time.Now()
	if err := h.run(ctx, 0, []int{largeBody}, 0); err != nil {
		return fmt.Errorf("a large body: %w", err)
	}
	alone := time.Since(begun)
	delay, step := alone/2, alone/4
	for n := 1; n <= env.Params.LargeKeys && (n <= leastLarge || time.Now().Before(until)); n++ {
		if err := h.run(ctx, n, []int{largeBody, bodyHead}, delay); err != nil {
			return fmt.Errorf("key %d of %d: %w", n, env.Params.LargeKeys, err)
		}
		if h.racers[1].won {
			delay += step
		} else {
			delay = max(0, delay-step)
		}
		step = max(alone/64, step*2/3)
	}
	return ctx.Err()
}

// race has racers meet on many keys, several of which are raced for at a time, until a
// key tells that the store is unfit.
func (e Env) race(ctx context.Context, keys int) error {
	var next atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	failures := make([]error, raceLanes)
	for lane := range failures {
		wg.Go(func() {
			h := heat{env: e}
			for !stop.Load() && ctx.Err() == nil {
				n := int(next.Add(1) - 1)
				if n >= keys {
					return
				}
				sizes := slices.Repeat([]int{raceSizes[n%len(raceSizes)]}, raceCounts[n/len(raceSizes)%len(raceCounts)])
				if err := h.run(ctx, n, sizes, raceStaggers[n%len(raceStaggers)]); err != nil {
					failures[lane] = fmt.Errorf("key %d of %d: %w", n+1, keys, err)
					stop.Store(true)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// heat runs one race after another.
type heat struct {
	env    Env
	racers []racer // of the last race
}

// run has racers with bodies of these sizes create the n-th key, each by stagger later
// than the one before.
func (h *heat) run(ctx context.Context, n int, sizes []int, stagger time.Duration) error {
	stores := append([]object.Store{h.env.Store}, h.env.Peers...)
	key := h.env.key(fmt.Sprintf("slot-%d", n))
	h.racers = make([]racer, len(sizes))
	for i, size := range sizes {
		h.racers[i] = racer{store: stores[i%len(stores)], key: key, body: raceBody(i, n, size)}
	}
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range h.racers {
		wg.Go(func() {
			<-start
			sleep(ctx, time.Duration(i)*stagger)
			h.racers[i].run(ctx)
		})
	}
	close(start)
	wg.Wait()
	return judge(h.racers)
}

// raceBody is what a racer writes: nobody else writes the same. It is new each time, since a
// client may go on to send a body whose answer has come.
func raceBody(i, key, size int) []byte {
	body := bytes.Repeat([]byte{byte('a' + i)}, size)
	copy(body, fmt.Sprintf("%-*s", bodyHead, fmt.Sprintf("racer %d of key %d", i, key)))
	return body
}

// sleep returns after d or at the end of the context.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// racer is one creator and what it saw.
type racer struct {
	store     object.Store
	key       string
	body      []byte
	won       bool   // a Put returned nil
	ambiguous bool   // a Put may have landed although it returned an error
	occupant  []byte // the first bytes of what the key holds after the race, as this racer reads it
	err       error
}

// run creates the key, repeating the same bytes while nothing is settled, and
// then reads who won.
func (r *racer) run(ctx context.Context) {
	pause := firstPause
	for try := 0; ; try++ {
		err := r.put(ctx)
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
		sleep(ctx, pause)
		pause *= 2
	}
	for range maxTries {
		r.occupant, _, r.err = object.ReadAll(ctx, r.store, r.key, object.GetOptions{Limit: bodyHead}, bodyHead)
		if !errors.Is(r.err, object.ErrUnknown) {
			break
		}
	}
	if errors.Is(r.err, object.ErrNotFound) {
		r.err = fmt.Errorf("the key was taken and then absent: %w", r.err)
	}
}

// put tries once, for tryTime at most.
func (r *racer) put(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	_, err := r.store.Put(ctx, r.key, r.body, object.IfAbsent)
	return err
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
		if own := bytes.Equal(r.occupant, r.body[:bodyHead]); own {
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
