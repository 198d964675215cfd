//go:build race

package sim_test

// underRace says that the race detector runs. There is one goroutine at a time
// here, so that it has nothing to find and only costs time.
const underRace = true
