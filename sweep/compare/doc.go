// Package compare says of two sets of artifacts what may be compared, what
// differs beyond noise, and by how much.
//
// Flow: documents → sides → cells matched by their position → what keeps a pair
// from being comparable, or for each metric the difference, its interval, a
// test, and a verdict. It computes no statistic of its own but the shift: tests
// are golang.org/x/perf/benchmath's.
//
// It may import artifact and metrics.
package compare
