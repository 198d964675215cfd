package main

import (
	"runtime/debug"
	"testing"
	"testing/fstest"
)

// TestMemoryFollowsWhatTheProcessMayHave reads limits where container runtimes,
// systemd and Lambda leave them.
func TestMemoryFollowsWhatTheProcessMayHave(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	container := fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("268435456\n")}
	for name, c := range map[string]struct {
		flag    int64
		root    fstest.MapFS
		environ []string
		want    int64
	}{
		"nothing is said":   {root: fstest.MapFS{}, want: 0},
		"no limit":          {root: fstest.MapFS{"proc/self/cgroup": file("0::/a\n"), "sys/fs/cgroup/a/memory.max": file("max\n")}, want: 0},
		"container":         {root: container, want: 268435456 * 8 / 10},
		"version 1 as well": {root: fstest.MapFS{"proc/self/cgroup": file("4:memory:/x\n0::/a\n"), "sys/fs/cgroup/a/memory.max": file("100000000\n")}, want: 80_000_000},
		"the least of all around": {root: fstest.MapFS{
			"proc/self/cgroup":               file("0::/a/b/c\n"),
			"sys/fs/cgroup/a/b/c/memory.max": file("max\n"),
			"sys/fs/cgroup/a/b/memory.max":   file("200000000\n"),
			"sys/fs/cgroup/a/memory.max":     file("300000000\n"),
		}, want: 160_000_000},
		"a group above the root": {root: fstest.MapFS{"proc/self/cgroup": file("0::/../../x\n"), "sys/fs/cgroup/memory.max": file("100000000\n")}, want: 80_000_000},
		"garbage":                {root: fstest.MapFS{"proc/self/cgroup": file("0::\x00/../..\n"), "sys/fs/cgroup/memory.max": file("-1\n")}, want: 0},
		"Lambda":                 {root: container, environ: []string{"A=B", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=128"}, want: 128 << 20 * 8 / 10},
		"--memory":               {flag: 64 << 20, root: container, want: 64 << 20},
		"GOMEMLIMIT":             {root: container, environ: []string{"GOMEMLIMIT=1GiB"}, want: 0},
	} {
		if got := (limits{memory: c.flag}).orDefault(c.root, c.environ).memory; got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestGarbageIsCollectedEarlyUnlessToldOtherwise(t *testing.T) {
	before := debug.SetGCPercent(123)
	defer debug.SetGCPercent(before)
	collectEarly([]string{"GOGC=200"})
	if got := debug.SetGCPercent(123); got != 123 {
		t.Errorf("GOGC is set and became %d", got)
	}
	collectEarly([]string{"NOGOGC=1"})
	if got := debug.SetGCPercent(123); got != garbagePercent {
		t.Errorf("garbage up to %d %% waits", got)
	}
}
