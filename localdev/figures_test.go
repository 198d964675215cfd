package localdev_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"batcher/localdev"
)

func TestFiguresAreAppended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures")
	t.Setenv("BATCHER_FIGURES", path)
	localdev.Figure("first", 1)
	localdev.Figure("second", "two\nlines")
	if text, err := os.ReadFile(path); err != nil || string(text) != "first: 1\nsecond: two lines\n" {
		t.Fatalf("got %q, %v", text, err)
	}
	var writers sync.WaitGroup
	for range 50 {
		writers.Go(func() { localdev.Figure("same", strings.Repeat("x", 1000)) })
	}
	writers.Wait()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(text), "\nsame: "+strings.Repeat("x", 1000)); got != 50 {
		t.Errorf("%d lines of 50 are whole", got)
	}
}

func TestFiguresAreOptional(t *testing.T) {
	t.Setenv("BATCHER_FIGURES", "")
	localdev.Figure("nobody", "asked")
}

func TestALostFigureIsLoud(t *testing.T) {
	t.Setenv("BATCHER_FIGURES", t.TempDir())
	defer func() {
		if recover() == nil {
			t.Error("a figure was lost in silence")
		}
	}()
	localdev.Figure("lost", 1)
}
