package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"batcher/object"
)

// The names of the races.
const (
	smallRace = "create-race"
	LargeRace = "create-race-large" // with bodies of more than 5 MiB
)

// IsRace says whether a check keeps many requests going at a time.
func IsRace(c Check) bool { return c.Name == smallRace || c.Name == LargeRace }

// Admission returns the checks without which the commit protocol loses or
// doubles data. A store that fails one of them must be refused.
func Admission() []Check {
	return []Check{
		{"round-trip", "what is read is not what was written", roundTrip},
		{"create-if-absent", "the store ignores the condition and overwrites: two runs both believe they committed", createIfAbsent},
		{smallRace, "several racing creators are told that they won, or a loser cannot read who did", createRace},
		{LargeRace, "the same, where the store takes longer between its look and its write", createRaceLarge},
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

// pattern returns n bytes without any repetition, always the same ones.
func pattern(n int) []byte {
	body := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(body) // never fails
	return body
}
