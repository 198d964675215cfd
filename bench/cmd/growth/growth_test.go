package main

import (
	"fmt"
	"testing"

	"batcher/localdev"
)

// TestRequestsDoNotGrowWithHistory plays 2,000 batches, with compactions, expiries and
// publishing, and wants the same requests at three lengths.
func TestRequestsDoNotGrowWithHistory(t *testing.T) {
	w := newWorld()
	costs := map[string][]cost{}
	for _, mark := range []int{10, 200, 2000} {
		if err := w.grow(t.Context(), mark); err != nil {
			t.Fatal(err)
		}
		r, err := w.measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range actions {
			costs[a.name] = append(costs[a.name], r.costs[i])
		}
	}
	for _, a := range actions {
		t.Logf("%s: %v", a.name, costs[a.name])
	}
	idle := costs["run, nothing to do, source kept"]
	for _, c := range idle {
		// Where the head's number is a multiple of ten a hint is looked at, too.
		if c.Put != 0 || c.List != idle[0].List || c.Get > idle[0].Get+1 || c.Get < idle[0].Get-1 || c.requests()-float64(c.List) > 6+3*2 { // two GETs for each table, that of batches among them
			t.Errorf("a run with nothing to do makes %v, %v at first", c, idle[0])
		}
	}
	one := costs["run, one object, source kept"]
	for _, c := range one {
		if c.Get > one[0].Get+2*int64(c.times) || c.Put > one[0].Put+int64(c.times) {
			t.Errorf("a run with one object makes %v, %v at first", c, one[0])
		}
	}
	for _, c := range costs["open of the Delta table"] {
		if c.Get > 40 {
			t.Errorf("a reader opens the table with %v", c)
		}
	}
	localdev.Figure("after 10, 200 and 2,000 batches, publishing", fmt.Sprintf("a run with nothing to do: %v | %v | %v; with one object: %v | %v | %v; a reader's open: %v",
		idle[0].Requests, idle[1].Requests, idle[2].Requests, one[0], one[1], one[2], costs["open of the Delta table"]))
}
