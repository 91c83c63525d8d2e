// Package metrics computes every statistic of the project; nothing else does.
//
// The formulas are those of the anvil-serving.benchmark/v1 format and are
// exact: sums are correctly rounded, the deviation is taken over exact
// rationals, percentiles are nearest-rank. Two programs that follow them agree
// to the last bit, which is what lets an artifact be verified.
//
// It imports nothing of ours.
package metrics
