package simengine

import (
	"encoding/json"
	"io"
	"net"
	"strings"

	"github.com/valyala/fasthttp"
)

// stream is a response's body: each Read waits for the next token, and the
// server writes it out at once. Close comes when the body is done or the
// client has gone.
type stream struct {
	id, model string
	seq       *sequence
	g         generation
	usage     bool
	fault     string
	ended     <-chan struct{} // the engine stops
	conn      net.Conn

	pending []byte
	cached  int
	got     int // tokens sent
	opened  bool
	over    bool
	stalled bool
}

// Read is part of io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.pending) == 0 {
		if s.stalled {
			<-s.ended
			s.over = true
		}
		if s.over {
			return 0, io.EOF
		}
		s.next()
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

// Close is part of io.Closer.
func (s *stream) Close() error {
	s.seq.gone.Store(true)
	return nil
}

// next puts the next event, or the ones that end the stream, into pending.
func (s *stream) next() {
	if !s.opened {
		s.opened = true
		s.cached = <-s.seq.tokens
		s.event(map[string]any{"role": "assistant", "content": ""}, "")
		return
	}
	token, ok := <-s.seq.tokens
	if !ok {
		s.finish()
		return
	}
	s.got = token
	if s.got <= s.g.reasoning {
		s.event(map[string]any{"reasoning_content": "hmm "}, "")
	} else {
		s.event(map[string]any{"content": s.g.tokens[s.got-s.g.reasoning-1]}, "")
	}
	s.spoil()
}

// finish ends the stream as OpenAI's API does: a finish reason, the usage, and
// [DONE]. A sequence that was cut short by the engine's end just stops.
func (s *stream) finish() {
	s.over = true
	if s.got < s.seq.total {
		return
	}
	s.event(map[string]any{}, s.g.finish)
	if s.usage && s.fault != "no_usage" {
		s.write(map[string]any{"choices": []any{}, "usage": s.counts()})
	}
	if s.fault != "no_done" {
		s.pending = append(s.pending, "data: [DONE]\n\n"...)
	}
}

func (s *stream) counts() map[string]any {
	return map[string]any{
		"prompt_tokens": s.seq.prompt, "completion_tokens": s.got, "total_tokens": s.seq.prompt + s.got,
		"prompt_tokens_details": map[string]any{"cached_tokens": s.cached},
	}
}

func (s *stream) event(delta map[string]any, finish string) {
	choice := map[string]any{"index": 0, "delta": delta, "finish_reason": nil}
	if finish != "" {
		choice["finish_reason"] = finish
	}
	s.write(map[string]any{"choices": []any{choice}})
}

func (s *stream) write(fields map[string]any) {
	fields["id"], fields["object"], fields["model"] = s.id, "chat.completion.chunk", s.model
	data, err := json.Marshal(fields)
	if err != nil {
		panic("simengine: an event is not JSON: " + err.Error()) // plain values only
	}
	s.pending = append(append(append(s.pending, "data: "...), data...), "\n\n"...)
}

// whole waits for all tokens and answers with one JSON completion.
func (s *stream) whole(ctx *fasthttp.RequestCtx) {
	s.cached = <-s.seq.tokens
	for token := range s.seq.tokens {
		s.got = token
	}
	if s.got < s.seq.total {
		refuse(ctx, fasthttp.StatusServiceUnavailable, "unavailable", "The engine stopped.")
		return
	}
	message := map[string]any{"role": "assistant", "content": strings.Join(s.g.tokens, "")}
	if s.g.reasoning > 0 {
		message["reasoning_content"] = strings.Repeat("hmm ", s.g.reasoning)
	}
	reply(ctx, map[string]any{
		"id": s.id, "object": "chat.completion", "model": s.model, "usage": s.counts(),
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": s.g.finish}},
	})
}
