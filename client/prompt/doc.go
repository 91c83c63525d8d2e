// Package prompt makes the benchmark's prompts and holds responses against
// what they asked for.
//
// The prompts are those of the anvil-serving.benchmark/v1 format, character
// for character: a shared prefix or a unique header, filler that looks like
// code, and a tail that says what to answer. The same workload, index and
// context give the same prompt on every machine. The source of every constant
// and rule is the artifact contract, sections B and C.
//
// It imports nothing of ours.
package prompt
