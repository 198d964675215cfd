package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"batcher/audit"
	"batcher/localdev"
	"batcher/source"
)

// changing is a pipeline whose source is changed under it, in a directory or in a
// bucket.
type changing struct {
	*world
	put func(name, text string)
}

// changingPlaces are a directory and a bucket of a real MinIO.
func changingPlaces(t *testing.T) map[string]*changing {
	const tail = "dead_letters: {fail_above: {ratio: 1}}\n"
	dir := newWorld(t, nil, "pipeline: events\nstore: ./lake\nsource: {files: {path: ./in, settle: 0s}}\n"+tail)
	s := minio(t)
	bucket := newWorld(t, s.Env(), "pipeline: events\nstore: s3://lake/"+t.Name()+"\nsource: {files: {path: s3://input/"+t.Name()+"}}\n"+tail)
	return map[string]*changing{
		"directory": {dir, func(name, text string) { dir.write("in/"+name, text) }},
		"MinIO": {bucket, func(name, text string) {
			if err := s.Put(t.Context(), "input", t.Name()+"/"+name, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}},
	}
}

// names counts the rows and dead letters that stand, by the key of their object,
// with "#" behind those of contents that were appended.
func (c *changing) names() map[string]int {
	c.t.Helper()
	out := map[string]int{}
	for _, table := range []string{"events", "events_dead"} {
		for line := range strings.Lines(c.run("head", "-n", "10000", "--table", table, "-o", "json").stdout) {
			_, rest, found := strings.Cut(line, `"_source":`)
			if !found {
				continue
			}
			text, err := strconv.QuotedPrefix(rest)
			if err != nil {
				c.t.Fatal(err)
			}
			name, err := strconv.Unquote(text)
			if err != nil {
				c.t.Fatal(err)
			}
			key := source.KeyOf(name)
			if key != name {
				key += "#"
			}
			if table == "events_dead" {
				key += " dead"
			}
			out[key]++
		}
	}
	return out
}

func (c *changing) want(when string, want map[string]int) {
	c.t.Helper()
	if got := c.names(); !maps.Equal(got, want) {
		c.t.Errorf("%s: rows of %v, want %v", when, got, want)
	}
}

// runs makes a run under a policy.
func (c *changing) runs(policy string) report {
	c.t.Helper()
	var rep report
	c.must(&rep, "run", "--set", "source.files.on_change="+policy)
	return rep
}

func ndjson(from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, `{"n":%d,"user":"u%d"}`+"\n", i, i%7)
	}
	return b.String()
}

// TestChangedObjectsAreAppendedOrReplaced goes through the life of an object that
// is changed again and again.
func TestChangedObjectsAreAppendedOrReplaced(t *testing.T) {
	for name, c := range changingPlaces(t) {
		t.Run(name, func(t *testing.T) {
			c.t = t
			c.put("a.ndjson", ndjson(0, 3)+"{broken\n")
			c.put("b.csv", "n,user\n1,x\n2,y\n")
			c.put("c.ndjson", ndjson(10, 5))
			c.runs("append")
			c.put("a.ndjson", ndjson(20, 4))
			c.put("b.csv", "n,user\n3,x\n4,y\n5,z\n")
			rep := c.runs("append")
			if rep.Objects.Appended != 2 || rep.Objects.Replaced != 0 || rep.Rows.Written != 7 || rep.Progress.Objects != 3 {
				t.Fatalf("appended: %+v", rep)
			}
			c.want("appended", map[string]int{"a.ndjson": 3, "a.ndjson dead": 1, "a.ndjson#": 4, "b.csv": 2, "b.csv#": 3, "c.ndjson": 5})
			var proof audit.Report
			c.must(&proof, "verify", "--source", "--deep")
			if proof.Source.Verified != 4+3+5 || proof.Source.Unverifiable != 4+2 || proof.Lost+proof.Doubled+proof.Source.Mismatch != 0 {
				t.Errorf("verify of what was appended: %+v", proof)
			}

			c.put("a.ndjson", ndjson(30, 2)+"{broken\n{broken\n")
			rep = c.runs("replace")
			if rep.Objects.Replaced != 1 || rep.Rows.Replaced != 8 || rep.Rows.Written != 2 || rep.Rows.Dead != 2 {
				t.Fatalf("replaced: %+v", rep)
			}
			replaced := map[string]int{"a.ndjson": 2, "a.ndjson dead": 2, "b.csv": 2, "b.csv#": 3, "c.ndjson": 5}
			c.want("replaced", replaced)
			c.must(&proof, "verify", "--source", "--deep")
			if proof.Source.Verified != 4+3+5 || proof.Source.Unverifiable != 2 || proof.Lost+proof.Doubled+proof.Source.Mismatch != 0 {
				t.Errorf("verify of what was replaced: %+v", proof)
			}
			if rep = c.runs("replace"); rep.Outcome != outcomeEmpty {
				t.Errorf("again: %+v", rep)
			}

			c.put("a.ndjson", ndjson(30, 2)+"{broken\n{broken\n") // touched
			if rep = c.runs("replace"); rep.Rows.Read != 0 || rep.Objects.Changed != 0 {
				t.Errorf("touched: %+v", rep)
			}
			c.want("touched", replaced)
			c.rewound(replaced)
		})
	}
}

// rewound replaces two more objects and goes back to before that and forth again.
func (c *changing) rewound(before map[string]int) {
	c.t.Helper()
	c.put("b.csv", "n,user\n9,x\n")
	c.put("c.ndjson", "")
	rep := c.runs("replace")
	after := map[string]int{"a.ndjson": 2, "a.ndjson dead": 2, "b.csv": 1}
	c.want("replaced twice", after)
	if r := c.run("rewind", fmt.Sprint(*rep.Seq-1), "--confirm"); r.code != exitOK {
		c.t.Fatalf("rewind: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	c.want("rewound", before)
	if rep = c.runs("replace"); rep.Objects.Replaced != 2 || rep.Rows.Replaced != 10 {
		c.t.Errorf("replaced after the rewind: %+v", rep)
	}
	c.want("replaced after the rewind", after)
	var proof audit.Report
	c.must(&proof, "verify", "--source", "--deep")
}

// TestRacingRunsReplaceAnObjectOnce lets processes meet the same changes at once.
func TestRacingRunsReplaceAnObjectOnce(t *testing.T) {
	for name, c := range changingPlaces(t) {
		t.Run(name, func(t *testing.T) {
			c.t = t
			want := map[string]int{}
			for round := range 4 {
				for i := range 6 {
					key := fmt.Sprintf("o%d.ndjson", i)
					want[key] = 20 + (round+i)%3
					c.put(key, ndjson(1000*round+100*i, want[key]))
				}
				var wait sync.WaitGroup
				for range 4 {
					wait.Go(func() {
						r := c.run("run", "-q", "--set", "source.files.on_change=replace", "--set", "batch.max_objects=2")
						if r.code != exitOK && r.code != exitTemporary {
							t.Errorf("exit %d: %s", r.code, r.stderr)
						}
					})
				}
				wait.Wait()
				if rep := c.runs("replace"); rep.Outcome != outcomeEmpty && rep.Objects.Replaced == 0 {
					t.Errorf("a run after all: %+v", rep)
				}
				c.want(fmt.Sprint("round ", round), want)
			}
			var proof audit.Report
			c.must(&proof, "verify", "--source", "--deep")
			figure := fmt.Sprintf("4 rounds of 4 processes that replace 6 objects: %d batches, %d rows verified, %d lost, %d doubled", proof.Batches, proof.Source.Verified, proof.Lost, proof.Doubled)
			t.Log(figure)
			localdev.Figure("racing replacements, "+name, figure)
		})
	}
}

// TestATouchedFileIsNoChange gives a file another time alone.
func TestATouchedFileIsNoChange(t *testing.T) {
	c := changingPlaces(t)["directory"]
	c.put("a.ndjson", ndjson(0, 3))
	c.runs("replace")
	for i, policy := range []string{"append", "replace"} {
		at := time.Now().Add(time.Duration(-1-i) * time.Hour)
		if err := os.Chtimes(filepath.Join(c.dir, "in/a.ndjson"), at, at); err != nil {
			t.Fatal(err)
		}
		if rep := c.runs(policy); rep.Rows.Read != 0 || rep.Objects.Changed != 0 {
			t.Errorf("%s: %+v", policy, rep)
		}
		if rep := c.runs(policy); rep.Outcome != outcomeEmpty {
			t.Errorf("%s, again: %+v", policy, rep)
		}
	}
	c.want("touched", map[string]int{"a.ndjson": 3})
}
