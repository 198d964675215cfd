package faultstore_test

import (
	"context"
	"errors"
	"testing"

	"batcher/object"
	"batcher/object/faultstore"
	"batcher/object/memstore"
	"batcher/object/storetest"
)

func TestConformanceWithoutFaults(t *testing.T) {
	env := storetest.Env{Store: faultstore.New(memstore.New(), nil)}
	storetest.Run(context.Background(), env, storetest.All(), func(r storetest.Result) {
		if r.Err != nil || r.CleanUp != nil {
			t.Errorf("%s: %v; clean-up: %v", r.Check.Name, r.Err, r.CleanUp)
		}
	})
}

func TestFaultsOfPut(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		fault           faultstore.Fault
		want            error
		happened, later bool // before and after Release
		dead            bool
	}{
		{faultstore.Unavailable, object.ErrUnknown, false, false, false},
		{faultstore.Conflict, object.ErrConflict, false, false, false},
		{faultstore.Deny, object.ErrDenied, false, false, false},
		{faultstore.LoseAnswer, object.ErrUnknown, true, true, false},
		{faultstore.LandLate, object.ErrUnknown, false, true, false},
		{faultstore.CrashBefore, faultstore.ErrCrashed, false, false, true},
		{faultstore.CrashAfter, faultstore.ErrCrashed, true, true, true},
	} {
		inner := memstore.New()
		s := faultstore.New(inner, faultstore.Script{{Op: faultstore.Put, Prefix: "k", Fault: c.fault}})
		if _, err := s.Put(ctx, "other", []byte("x"), object.IfAbsent); err != nil {
			t.Fatal(err)
		}
		body := []byte("mine")
		_, err := s.Put(ctx, "k", body, object.IfAbsent)
		copy(body, "lost") // the sender reuses its buffer
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.fault, err, c.want)
		}
		if _, ok := inner.Objects()["k"]; ok != c.happened {
			t.Errorf("%s: happened %t, want %t", c.fault, ok, c.happened)
		}
		for _, err := range s.Release(ctx) {
			if err != nil {
				t.Errorf("%s: released: %v", c.fault, err)
			}
		}
		if got, ok := inner.Objects()["k"]; ok != c.later || ok && string(got) != "mine" {
			t.Errorf("%s: after release %q, want it there: %t", c.fault, got, c.later)
		}
		if _, _, err := s.Get(ctx, "other", object.GetOptions{}); errors.Is(err, faultstore.ErrCrashed) != c.dead {
			t.Errorf("%s: a later call gave %v, want dead: %t", c.fault, err, c.dead)
		}
	}
}

func TestLateWriteMeetsAnOccupiedSlot(t *testing.T) {
	ctx, inner := context.Background(), memstore.New()
	s := faultstore.New(inner, faultstore.Script{{Op: faultstore.Put, Fault: faultstore.LandLate}})
	if _, err := s.Put(ctx, "slot", []byte("zombie"), object.IfAbsent); !errors.Is(err, object.ErrUnknown) {
		t.Fatal(err)
	}
	if _, err := s.Put(ctx, "slot", []byte("rival"), object.IfAbsent); err != nil {
		t.Fatal(err)
	}
	if late := s.Release(ctx); len(late) != 1 || !errors.Is(late[0], object.ErrExists) {
		t.Errorf("the late write came to %v", late)
	}
	if got := string(inner.Objects()["slot"]); got != "rival" {
		t.Errorf("the slot holds %q", got)
	}
}

func TestHoldWaitsForRelease(t *testing.T) {
	ctx := context.Background()
	s := faultstore.New(memstore.New(), faultstore.Script{{Op: faultstore.Put, Fault: faultstore.Hold, Times: 2}})
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Put(gone, "k", nil, object.IfAbsent); !errors.Is(err, context.Canceled) || !errors.Is(err, object.ErrUnknown) {
		t.Errorf("held until its context ended: %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := s.Put(ctx, "k", nil, object.IfAbsent)
		done <- err
	}()
	for {
		s.Release(ctx)
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("released: %v", err)
			}
			return
		default:
		}
	}
}

func TestTornBodyIsAnError(t *testing.T) {
	ctx := context.Background()
	s := faultstore.New(memstore.New(), faultstore.Script{{Op: faultstore.Get, Fault: faultstore.Tear}})
	if _, err := s.Put(ctx, "k", []byte("0123456789"), object.Always); err != nil {
		t.Fatal(err)
	}
	if _, _, err := object.ReadAll(ctx, s, "k", object.GetOptions{}, 100); !errors.Is(err, object.ErrUnknown) {
		t.Errorf("torn read: %v", err)
	}
	if got, _, err := object.ReadAll(ctx, s, "k", object.GetOptions{}, 100); err != nil || len(got) != 10 {
		t.Errorf("next read: %q, %v", got, err)
	}
}

func TestRulesCountTheirOwnCalls(t *testing.T) {
	ctx := context.Background()
	s := faultstore.New(memstore.New(), faultstore.Script{
		{Op: faultstore.Put, Prefix: "m/", Call: 2, Times: 3, Fault: faultstore.Conflict},
		{Op: faultstore.Delete, Times: -1, Fault: faultstore.Deny},
	})
	var struck []int
	for i := 1; i <= 6; i++ {
		if _, err := s.Put(ctx, "other", nil, object.Always); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(ctx, "m/k", nil, object.Always); errors.Is(err, object.ErrConflict) {
			struck = append(struck, i)
		}
		if err := s.Delete(ctx, "m/k"); !errors.Is(err, object.ErrDenied) {
			t.Errorf("delete %d: %v", i, err)
		}
	}
	if len(struck) != 3 || struck[0] != 2 || struck[2] != 4 {
		t.Errorf("struck puts %v, want 2 to 4", struck)
	}
	if got := len(s.Calls()); got != 18 {
		t.Errorf("%d calls recorded", got)
	}
}

func TestScriptPrintsItself(t *testing.T) {
	s := faultstore.Script{
		{Op: faultstore.Put, Prefix: "manifests/", Call: 3, Times: -1, Fault: faultstore.LandLate},
		{Fault: faultstore.CrashAfter},
	}
	want := `faultstore.Script{{Op: faultstore.Put, Prefix: "manifests/", Call: 3, Times: -1, Fault: faultstore.LandLate}, {Fault: faultstore.CrashAfter}}`
	if got := s.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
