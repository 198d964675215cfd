package main

import (
	"strings"
	"testing"
)

// TestExplicitRangesOfAManifestAreRunAgainElsewhere takes the ranges of a manifest
// to an empty store: plan and run see exactly them, and the same batch comes out.
func TestExplicitRangesOfAManifestAreRunAgainElsewhere(t *testing.T) {
	w := newWorld(t, nil, localFile)
	w.seedLocal("", 5, 20)
	var first report
	w.must(&first, "run", "-q", "--max-batches", "1")
	shown := w.run("show", "1", "-o", "json")
	if shown.code != exitOK || first.Objects.Read != 3 {
		t.Fatalf("exit %d: %s%s", shown.code, shown.stdout, shown.stderr)
	}
	w.write("ranges.json", shown.stdout)
	elsewhere := []string{"--range", "ranges.json", "--set", "store=./other", "-q"}

	var plan planReport
	w.must(&plan, append([]string{"plan"}, elsewhere...)...)
	if plan.Objects != 3 || plan.Batches != 1 || plan.Bytes == 0 || !plan.New {
		t.Errorf("plan: %+v", plan)
	}
	var again report
	w.must(&again, append([]string{"run"}, elsewhere...)...)
	if again.Outcome != outcomeCommitted || again.BatchID == "" || again.Rows != first.Rows || again.Objects.Read != 3 {
		t.Errorf("run: %+v, first was %+v", again, first)
	}

	w.must(&plan, append([]string{"plan"}, elsewhere...)...)
	if plan.Objects != 0 || plan.Batches != 0 {
		t.Errorf("plan of what is committed: %+v", plan)
	}
	w.must(&again, append([]string{"run"}, elsewhere...)...)
	if again.Outcome != outcomeAlready {
		t.Errorf("run of what is committed: %+v", again)
	}
	for _, verb := range []string{"plan", "run"} {
		if r := w.run(verb, "--range", "absent.json"); r.code != exitUsage || !strings.Contains(r.stderr, "absent.json") {
			t.Errorf("%s: exit %d: %s", verb, r.code, r.stderr)
		}
	}
}
