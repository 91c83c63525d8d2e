// Package simengine is the embedded engine: an OpenAI-compatible server with a
// plain model of an LLM engine, so that demos and tests need no GPU. It is a
// simulation and says so: its models are owned by "anvilsweep-sim".
//
// # The model
//
// One scheduler does continuous batching in discrete steps on an absolute
// schedule, so that a late timer does not add up:
//
//   - A request waits, first come first served, until fewer than MaxSeqs run.
//
//   - A prompt has ceil(bytes / 4) tokens. Its leading blocks of
//     PrefixBlock tokens that the prefix cache holds are skipped; the cache keeps
//     the CacheTokens most recently used.
//
//   - In each step the prompts still to be read share a budget of PrefillChunk
//     tokens, oldest first; every running sequence whose prompt is read gets one
//     token. The step lasts, in seconds,
//
//     DecodeStep + DecodePerSeq × decoding + prefilled / PrefillTokS
//
//     where decoding counts the sequences that get a token.
//
//   - One token is one chunk of the stream. A request that asks for reasoning
//     gets reasoning deltas first.
//
//   - A client that goes away is noticed when the next chunk cannot be written;
//     its slot is free from the next step on. A request that is not streamed
//     runs to its end.
//
//   - Where Memory is set, a sequence waits until the KV cache has room for it, and
//     the youngest goes back to the queue where those that run outgrow it.
//
// Texts obey the benchmark's instructions (canary marker, words) and depend on
// the seed and the prompt only; times are real.
//
// A request can be made to go wrong in a named way: see Faults. At /tokenize it
// counts as vLLM does, at /metrics it tells under vLLM's names what it does.
//
// It may import client/prompt, and owns fasthttp's server. Responses that break
// HTTP itself are written by hand.
package simengine
