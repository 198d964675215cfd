package main

import (
	"strings"
	"testing"
)

// TestYoungObjectsAreSaidToWait holds what a first try in a directory prints: files
// that were made a moment ago are not "all consumed".
func TestYoungObjectsAreSaidToWait(t *testing.T) {
	w := newWorld(t, nil, "pipeline: events\nstore: ./lake\nsource: {files: {path: ./in, settle: 1h}}\n")
	if r := w.run("run", "-q", "--set", "source.files.path=./empty"); r.code != exitUnavailable {
		t.Errorf("no directory: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	w.seedLocal("", 2, 5)
	for verb, want := range map[string]string{
		"plan":   "2 more are too young to be read yet",
		"run":    "nothing to do yet\n  2 objects too young to be read yet",
		"status": "2 objects too young",
	} {
		if verb == "status" {
			w.run("run", "-q")
		}
		if r := w.run(verb); r.code != exitOK || !strings.Contains(r.stdout, want) || strings.Contains(r.stdout, "0001-01-01") {
			t.Errorf("%s: exit %d: %q%s, want %q", verb, r.code, r.stdout, r.stderr, want)
		}
	}
}
