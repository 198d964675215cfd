package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"batcher/object"
	"batcher/sim"
)

// idle is a recovering process that finds nothing to do.
var idle = sim.Process{Name: "recover", Run: func(*sim.Client) {}}

// putter makes so many unconditional writes.
func putter(name string, writes int) sim.Process {
	return sim.Process{Name: name, Run: func(c *sim.Client) {
		for i := range writes {
			_, _ = c.Put(context.Background(), fmt.Sprintf("%s/%d", name, i), []byte("x"), object.Always)
		}
	}}
}

// get reads a whole object, "" if it is absent.
func get(c *sim.Client, key string) string {
	body, _, err := object.ReadAll(context.Background(), c, key, object.GetOptions{}, 1<<20)
	if err != nil {
		return ""
	}
	return string(body)
}

// adder adds one to a counter in the way that the rule allows.
func adder(name string, cond object.Condition) sim.Process {
	return sim.Process{Name: name, Run: func(c *sim.Client) {
		for at := 1; ; at++ {
			key := fmt.Sprintf("n/%d", at)
			if cond == object.Always {
				n, _ := strconv.Atoi(get(c, "n/0"))
				_, _ = c.Put(context.Background(), "n/0", []byte(strconv.Itoa(n+1)), object.Always)
				return
			}
			if _, err := c.Put(context.Background(), key, []byte(name), object.IfAbsent); !errors.Is(err, object.ErrExists) {
				return
			}
		}
	}}
}

func TestEveryInterleavingIsCountedOnce(t *testing.T) {
	for _, c := range []struct {
		processes []sim.Process
		faults    int
		states    int
		schedules float64
	}{
		{[]sim.Process{putter("a", 3)}, 0, 4, 1},
		{[]sim.Process{putter("a", 2), putter("b", 2)}, 0, 9, 6},
		{[]sim.Process{putter("a", 1), putter("b", 1), putter("c", 1)}, 0, 8, 6},
		{[]sim.Process{putter("a", 4), putter("b", 4), putter("c", 4)}, 0, 125, 34650},
		// One write: answered; lost; not applied; conflict; denied; delayed and landed.
		// To have landed is the same as to have lost the answer.
		{[]sim.Process{putter("a", 1)}, 1, 7, 6},
	} {
		e := sim.Explorer{Processes: c.processes, Recover: idle, Faults: c.faults, MaxStates: 1000}
		r, err := e.Run()
		if err != nil || r.States != c.states || r.Schedules != c.schedules {
			t.Errorf("%d processes, %d faults: %d states, %g schedules, %v; want %d, %g",
				len(c.processes), c.faults, r.States, r.Schedules, err, c.states, c.schedules)
		}
	}
}

// sum is the check that no addition is lost, at the end of two adders.
func sum(v sim.View) error {
	n := string(v.Body("n/0"))
	if n != "2" {
		return fmt.Errorf("the counter is %q", n)
	}
	return nil
}

func TestALostUpdateIsFoundAndItsScheduleReplays(t *testing.T) {
	explorer := func() *sim.Explorer {
		return &sim.Explorer{
			Processes: []sim.Process{finishing(adder("a", object.Always)), finishing(adder("b", object.Always))},
			Recover:   idle, MaxStates: 1000,
			Checks: sim.Checks{Note: func(v sim.View, _ string, _ any) error {
				if v.Body("done/a") != nil && v.Body("done/b") != nil {
					return sum(v)
				}
				return nil
			}},
		}
	}
	_, err := explorer().Run()
	var f *sim.FailureError
	if !errors.As(err, &f) {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(f.Error(), `sim.Schedule{{"a", sim.OK}, `) || len(f.Calls) != len(f.Schedule) || len(f.Schedule) != 6 {
		t.Errorf("%v", f)
	}
	_, err = explorer().Replay(f.Schedule)
	var again *sim.FailureError
	if !errors.As(err, &again) || !slices.Equal(again.Schedule, f.Schedule) || again.Cause.Error() != f.Cause.Error() {
		t.Errorf("replay: %v", err)
	}
	one := sim.Schedule{{"a", sim.OK}, {"a", sim.OK}, {"a", sim.OK}, {"b", sim.OK}, {"b", sim.OK}, {"b", sim.OK}}
	if calls, err := explorer().Replay(one); err != nil || len(calls) != 6 {
		t.Errorf("one after the other: %v, %q", err, calls)
	}
	if _, err := explorer().Replay(sim.Schedule{{"a", sim.Lands}}); err == nil {
		t.Error("a step that cannot be made was made")
	}
}

// finishing notes in the store and to the checks that a process is done.
func finishing(p sim.Process) sim.Process {
	return sim.Process{Name: p.Name, Run: func(c *sim.Client) {
		p.Run(c)
		_, _ = c.Put(context.Background(), "done/"+p.Name, nil, object.Always)
		c.Note("done")
	}}
}

// TestFaultsDoWhatTheySay lets one process tell what it saw of each fault.
func TestFaultsDoWhatTheySay(t *testing.T) {
	errs := map[string]error{}
	process := sim.Process{Name: "a", Run: func(c *sim.Client) {
		_, err := c.Put(context.Background(), "k", []byte("v"), object.IfAbsent)
		errs["put"] = err
		errs["get"] = nil
		if got := get(c, "k"); got == "" {
			errs["get"] = object.ErrNotFound
		}
	}}
	for _, c := range []struct {
		fault   sim.Fault
		put     error
		get     error
		restful bool // the object is there in the end
	}{
		{sim.OK, nil, nil, true},
		{sim.AnswerLost, object.ErrUnknown, nil, true},
		{sim.NotApplied, object.ErrUnknown, object.ErrNotFound, false},
		{sim.Conflict, object.ErrConflict, object.ErrNotFound, false},
		{sim.Denied, object.ErrDenied, object.ErrNotFound, false},
		{sim.Delayed, object.ErrUnknown, object.ErrNotFound, true},
	} {
		way := sim.Schedule{{"a", c.fault}, {"a", sim.OK}}
		if c.fault == sim.Delayed {
			way = append(way, sim.Step{Process: "a", Fault: sim.Lands})
		}
		there := false
		e := sim.Explorer{Processes: []sim.Process{process}, Recover: idle, Checks: sim.Checks{Rest: func(v sim.View) error {
			there = bytes.Equal(v.Body("k"), []byte("v"))
			return nil
		}}}
		if _, err := e.Replay(way); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(errs["put"], c.put) || !errors.Is(errs["get"], c.get) || there != c.restful {
			t.Errorf("%s: put %v, get %v, there %v", c.fault, errs["put"], errs["get"], there)
		}
	}
}

func TestADelayedWriteLandsUnderItsCondition(t *testing.T) {
	e := sim.Explorer{
		Processes: []sim.Process{adder("a", object.IfAbsent), adder("b", object.IfAbsent)},
		Recover:   idle, Faults: 2, MaxStates: 1000,
		Checks: sim.Checks{Write: func(key string, before, _ []byte) error {
			if before != nil {
				return fmt.Errorf("%s was overwritten", key)
			}
			return nil
		}},
	}
	if _, err := e.Run(); err != nil {
		t.Fatal(err)
	}
}

func TestAProcessThatDoesNotRepeatItselfIsRefused(t *testing.T) {
	runs := 0
	fickle := sim.Process{Name: "fickle", Run: func(c *sim.Client) {
		runs++
		_, _ = c.Put(context.Background(), fmt.Sprintf("k/%d", runs), nil, object.Always)
		_ = get(c, "k/0")
	}}
	e := sim.Explorer{Processes: []sim.Process{fickle}, Recover: idle, Faults: 1, MaxStates: 1000}
	if _, err := e.Run(); err == nil || !strings.Contains(err.Error(), "does not repeat itself") {
		t.Fatalf("got %v", err)
	}
}

func TestAnExplorationOverItsBoundIsNoProof(t *testing.T) {
	e := sim.Explorer{Processes: []sim.Process{putter("a", 4), putter("b", 4)}, Recover: idle, MaxStates: 10}
	if _, err := e.Run(); !errors.Is(err, sim.ErrBounds) {
		t.Fatalf("got %v", err)
	}
}

// TestRecoveryIsTriedInEveryState has a process whose second write makes good
// what the first leaves: only its death between the two shows.
func TestRecoveryIsTriedInEveryState(t *testing.T) {
	half := sim.Process{Name: "a", Run: func(c *sim.Client) {
		_, _ = c.Put(context.Background(), "one", []byte("x"), object.Always)
		_, _ = c.Put(context.Background(), "two", []byte("x"), object.Always)
	}}
	whole := func(v sim.View) error {
		if (v.Body("one") == nil) != (v.Body("two") == nil) {
			return errors.New("half done")
		}
		return nil
	}
	e := sim.Explorer{Processes: []sim.Process{half}, Recover: idle, MaxStates: 10, Checks: sim.Checks{Rest: whole}}
	_, err := e.Run()
	var f *sim.FailureError
	if !errors.As(err, &f) || f.Schedule.String() != `sim.Schedule{{"a", sim.OK}}` {
		t.Fatalf("got %v", err)
	}
	mends := sim.Process{Name: "recover", Run: func(c *sim.Client) {
		if get(c, "one") != "" {
			_, _ = c.Put(context.Background(), "two", []byte("x"), object.Always)
		}
	}}
	e = sim.Explorer{Processes: []sim.Process{half}, Recover: mends, Faults: 1, MaxStates: 100, Checks: sim.Checks{Rest: whole}}
	if _, err := e.Run(); err == nil || !strings.Contains(err.Error(), "half done") {
		t.Fatalf("the first write was not applied and the second was: got %v", err)
	}
	e = sim.Explorer{Processes: []sim.Process{half}, Recover: mends, MaxStates: 100, Checks: sim.Checks{Rest: whole}}
	if _, err := e.Run(); err != nil {
		t.Fatal(err)
	}
}
