// Package specs_test checks the specification of the commit protocol with the
// model checker spin.
//
// Duty: show that the protocol of commit.pml holds in every state within the
// bounds, and that each guard is needed: without it spin finds a violation.
//
// Invariants: a search that was cut short, by time, depth or memory, is a
// failure; spin is taken from the PATH or installed where that is allowed.
//
// It never looks at the Go code: README.md says which word is which function.
package specs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"batcher/localdev"
)

// searchTimeout bounds one search; the largest takes some seconds on one core.
const searchTimeout = 30 * time.Minute

// bounds are the searches that must find nothing. Each leaves out what another
// one has, since all of it together has too many states.
var bounds = []struct {
	name     string
	switches []string
}{
	{"writers-two-faults", []string{"FAULTS=2", "NO_GC", "NO_REWIND"}},
	{"writers-rewind", []string{"NO_GC"}},
	{"writers-gc", []string{"NO_REWIND", "NO_EXPIRE"}},
	{"writers-gc-expire", []string{"TRIES=1", "NO_REWIND"}},
	{"writers-gc-expire-rewind", []string{"TRIES=1", "FAULTS=0"}},
	{"merges", []string{"TRIES=1", "MERGES=2", "NO_GC", "NO_REWIND"}},
	{"merge-gc", []string{"TRIES=1", "MERGES=1", "NO_REWIND", "NO_EXPIRE"}},
	{"merges-gc-expire", []string{"TRIES=0", "MERGES=2", "FAULTS=0", "NO_REWIND"}},
}

// long is one more, with faults while gc and rewind meet; it runs where the
// variable BATCHER_SPEC is "long".
var long = []string{"TRIES=1", "NO_EXPIRE"}

// guards are what may not be taken away.
var guards = []struct {
	name     string
	switches []string // beside the one that takes the guard away
	violates string   // part of the assertion that must fail
}{
	{"NO_CONDITION", []string{"NO_GC", "NO_REWIND"}, "acked"},
	{"NO_COVERAGE", []string{"NO_GC", "NO_REWIND"}, "progress"},
	{"BLIND_RETRY", []string{"NO_GC", "NO_REWIND"}, "attempt!="},
	{"TRUST_404", []string{"NO_GC", "NO_REWIND"}, "files"},
	{"NO_GENERATION", []string{"TRIES=1", "NO_GC"}, "progress"},
	{"NO_FLOOR", []string{"TRIES=1", "NO_REWIND", "NO_EXPIRE"}, "files"},
	{"NO_STILL_LIVE", []string{"TRIES=1", "MERGES=2", "NO_GC", "NO_REWIND"}, "rows"},
	{"NO_FLOOR_FIRST", []string{"TRIES=1", "NO_REWIND", "NO_EXPIRE"}, "files"},
}

func TestTheProtocolHoldsInEveryState(t *testing.T) {
	localdev.Proof(t)
	needSpin(t)
	begun, sum := time.Now(), 0
	for _, c := range bounds {
		t.Run(c.name, func(t *testing.T) {
			out := search(t, c.switches...)
			if errors, states := found(t, out); errors != 0 {
				t.Errorf("spin found a violation:\n%s", out)
			} else {
				t.Logf("%d states", states)
				sum += states
			}
		})
	}
	if os.Getenv("BATCHER_SPEC") == "long" {
		if errors, states := found(t, search(t, long...)); errors != 0 {
			t.Error("spin found a violation in the long search")
		} else {
			t.Logf("%d states in the long search", states)
		}
	}
	localdev.Figure("states of the commit specification, each without a violation",
		fmt.Sprintf("%d in %d searches, %.0f s", sum, len(bounds), time.Since(begun).Seconds()))
}

func TestTheProtocolNeedsEachGuard(t *testing.T) {
	localdev.Proof(t)
	needSpin(t)
	for _, g := range guards {
		t.Run(g.name, func(t *testing.T) {
			out := search(t, append([]string{g.name}, g.switches...)...)
			errors, states := found(t, out)
			violation := regexp.MustCompile(`assertion violated .*`).FindString(out)
			if errors == 0 || !strings.Contains(violation, g.violates) {
				t.Errorf("want a violation of %q, got %q after %d states:\n%s", g.violates, violation, states, out)
			}
			t.Logf("%s, after %d states", violation, states)
		})
	}
	localdev.Figure("guards of the commit specification whose absence spin notices", len(guards))
}

// needSpin gets spin and a C compiler, which it needs.
func needSpin(t *testing.T) {
	t.Helper()
	_, spin := exec.LookPath("spin")
	_, gcc := exec.LookPath("gcc")
	if spin == nil && gcc == nil {
		return
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		localdev.Skip(t, "the specification is not checked: spin and gcc are not on the PATH and cannot be installed here")
	}
	for _, args := range [][]string{{"update", "-q"}, {"install", "-y", "-q", "--no-install-recommends", "spin", "gcc", "libc6-dev"}} {
		cmd := exec.CommandContext(t.Context(), "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("apt-get %s: %v\n%s", args[0], err, out)
		}
	}
}

// search runs spin on the specification with macros defined, and returns what
// the search printed.
func search(t *testing.T, macros ...string) string {
	t.Helper()
	spec, err := filepath.Abs("commit.pml")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), searchTimeout)
	defer cancel()
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	args := []string{"-a"}
	for _, m := range macros {
		args = append(args, "-D"+m)
	}
	run("spin", append(args, spec)...)
	run("gcc", "-w", "-O2", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=2048", "-o", "pan", "pan.c")
	return run(filepath.Join(dir, "pan"), "-m100000", "-n")
}

// found reads the number of errors and of states, and fails if the search was
// not complete.
func found(t *testing.T, out string) (errors, states int) {
	t.Helper()
	number := func(pattern string) int {
		m := regexp.MustCompile(pattern).FindStringSubmatch(out)
		if m == nil {
			t.Fatalf("spin printed no %q:\n%s", pattern, out)
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if strings.Contains(out, "Search not completed") && !strings.Contains(out, "assertion violated") ||
		strings.Contains(out, "max search depth too small") || strings.Contains(out, "out of memory") {
		t.Fatalf("the search was cut short:\n%s", out)
	}
	return number(`errors: (\d+)`), number(`(\d+) states, stored`)
}
