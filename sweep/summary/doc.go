// Package summary puts measured cells side by side: a row a context and
// concurrency, a column a tier. It needs nothing but the artifacts' files, of
// any generation, and returns values; how they are shown is the caller's.
//
// Build groups documents by what must be equal for a row to be a comparison
// (model and workload), makes a column of each tier (falling back to gpu, then
// engine, and saying so), folds repeats into their median, marks the best and
// takes the difference to the first column. A figure that its artifact may not
// claim is withheld here too, with the reason.
//
// It may import sweep/artifact and sweep/metrics.
package summary
