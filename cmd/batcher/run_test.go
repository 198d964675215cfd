package main

import (
	"context"
	"encoding/json"
	"errors"
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
			!strings.Contains(rep.Error.Message, "nothing was done; left to read: 1 object") {
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

// TestRunReportsWrongCommandLinesToo gives lines that fail before the run begins.
func TestRunReportsWrongCommandLinesToo(t *testing.T) {
	v := verbs{Run: func(context.Context, *call, runOptions) (report, error) { return report{Outcome: outcomeEmpty}, nil }}
	for line, lines := range map[string]int{
		"run -o json --shard 9/2":           1,
		"run --bogus -o json":               1,
		"--output=json -c x run --bogus":    1,
		"-o text run x -o json":             1,
		"run --memory 3 -o json":            1,
		"run -o json --max-batches x":       1,
		"run -o json --deadline":            1,
		"run -o json":                       1,
		"run -o json --dry-run --shard 9/2": 1,
		"run -o text --shard 9/2":           0,
		"run -o json --help":                -1,
		"plan -o json --shard 9/2":          1,
		"run -- -o json":                    0,
		"history -o json run":               1,
	} {
		p := play(v, strings.Fields(line)...)
		if lines < 0 {
			if p.code != 0 || strings.Contains(p.stdout, "outcome") {
				t.Errorf("%s: exit %d: %s", line, p.code, p.stdout)
			}
			continue
		}
		var got report
		if strings.Count(p.stdout, "\n") != lines || lines == 1 && json.Unmarshal([]byte(p.stdout), &got) != nil {
			t.Errorf("%s: %q", line, p.stdout)
		}
		if p.code != 0 && lines == 1 && (p.code != exitUsage || (got.Outcome == outcomeFailed) != reports(line) || got.Error == nil || got.Error.Code != exitUsage ||
			!strings.HasPrefix(p.stderr, "batcher: "+got.Error.Message+"\n")) {
			t.Errorf("%s: exit %d, %+v\n%s", line, p.code, got, p.stderr)
		}
	}
}

// reports says whether a line of the test above is one of run, whose failures have a report;
// others have the member error alone.
func reports(line string) bool {
	return strings.Contains(line, "run") && !strings.Contains(line, "dry-run") && !strings.HasPrefix(line, "history")
}

// TestAnIdleRunSaysWhy gives reports of runs that did nothing.
func TestAnIdleRunSaysWhy(t *testing.T) {
	for want, r := range map[string]report{
		"nothing to do: there are no objects\n":                                           {},
		"nothing to do: all 3 objects are consumed\n":                                     {Progress: reportProgress{Objects: 3}},
		"nothing to do yet\n  2 objects too young to be read yet (source.files.settle)\n": {Objects: reportObjects{Young: 2}},
		"nothing was done\n  left to read: 5 objects, 99 B\n":                             {Progress: reportProgress{Objects: 3}, Lag: reportLag{Objects: 5, Bytes: 99}},
	} {
		r.Outcome = outcomeEmpty
		if p := play(verbs{Run: func(context.Context, *call, runOptions) (report, error) { return r, nil }}, "run"); p.stdout != want {
			t.Errorf("got %q, want %q", p.stdout, want)
		}
		if p := play(verbs{Run: func(context.Context, *call, runOptions) (report, error) { return r, nil }}, "run", "-q"); p.stdout+p.stderr != "" {
			t.Errorf("-q: %q, %q", p.stdout, p.stderr)
		}
	}
}

// TestAFailedRunSaysWhatItCommitted gives runs that failed after a batch was committed.
func TestAFailedRunSaysWhatItCommitted(t *testing.T) {
	seq := int64(1)
	for want, failure := range map[string]error{
		"failed after manifest 1 was committed: 1 batch, 0 objects, 0 records → 0 rows in 0s\n":      errors.New("x"),
		"interrupted after manifest 1 was committed: 1 batch, 0 objects, 0 records → 0 rows in 0s\n": &exitError{Code: exitInterrupted, Err: errors.New("x")},
	} {
		v := verbs{Run: func(context.Context, *call, runOptions) (report, error) {
			return report{Batches: 1, Seq: &seq}, failure
		}}
		if p := play(v, "run"); p.stdout != want {
			t.Errorf("got %q, want %q", p.stdout, want)
		}
	}
}

func TestWordsForPeople(t *testing.T) {
	for want, got := range map[string]string{
		"1 batch": many(1, "batch"), "2 batches": many(2, "batch"), "1,204 rows": many(1204, "row"), "0 objects": many(0, "object"),
		"-1,234,567": grouped(-1234567), "123": grouped(123), "1,000": grouped(1000),
		"1023 B": sized(1023), "1.0 KiB": sized(1024), "22.1 KiB": sized(22583), "1.0 MiB": sized(1<<20 - 1), "128.0 MiB": sized(128 << 20), "1.5 GiB": sized(3 << 29),
		"s3://b/events/data/…0/a8b1c2…/000000.parquet": shortened("s3://b/events/data/00000000000000000000/a8b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5/000000.parquet"),
		"/lake/in/0000123.csv":                         shortened("/lake/in/0000123.csv"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
