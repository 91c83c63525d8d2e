// Package summary puts measured cells side by side: a row a context and
// concurrency and a column a tier, unless other axes are asked for. It needs
// nothing but the artifacts' files, of any generation, and returns values; how
// they are shown is the caller's.
//
// Build groups documents by what must be equal for a row to be a comparison
// (model and workload), gives each its place on the axes (a run without a tier
// takes its gpu for one, then its engine, and that is said), folds repeats into
// their median and range, marks the best of a row and the Pareto frontier of a
// context, and takes the difference to the first column. A figure that its artifact may not
// claim is withheld here too, with the reason.
//
// It may import sweep/artifact and sweep/metrics.
package summary
