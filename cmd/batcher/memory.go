package main

import (
	"io/fs"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// The share of what the process may have at most that its heap is asked to stay
// below: the rest is for stacks, buffers of the system and a late collection.
const memoryShare = 0.8

// garbagePercent is how much garbage may wait, measured by what is live. What is
// live here are few large buffers without pointers, so that to collect twice as
// often as by default costs nothing that can be measured, and saves a quarter of
// the memory.
const garbagePercent = 50

// collectEarly sets garbagePercent, unless GOGC says something else.
func collectEarly(environ []string) {
	if !names(environ, "GOGC") {
		debug.SetGCPercent(garbagePercent)
	}
}

// names says whether a variable is set.
func names(environ []string, variable string) bool {
	return slices.ContainsFunc(environ, func(e string) bool { return strings.HasPrefix(e, variable+"=") })
}

// orDefault sets the limit on memory that nobody set: by --memory, or by
// GOMEMLIMIT, which the runtime reads itself. It follows what AWS Lambda or the
// control group of a container, a service or a job allows. root is the root of
// the file system, environ as in os.Environ.
func (l limits) orDefault(root fs.FS, environ []string) limits {
	if l.memory > 0 || names(environ, "GOMEMLIMIT") {
		return l
	}
	l.memory = int64(memoryShare * float64(allowed(root, environ)))
	return l
}

// allowed is how many bytes the process may have; 0 if nobody says.
func allowed(root fs.FS, environ []string) int64 {
	for _, e := range environ {
		if size, ok := strings.CutPrefix(e, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE="); ok {
			if n, err := strconv.ParseInt(size, 10, 32); err == nil && n > 0 {
				return n << 20
			}
		}
	}
	return groupLimit(root)
}

// groupLimit is the least limit of the process's control group, of version 2, and
// of the groups around it; 0 if there is none.
func groupLimit(root fs.FS) int64 {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := int64(0)
	for line := range strings.Lines(string(text)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		for at := path.Join("sys/fs/cgroup", path.Clean("/"+group)); at != "sys/fs"; at = path.Dir(at) {
			text, err := fs.ReadFile(root, path.Join(at, "memory.max"))
			if err != nil {
				continue
			}
			n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // or "max"
			if err == nil && n > 0 && (least == 0 || n < least) {
				least = n
			}
		}
	}
	return least
}
