package simengine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// Faults describes the ways a request can be made to fail, for tests: by
// Options.Fault, or by a model name that ends in "!" and the fault.
//
//	status:CODE   an error object with that HTTP status, 400 to 599
//	html          200 and a page
//	json          200 and an error object that is no stream
//	empty         200, an event stream, and nothing in it
//	garbage       an event that is not JSON after the third token
//	error         an error object inside the stream after the third token
//	cut           the stream ends cleanly after the third token, without a finish reason
//	reset         the connection closes after the third token
//	stall         nothing more comes after the third token
//	no_usage      no token counts
//	no_done       no [DONE] after the finish reason
//	wrong_canary  another request's marker in place of the own
//	short_words   the last word is missing
//
// A name that is not listed is refused with 400.
const Faults = "status:CODE html json empty garbage error cut reset stall no_usage no_done wrong_canary short_words"

// spoilAfter is how many tokens come before a fault inside the stream.
const spoilAfter = 3

// statusOf is the HTTP status of a status fault, else 0.
func statusOf(fault string) int {
	code, _ := strings.CutPrefix(fault, "status:")
	status, err := strconv.Atoi(code)
	if err != nil || code == fault || status < 400 || status > 599 {
		return 0
	}
	return status
}

// known reports whether a fault is one of Faults, or none.
func known(fault string) bool {
	listed := slices.Contains(strings.Fields(Faults), fault) && !strings.HasPrefix(fault, "status:")
	return fault == "" || listed || statusOf(fault) != 0
}

// answerWith answers at once where the fault is not in the stream.
func (e *Engine) answerWith(ctx *fasthttp.RequestCtx, fault string) bool {
	if status := statusOf(fault); status != 0 {
		refuse(ctx, status, "simulated", "a simulated failure")
		return true
	}
	switch fault {
	case "html":
		ctx.SetContentType("text/html")
		ctx.SetBodyString("<html>blocked</html>")
	case "json":
		refuse(ctx, fasthttp.StatusOK, "simulated", "overloaded")
	case "empty":
		ctx.SetContentType("text/event-stream")
	default:
		return false
	}
	return true
}

// bend changes what is generated.
func bend(g *generation, fault string) {
	switch fault {
	case "wrong_canary":
		if len(g.tokens) > 0 && strings.HasPrefix(g.tokens[0], "ANVIL_REQ_") {
			g.tokens[0] = "ANVIL_REQ_0_99999"
		}
	case "short_words":
		if len(g.tokens) > 1 {
			g.tokens = g.tokens[:len(g.tokens)-1]
		}
	}
}

// spoil breaks the stream after its third token.
func (s *stream) spoil() {
	if s.got != spoilAfter {
		return
	}
	switch s.fault {
	case "garbage":
		s.pending = append(s.pending, "data: {\"choices\": [oops\n\n"...)
	case "error":
		s.write(map[string]any{"error": map[string]any{"message": "the engine died", "code": 500}})
		s.over = true
	case "cut":
		s.over = true
	case "reset":
		s.over = true
		_ = s.conn.Close() // this is the fault
	case "stall":
		s.seq.gone.Store(true) // the engine has given the slot up
		s.stalled = true
	}
}
