//go:build !race

package sim_test

// underRace says that the race detector runs.
const underRace = false
