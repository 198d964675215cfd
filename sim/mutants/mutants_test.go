// Package mutants_test shows that the tests notice when a guard is missing.
//
// Duty: plant one fault at a time into a copy of a source file, run the tests
// that must notice it, and demand that they fail.
//
// Invariants: a fault whose place is gone, one that does not compile and one that
// no test notices are all failures here.
//
// It never changes a file of the tree: the compiler is shown the copy in its place.
package mutants_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"batcher/localdev"
)

// root is the module as seen from this package.
const root = "../.."

// atOnce is how many mutants are tried side by side.
const atOnce = 2

// patience is how long a suite may take with a fault in it.
const patience = 30 * time.Minute

// apply returns the files that a mutant changes, by name.
func (m mutant) apply() (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range m.edits {
		text, ok := texts[e.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, err
			}
			text = string(b)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return nil, fmt.Errorf("guard moved: update the mutant: %s has %d times %q", e.file, n, e.old)
		}
		texts[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	return texts, nil
}

// overlay writes the changed files to a folder and says which they stand for, in
// the form of go's -overlay.
func overlay(dir string, texts map[string]string) (string, error) {
	replace := map[string]string{}
	for file, text := range texts {
		stands, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			return "", err
		}
		mutated := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(mutated, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[stands] = mutated
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o600)
}

// test runs the suite with these flags of go test, and returns what it printed.
func (s suite) test(ctx context.Context, flags ...string) (string, error) {
	args := append([]string{"test", "-vet=off", "-timeout", patience.String(), "-run", s.run}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, s.where)...)
	cmd.Dir = root
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "BATCHER_FIGURES=") || strings.HasPrefix(v, "BATCHER_NIGHTLY=")
	}), "BATCHER_PROVE=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// try runs the suite of a mutant and returns what the test said that noticed.
func (m mutant) try(ctx context.Context, dir string) (string, error) {
	texts, err := m.apply()
	if err != nil {
		return "", err
	}
	name, err := overlay(dir, texts)
	if err != nil {
		return "", err
	}
	text, err := m.suite.test(ctx, "-overlay", name, "-count=1", "-failfast")
	switch {
	case err == nil:
		return "", fmt.Errorf("survived %s of %s\n%s", m.suite.run, m.suite.where, text)
	case !strings.Contains(text, "--- FAIL: "):
		return "", fmt.Errorf("no test failed, but go did: %w\n%s", err, text)
	case strings.Contains(text, "does not repeat itself"):
		return "", fmt.Errorf("the mutant is not a function of its answers, which shows nothing\n%s", text)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "_test.go:") {
			return strings.TrimSpace(line), nil
		}
	}
	return "", nil
}

// sound proves that a suite passes where there is no mutant: only then does its
// failure tell anything.
func (s suite) sound(ctx context.Context) error {
	text, err := s.test(ctx)
	if err != nil {
		return fmt.Errorf("fails without a mutant: %w\n%s", err, text)
	}
	if strings.Contains(text, "no tests to run") {
		return fmt.Errorf("has no tests\n%s", text)
	}
	return nil
}

// TestEveryMutantIsCaught plants them all.
func TestEveryMutantIsCaught(t *testing.T) {
	localdev.Proof(t)
	if underRace {
		localdev.Skip(t, "each mutant is a build of its own; run make prove for them")
	}
	var caught atomic.Int64
	slots := make(chan struct{}, atOnce)
	begun := time.Now()
	t.Run("mutants", func(t *testing.T) {
		checked := map[suite]bool{}
		for _, m := range mutants {
			if checked[m.suite] {
				continue
			}
			checked[m.suite] = true
			t.Run(fmt.Sprintf("suite_%d_of_%s", len(checked), strings.TrimPrefix(m.suite.where, "./")), func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				if err := m.suite.sound(t.Context()); err != nil {
					t.Errorf("%s of %s %v", m.suite.run, m.suite.where, err)
				}
			})
		}
		for _, m := range mutants {
			t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				said, err := m.try(t.Context(), t.TempDir())
				if err != nil {
					t.Errorf("%s\nguard: %s\n%v", m.name, m.guard, err)
					return
				}
				t.Logf("%s: %s", m.guard, said)
				caught.Add(1)
			})
		}
	})
	t.Logf("mutants caught: %d of %d, %.0f s", caught.Load(), len(mutants), time.Since(begun).Seconds())
	localdev.Figure("mutants caught", fmt.Sprintf("%d of %d", caught.Load(), len(mutants)))
}

// TestEveryMutantHasItsPlace is quick, and runs with -short too: guards that
// moved are found without a build.
func TestEveryMutantHasItsPlace(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutants {
		if names[m.name] || m.guard == "" || len(m.edits) == 0 {
			t.Errorf("%q: doubled or empty", m.name)
		}
		names[m.name] = true
		if _, err := m.apply(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}
