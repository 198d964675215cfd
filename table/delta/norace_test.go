//go:build !race

package delta_test

// everyCall says that every so many calls of an invocation are broken.
const everyCall = 1
