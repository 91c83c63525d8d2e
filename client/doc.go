// Package client measures one OpenAI-compatible endpoint.
//
// A Client knows the endpoint; a Lane is one worker's connection to it, with
// at most one request at a time. Lane.Do sends a chat completion, reads its
// stream and returns an Observation: plain values, failures included.
//
// An event is dated by the bytes that completed it: on Linux by the moment at
// which the kernel took them in, elsewhere by the monotonic clock right after
// the read returned. Parsing and scheduling come after it and are not measured;
// how late they were is in the lane's Watch. An HTTP chunk counts when the whole
// of it, its line end included, has come.
//
// fasthttp writes the request and reads the response on a connection that the
// lane opens, watches and closes itself. So nothing is pooled behind our back,
// nothing is sent twice, a limit belongs to a phase, and cancelling is closing.
//
// It imports nothing of ours.
package client
