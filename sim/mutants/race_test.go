//go:build race

package mutants_test

// underRace says that the race detector runs: the suites have no use for it.
const underRace = true
