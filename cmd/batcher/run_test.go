package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestARunWithoutTimeIsToBeRepeated: a deadline that leaves no time for a batch is no
// success as long as there is something to read.
func TestARunWithoutTimeIsToBeRepeated(t *testing.T) {
	w := newWorld(t, nil, localFile)
	w.write("in/a.ndjson", "{\"a\":1}\n")
	for range 2 {
		r := w.run("run", "--deadline", "1ns", "-o", "json")
		var rep report
		if err := json.Unmarshal([]byte(r.stdout), &rep); err != nil {
			t.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
		}
		if r.code != exitTemporary || rep.Outcome != outcomeFailed || rep.Lag.Objects != 1 || rep.Error == nil ||
			!strings.Contains(rep.Error.Message, "nothing was done; 1 objects wait") {
			t.Errorf("exit %d: %+v", r.code, rep)
		}
		w.write("in/a.ndjson", "{\"a\":1}\n")
	}
	w.must(&report{}, "run", "--deadline", "10m")
	var rep report
	w.must(&rep, "run", "--deadline", "1ns")
	if rep.Outcome != outcomeEmpty {
		t.Errorf("nothing is left, and the run says %+v", rep)
	}
	w.proves(1)
}
