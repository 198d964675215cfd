//go:build !race

package mutants_test

// underRace says that the race detector runs.
const underRace = false
