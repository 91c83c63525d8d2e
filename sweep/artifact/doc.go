// Package artifact is the file formats: the anvil-serving.benchmark/v1
// artifact of one cell, and the anvilsweep.sweep/v1 manifest that links them.
//
// Build makes an artifact from what a cell's requests did, one way only;
// Encode writes it in the format's canonical bytes and WriteFile puts it on
// disk whole or not at all. Decode reads every generation of the format and
// withholds what an old file should not have claimed; Verify recomputes an
// artifact from its own rows.
//
// The format's contract is its law: key names, formulas, sentences. What the
// format has no key for stands in one object, sweep; docs/artifact.md has all
// of it. It may import sweep/metrics, and client for its types.
package artifact
