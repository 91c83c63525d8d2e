package client_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"anvilsweep/client"
	"anvilsweep/client/prompt"
	"anvilsweep/client/simengine"
)

// TestEveryFaultHasAName sends a request into each way in which the embedded
// engine can misbehave, over a real socket, and then one that is answered well
// over the same lane.
func TestEveryFaultHasAName(t *testing.T) {
	const limit = 150 * time.Millisecond
	profile, err := simengine.ProfileByName("instant")
	if err != nil {
		t.Fatal(err)
	}
	engine := simengine.New(simengine.Options{Profile: profile})
	if err := engine.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	w := prompt.Workload{Seed: 3, Canaries: true, Words: 8, Unique: true}
	text, err := w.Build(7, 400, 0)
	if err != nil {
		t.Fatal(err)
	}
	const answer = "ANVIL_REQ_3_00007 code code code code code code code code"
	wide := strings.ReplaceAll(answer, " code", " code🙂漢")
	for _, c := range []struct {
		fault     string
		kind      client.Kind // "": a success
		says      string      // in the failure's message
		text      string      // of a success
		content   int
		reasoning int
		tokens    int64  // completion tokens; 0: unknown
		warns     string // in the warnings; "": none
	}{
		{"status:429", client.KindHTTPStatus, "HTTP 429", "", 0, 0, 0, ""},
		{"retry_after", client.KindHTTPStatus, "try again later", "", 0, 0, 0, ""},
		{"huge_error", client.KindHTTPStatus, "HTTP 500", "", 0, 0, 0, ""},
		{"redirect", client.KindHTTPStatus, "redirects are not followed", "", 0, 0, 0, ""},
		{"html", client.KindNotEventStream, "<html>blocked", "", 0, 0, 0, ""},
		{"json", client.KindServerError, "overloaded", "", 0, 0, 0, ""},
		{"completion", client.KindNotStreaming, "one JSON completion", "", 0, 0, 0, ""},
		{"empty", client.KindEmptyStream, "not one byte", "", 0, 0, 0, ""},

		{"wrong_canary", "", "", "ANVIL_REQ_0_99999 code code code code code code code code", 9, 0, 9, ""},
		{"short_words", "", "", strings.TrimSuffix(answer, " code"), 8, 0, 8, ""},
		{"wide_text", "", "", "ANVIL_REQ_3_00007🙂漢" + strings.TrimPrefix(wide, "ANVIL_REQ_3_00007"), 9, 0, 9, ""},
		{"big_event", "", "", "", 9, 0, 9, ""},
		{"huge_event", client.KindEventTooLarge, "more than 16777216 bytes", "", 8, 0, 0, ""},
		{"reasoning_only", client.KindNoOutput, "9 reasoning chunks; finish reason length", "", 0, 9, 9, ""},

		{"role_null", "", "", answer, 9, 0, 9, ""},
		{"content_parts", client.KindNoOutput, "no visible content", "", 0, 0, 9, "10 events have fields of an unexpected type"},
		{"reasoning", "", "", answer, 9, 5, 14, ""},
		{"reasoning_content", "", "", answer, 9, 5, 14, ""},
		{"reasoning_both", "", "", answer, 9, 5, 14, ""},
		{"tool_calls", client.KindNoOutput, "9 tool-call chunks", "", 0, 0, 9, ""},
		{"two_choices", "", "", "", 18, 0, 9, ""},
		{"finish_empty", "", "", answer, 9, 0, 9, ""},
		{"finish_abort", client.KindAborted, "abort", "", 9, 0, 9, ""},
		{"no_finish", "", "", answer, 9, 0, 9, "no finish reason"},
		{"usage_each", "", "", answer, 9, 0, 9, ""},
		{"usage_null", "", "", answer, 9, 0, 9, ""},
		{"usage_text", "", "", answer, 9, 0, 0, "not a whole number"},
		{"prompt_filter", "", "", answer, 9, 0, 9, ""},
		{"four_a_chunk", "", "", answer, 3, 0, 9, ""},

		{"garbage", "", "", answer, 9, 0, 9, "1 events are not JSON"},
		{"error", client.KindServerError, "the engine died", "", 3, 0, 0, ""},
		{"error_first", client.KindServerError, "out of memory", "", 0, 0, 0, ""},
		{"cut", client.KindTruncated, "after 3 content chunks", "", 3, 0, 0, ""},
		{"reset", client.KindTruncated, "closed the connection", "", 2, 0, 0, ""},
		{"stall", client.KindTimeoutIdle, "nothing moved for 150ms", "", 3, 0, 0, ""},
		{"keepalive_only", client.KindTimeoutOutput, "no output came within", "", 0, 0, 0, ""},
		{"pause", client.KindTimeoutIdle, "nothing moved for 150ms", "", 2, 0, 0, ""},
		{"no_usage", "", "", answer, 9, 0, 0, ""},
		{"no_done", "", "", answer, 9, 0, 9, ""},
		{"no_blank_line", "", "", answer, 9, 0, 9, "no blank line"},
		{"done_alone", client.KindNoOutput, "no visible content", "", 0, 0, 0, ""},
		{"more_after_done", "", "", answer, 9, 0, 9, ""},

		{"no_space", "", "", answer, 9, 0, 9, ""},
		{"crlf", "", "", answer, 9, 0, 9, ""},
		{"cr", "", "", answer, 9, 0, 9, ""},
		{"comments", "", "", answer, 9, 0, 9, ""},
		{"heartbeat", "", "", answer, 9, 0, 9, ""},
		{"fields", "", "", answer, 9, 0, 9, ""},
		{"multiline", "", "", answer, 9, 0, 9, ""},

		{"slow_header", client.KindTimeoutIdle, "nothing moved", "", 0, 0, 0, ""},
		{"silence", client.KindTimeoutFirstByte, "no byte of a response within", "", 0, 0, 0, ""},
		{"no_http", client.KindProtocol, "SSH-2.0", "", 0, 0, 0, ""},
		{"hang_up", client.KindProtocol, "the server closed the connection", "", 0, 0, 0, ""},
		{"interim", "", "", answer, 9, 0, 9, ""},
		{"trailer", "", "", answer, 9, 0, 9, ""},
		{"extensions", "", "", answer, 9, 0, 9, ""},
		{"byte_by_byte", "", "", answer, 9, 0, 9, ""},
		{"until_close", "", "", answer, 9, 0, 9, ""},
		{"counted", "", "", answer, 9, 0, 9, ""},
		{"bad_length", "", "", answer, 9, 0, 9, ""}, // [DONE] came; what is missing is behind it
		{"bad_chunk", client.KindProtocol, "its body is broken", "", 0, 0, 0, ""},
		{"no_last_chunk", "", "", answer, 9, 0, 9, ""},
		{"unasked", "", "", answer, 9, 0, 9, ""},
		{"idle_close", "", "", answer, 9, 0, 9, ""},
		{"gzip", "", "", answer, 9, 0, 9, "compressed (gzip)"},
		{"deflate", "", "", answer, 9, 0, 9, "compressed (deflate)"},
		{"br", "", "", answer, 9, 0, 9, "compressed (br)"},
		{"zstd", "", "", answer, 9, 0, 9, "compressed (zstd)"},
		{"bad_gzip", client.KindProtocol, "decompressing gzip", "", 0, 0, 0, "compressed"},
		{"odd_encoding", client.KindProtocol, "rot13", "", 0, 0, 0, ""},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			// Only the limit that a fault is about is short: machines are slow.
			limits := client.Timeout{Connect: time.Minute, FirstByte: time.Minute, FirstOutput: time.Minute, Idle: time.Minute}
			switch c.kind {
			case client.KindTimeoutIdle:
				limits.Idle = limit
			case client.KindTimeoutOutput:
				limits.FirstOutput = limit
			case client.KindTimeoutFirstByte:
				limits.FirstByte = limit
			}
			cl, err := client.New(client.Config{BaseURL: engine.BaseURL(), Timeout: limits})
			if err != nil {
				t.Fatal(err)
			}
			lane := cl.Lane()
			defer lane.Close()
			o := lane.Do(context.Background(), &client.Request{Model: "m!" + c.fault, Prompt: text, MaxTokens: 64})
			kind := client.Kind("")
			if o.Failure != nil {
				kind = o.Failure.Kind
				if !strings.Contains(o.Failure.Message, c.says) || o.Failure.Message == "" || len(o.Failure.Message) > 2048 {
					t.Errorf("message %q lacks %q", o.Failure.Message, c.says)
				}
			}
			if kind != c.kind {
				t.Fatalf("kind %q, want %q: %+v", kind, c.kind, o.Failure)
			}
			if c.text != "" && o.Text != c.text {
				t.Errorf("text %q", o.Text)
			}
			if o.ContentChunks != c.content || o.ReasoningChunks != c.reasoning || o.Arrivals.Len() > o.ContentChunks+o.ReasoningChunks+o.ToolChunks {
				t.Errorf("%d content and %d reasoning chunks, %d arrivals", o.ContentChunks, o.ReasoningChunks, o.Arrivals.Len())
			}
			if got := o.Usage; (got != nil && got.CompletionTokens != nil) != (c.tokens > 0) || c.tokens > 0 && *got.CompletionTokens != c.tokens {
				t.Errorf("usage %+v, want %d", got, c.tokens)
			}
			if warned := strings.Join(o.Warnings, "; "); !strings.Contains(warned, c.warns) || c.warns == "" && warned != "" {
				t.Errorf("warnings %q, want %q", warned, c.warns)
			}
			if c.fault == "retry_after" && (o.Failure.RetryAfter != "7" || o.Failure.Status != 503) {
				t.Errorf("%+v", o.Failure)
			}
			if c.fault == "idle_close" {
				time.Sleep(60 * time.Millisecond)
			}
			if c.kind == client.KindTimeoutIdle || c.kind == client.KindTimeoutFirstByte {
				return // the short limit is no limit for a slow machine
			}
			next := lane.Do(context.Background(), &client.Request{Model: "m", Prompt: text, MaxTokens: 64})
			if next.Failure != nil || next.Text != answer || next.ContentChunks != 9 {
				t.Errorf("the next request: %+v %q", next.Failure, next.Text)
			}
		})
		delete(untested, c.fault)
	}
	delete(untested, "status:CODE")
	delete(untested, "crash") // ends the engine: TestAnEngineThatCrashes
	for name := range untested {
		t.Errorf("%s is listed and not tested", name)
	}
}

// A crash ends every request in flight, and nothing is there for the next.
func TestAnEngineThatCrashes(t *testing.T) {
	profile, err := simengine.ProfileByName("small")
	if err != nil {
		t.Fatal(err)
	}
	e := simengine.New(simengine.Options{Profile: profile})
	if err := e.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{BaseURL: e.BaseURL()})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(model string) *client.Failure {
		lane := c.Lane()
		defer lane.Close()
		return lane.Do(context.Background(), &client.Request{Model: model, Prompt: "count to many", MaxTokens: 2000, MinTokens: ptr(2000)}).Failure
	}
	other := make(chan *client.Failure)
	go func() { other <- ask("m") }()
	time.Sleep(100 * time.Millisecond)
	if f := ask("m!crash"); f == nil || f.Kind != client.KindProtocol {
		t.Errorf("%v", f)
	}
	if f := <-other; f == nil || f.Kind != client.KindTruncated && f.Kind != client.KindProtocol {
		t.Errorf("%v", f)
	}
	if f := ask("m"); f == nil || f.Kind != client.KindDial {
		t.Errorf("%v", f)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func ptr(n int) *int { return &n }

var untested = func() map[string]bool {
	names := map[string]bool{}
	for _, f := range simengine.Faults() {
		names[f.Name] = true
	}
	return names
}()

// Many streams at once, each with the answer to its own prompt.
func TestFiveHundredStreams(t *testing.T) {
	profile, err := simengine.ProfileByName("instant")
	if err != nil {
		t.Fatal(err)
	}
	engine := simengine.New(simengine.Options{Profile: profile})
	if err := engine.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	cl, err := client.New(client.Config{BaseURL: engine.BaseURL()})
	if err != nil {
		t.Fatal(err)
	}
	w := prompt.Workload{Seed: 1, Canaries: true, Words: 20, Unique: true}
	var wg sync.WaitGroup
	for stream := range 500 {
		wg.Go(func() {
			lane := cl.Lane()
			defer lane.Close()
			for again := range 2 {
				index := 2*stream + again
				text, err := w.Build(index, 300, 0)
				if err != nil {
					t.Error(err)
					return
				}
				o := lane.Do(context.Background(), &client.Request{Model: "m", Prompt: text, MaxTokens: 64})
				if o.Failure != nil || o.Arrivals.Len() != 21 || !prompt.CheckCanary(o.Text, o.Truncated, prompt.Marker(1, index)).Passed {
					t.Errorf("stream %d: %+v %q", stream, o.Failure, o.Text)
				}
			}
		})
	}
	wg.Wait()
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
}
