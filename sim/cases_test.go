package sim_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"batcher/commit"
	"batcher/manifest"
	"batcher/object"
	"batcher/object/memstore"
	"batcher/schema"
	"batcher/sim"
)

// steps is n undisturbed calls of a process.
func steps(process string, n int) sim.Schedule {
	way := make(sim.Schedule, n)
	for i := range way {
		way[i].Process = process
	}
	return way
}

// along is a schedule from its parts.
func along(parts ...sim.Schedule) sim.Schedule {
	var way sim.Schedule
	for _, p := range parts {
		way = append(way, p...)
	}
	return way
}

// Calls of a run on a chain of one manifest: hint, slot 0, slot 1, the data file,
// slot 1. Then the hint is written.
const beforeSlot = 4

// TestKnownFaults replays what other systems failed at, one schedule each, and
// holds the end of the first process against what it has to be.
func TestKnownFaults(t *testing.T) {
	slot := func(process string, f sim.Fault) sim.Schedule { return sim.Schedule{{process, f}} }
	for _, c := range []struct {
		name     string
		scenario string
		way      sim.Schedule
		end      error // of a
	}{
		{"P2_ALostAnswerIsFoundOutToBeASuccess", "shards",
			along(steps("a", beforeSlot), slot("a", sim.AnswerLost), steps("a", 3)), nil},
		{"P5_AConflictSettlesNothingAndIsTriedAgain", "shards",
			along(steps("a", beforeSlot), slot("a", sim.Conflict), steps("a", 2)), nil},
		{"P7_AWriteThatLandsLateIsOurOwn", "shards",
			along(steps("a", beforeSlot), slot("a", sim.Delayed), slot("a", sim.Lands), steps("a", 3)), nil},
		{"P8_AWriteThatLandsAfterARestartConsumesNothingTwice", "budget spent",
			along(steps("a", beforeSlot), slot("a", sim.Delayed), steps("b", beforeSlot), slot("a", sim.Lands), steps("b", 4)), commit.ErrUnresolved},
		{"P11_OfTwoRunsForOneObjectOneCommits", "overlap",
			along(steps("a", beforeSlot), steps("b", beforeSlot+2), steps("a", 4)), nil},
		{"P3_AnUnknownOutcomeDeletesNothing", "budget spent",
			along(steps("a", beforeSlot), slot("a", sim.AnswerLost)), commit.ErrUnresolved},
		{"ARefusalProvesThatNothingWasStored", "shards",
			along(steps("a", beforeSlot), slot("a", sim.Denied)), object.ErrDenied},
		{"ARefusalAfterALostAnswerProvesNothing", "shards",
			along(steps("a", beforeSlot), slot("a", sim.Delayed), slot("a", sim.Denied), steps("a", 1)), commit.ErrUnresolved},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, o := named(t, c.scenario).explorer(t, 0)
			var end *ended
			e.Checks.Note = func(v sim.View, process string, note any) error {
				if n, ok := note.(ended); ok && process == "a" {
					end = &n
				}
				return o.note(v, process, note)
			}
			calls, err := e.Replay(c.way)
			if err != nil {
				t.Fatalf("%v\n%s", err, strings.Join(calls, "\n"))
			}
			if end == nil || !errors.Is(end.err, c.end) {
				t.Errorf("a ended with %+v, want %v\n%s", end, c.end, strings.Join(calls, "\n"))
			}
		})
	}
}

func named(t *testing.T, name string) scenario {
	t.Helper()
	for _, c := range scenarios {
		if c.name == name {
			return c
		}
	}
	t.Fatalf("no scenario %q", name)
	return scenario{}
}

// TestP6_AForkIsNoticedByTheWriterThatWasOverwritten has a store that takes
// IfAbsent for Always: b overwrites the manifest of a, who looks before its next
// batch and stops.
func TestP6_AForkIsNoticedByTheWriterThatWasOverwritten(t *testing.T) {
	e, _ := named(t, "batches").explorer(t, 0)
	e.Store = sim.IgnoresConditions
	var end error
	e.Checks = sim.Checks{Note: func(_ sim.View, process string, note any) error {
		if n, ok := note.(ended); ok && process == "a" {
			end = n.err
		}
		return nil
	}}
	way := along(steps("a", beforeSlot), steps("b", beforeSlot), steps("a", 1), steps("b", 1), steps("a", 2))
	if calls, err := e.Replay(way); err != nil || !errors.Is(end, commit.ErrDamaged) {
		t.Fatalf("a ended with %v, %v\n%s", end, err, strings.Join(calls, "\n"))
	}
}

// TestP6_AStoreThatIgnoresTheConditionIsSeenToBreakInvariants shows the oracle a
// store that breaks its promise.
func TestP6_AStoreThatIgnoresTheConditionIsSeenToBreakInvariants(t *testing.T) {
	e, _ := named(t, "shards").explorer(t, 0)
	e.Store = sim.IgnoresConditions
	_, err := e.Run()
	var f *sim.FailureError
	if !errors.As(err, &f) || !strings.Contains(f.Cause.Error(), "I13") {
		t.Fatalf("got %v", err)
	}
}

// TestAHintThatDoesNotFitItsManifestIsAnAlarm has a hint with the hash of other
// bytes than those in the slot: one of the two was overwritten.
func TestAHintThatDoesNotFitItsManifestIsAnAlarm(t *testing.T) {
	w := newWorld(t, 0, sameColumns)
	store := memstore.New()
	for key, body := range w.after(t, 1) {
		if _, err := store.Put(t.Context(), key, body, object.Always); err != nil {
			t.Fatal(err)
		}
	}
	l := newLog(store, 0)
	head, err := l.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	head.SHA256[0]++
	if err := l.PutHint(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Head(t.Context()); !errors.Is(err, commit.ErrDamaged) {
		t.Fatalf("got %v", err)
	}
}

// TestEveryWayToBeginGivesOneGenesis explores creators that race: there is one
// pipeline id, one claim and one genesis in every state, and who was told of a
// head was told of this chain.
func TestEveryWayToBeginGivesOneGenesis(t *testing.T) {
	creator := func(name string, id byte) sim.Process {
		return sim.Process{Name: name, Run: func(c *sim.Client) {
			head, err := newLog(c, 0).Create(context.Background(), commit.Genesis{
				ID: [16]byte{id}, Attempt: manifest.Attempt{id}, Config: config,
				Tables: map[string]*schema.Schema{"events": {Fields: schema.Reserved(), LastID: schema.LastReserved}},
			})
			if err == nil {
				c.Note(head)
			} else if !harmless(err) || name == "recover" {
				c.Note(err)
			}
		}}
	}
	o := newOracle(newWorld(t, 0, sameColumns))
	check := sim.Checks{Write: o.write, Content: o.content, Note: func(v sim.View, process string, note any) error {
		head, ok := note.(manifest.Snapshot)
		if !ok {
			return fmt.Errorf("%s: %v", process, note)
		}
		c, err := o.walk(v)
		if err != nil || c == nil || c.head.SHA256 != head.SHA256 {
			return fmt.Errorf("%s was told of another genesis: %w", process, err)
		}
		return nil
	}, Rest: func(v sim.View) error {
		c, err := o.walk(v)
		if err != nil {
			return err
		}
		f, err := manifest.DecodeFormat(v.Body(layout.Format()))
		if err != nil || c == nil || f.Pipeline != c.head.Manifest.Pipeline {
			return fmt.Errorf("the genesis is not of the pipeline that format.json names (%q): %w", f.Pipeline, err)
		}
		claim, err := manifest.DecodeClaim(v.Body(manifest.Claim("events")))
		if err != nil || claim.Pipeline != f.Pipeline {
			return fmt.Errorf("the claim is of %q: %w", claim.Pipeline, err)
		}
		return nil
	}}
	e := sim.Explorer{
		Processes: []sim.Process{creator("a", 1), creator("b", 2), creator("c", 3)}, Recover: creator("recover", 9),
		Faults: 1, MaxStates: 1_000_000, Checks: check,
	}
	r, err := e.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d states, %.2g schedules; ids end in %s", r.States, r.Schedules, hex.EncodeToString([]byte{1, 2, 3}))
}
