package simengine

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// Fault is one way in which a request can be made to go wrong, or merely be
// answered in a way that has misled a client before.
type Fault struct {
	Name string
	Does string

	answer func(*fasthttp.RequestCtx)           // in place of any stream
	bend   func(*generation)                    // changes what is generated
	chunk  func(s *stream, c map[string]any)    // changes each chunk before it is written
	spoil  func(*stream)                        // after the third token
	finish func(*stream)                        // in place of finish reason, usage and [DONE]
	wire   func(event string) string            // changes each event's bytes
	each   int                                  // tokens a chunk, where more than one
	frame  func(c net.Conn, body *stream) error // writes the whole response, its header included
}

// faults has a file for each place a fault is in.
var faults = slices.Concat(answerFaults, generationFaults, chunkFaults, streamFaults, wireFaults, frameFaults)

// Faults lists what a request can be made to meet, by Options.Fault or by a
// model name that ends in "!" and the fault's name. A name that is not listed is
// refused with 400.
func Faults() []Fault { return slices.Clone(faults) }

// spoilAfter is how many tokens come before a fault inside the stream.
const spoilAfter = 3

// findFault is the fault of that name; nil for none.
func findFault(name string) (*Fault, error) {
	if name == "" {
		return nil, nil
	}
	if status := statusOf(name); status != 0 {
		return &Fault{Name: name, answer: func(ctx *fasthttp.RequestCtx) { refuse(ctx, status, "simulated", "a simulated failure") }}, nil
	}
	names := make([]string, len(faults))
	for i := range faults {
		if names[i] = faults[i].Name; names[i] == name && name != statusFault {
			return &faults[i], nil
		}
	}
	return nil, fmt.Errorf("There is no fault %q; there are %s.", name, strings.Join(names, " "))
}

// statusFault stands for status:400 to status:599.
const statusFault = "status:CODE"

// statusOf is the HTTP status of a status fault, else 0.
func statusOf(name string) int {
	code, found := strings.CutPrefix(name, "status:")
	status, err := strconv.Atoi(code)
	if !found || err != nil || status < 400 || status > 599 {
		return 0
	}
	return status
}

// crashFault ends the whole engine.
const crashFault = "crash"

var answerFaults = []Fault{
	{Name: crashFault, Does: "the engine ends at once, every request with it"},
	{Name: statusFault, Does: "an error object with that HTTP status, 400 to 599"},
	{Name: "retry_after", Does: "503 with Retry-After: 7", answer: func(ctx *fasthttp.RequestCtx) {
		refuse(ctx, fasthttp.StatusServiceUnavailable, "overloaded", "try again later")
		ctx.Response.Header.Set("Retry-After", "7")
	}},
	{Name: "huge_error", Does: "500 with a body of 50 MB", answer: func(ctx *fasthttp.RequestCtx) {
		ctx.SetStatusCode(fasthttp.StatusInternalServerError)
		ctx.SetBody(make([]byte, 50<<20))
	}},
	{Name: "redirect", Does: "307 to another address", answer: func(ctx *fasthttp.RequestCtx) {
		ctx.SetStatusCode(fasthttp.StatusTemporaryRedirect)
		ctx.Response.Header.Set("Location", "http://127.0.0.1:9/v1/chat/completions")
	}},
	{Name: "html", Does: "200 and a page", answer: func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("text/html")
		ctx.SetBodyString("<html>blocked</html>")
	}},
	{Name: "json", Does: "200 and an error object that is no stream", answer: func(ctx *fasthttp.RequestCtx) {
		refuse(ctx, fasthttp.StatusOK, "simulated", "overloaded")
	}},
	{Name: "completion", Does: "200 and one JSON completion to a request for a stream", answer: func(ctx *fasthttp.RequestCtx) {
		reply(ctx, map[string]any{"object": "chat.completion", "choices": []any{map[string]any{"message": map[string]any{"content": "hello"}, "finish_reason": "stop"}}})
	}},
	{Name: "empty", Does: "200, an event stream, and nothing in it", answer: func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("text/event-stream")
	}},
}

var generationFaults = []Fault{
	{Name: "wrong_canary", Does: "another request's marker in place of the own", bend: func(g *generation) {
		if len(g.tokens) > 0 && strings.HasPrefix(g.tokens[0], "ANVIL_REQ_") {
			g.tokens[0] = "ANVIL_REQ_0_99999"
		}
	}},
	{Name: "short_words", Does: "the last word is missing", bend: func(g *generation) {
		if len(g.tokens) > 1 {
			g.tokens = g.tokens[:len(g.tokens)-1]
		}
	}},
	{Name: "wide_text", Does: "an emoji and a CJK character in every token", bend: func(g *generation) {
		for i := range g.tokens {
			g.tokens[i] += "🙂漢"
		}
	}},
	{Name: "big_event", Does: "a token of 200 KB", bend: func(g *generation) {
		g.tokens[len(g.tokens)-1] = strings.Repeat("x", 200<<10)
	}},
	{Name: "huge_event", Does: "a token of 20 MB", bend: func(g *generation) {
		g.tokens[len(g.tokens)-1] = strings.Repeat("x", 20<<20)
	}},
	{Name: "reasoning_only", Does: "reasoning until max_tokens, and no content", bend: func(g *generation) {
		g.reasoning, g.tokens, g.finish = g.reasoning+len(g.tokens), nil, "length"
	}},
}
