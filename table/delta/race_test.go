//go:build race

package delta_test

// everyCall says that every so many calls of an invocation are broken. The race detector
// has nothing to find in processes that go one after the other, and only costs time.
const everyCall = 7
