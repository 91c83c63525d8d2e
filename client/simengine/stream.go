package simengine

import (
	"encoding/json"
	"io"
	"net"
	"strings"
	"time"

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
	fault     Fault           // the zero value is none
	ended     <-chan struct{} // the engine stops
	conn      net.Conn

	pending  []byte
	cached   int
	got      int // tokens sent
	opened   bool
	over     bool
	stalled  bool
	comments bool // comments follow for ever
}

// Read is part of io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.pending) == 0 {
		switch {
		case s.over:
			return 0, io.EOF
		case s.stalled:
			<-s.ended
			s.over = true
		case s.comments:
			s.wait(5 * time.Millisecond)
			s.pending = append(s.pending, ": wait\n\n"...)
		default:
			s.next()
		}
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
	before := s.got
	for range max(1, s.fault.each) {
		token, ok := <-s.seq.tokens
		if !ok {
			break
		}
		s.got = token
		if s.got <= s.g.reasoning {
			break
		}
	}
	switch {
	case s.got == before:
		s.finish()
		return
	case s.got <= s.g.reasoning:
		s.event(map[string]any{"reasoning_content": "hmm "}, "")
	default:
		from := max(0, before-s.g.reasoning)
		s.event(map[string]any{"content": strings.Join(s.g.tokens[from:s.got-s.g.reasoning], "")}, "")
	}
	if s.fault.spoil != nil && s.got == spoilAfter {
		s.fault.spoil(s)
	}
}

// finish ends the stream as OpenAI's API does: a finish reason, the usage, and
// [DONE]. A sequence that was cut short by the engine's end just stops.
func (s *stream) finish() {
	s.over = true
	if s.got < s.seq.total {
		return
	}
	if s.fault.finish != nil {
		s.fault.finish(s)
		return
	}
	s.reason()
	s.count()
	s.raw("data: [DONE]\n\n")
}

func (s *stream) reason() { s.event(map[string]any{}, s.g.finish) }

func (s *stream) count() {
	if s.usage {
		c := map[string]any{"choices": []any{}, "usage": s.counts()}
		if s.fault.chunk != nil {
			s.fault.chunk(s, c)
		}
		s.write(c)
	}
}

// wait lets time pass, but not the engine's end.
func (s *stream) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.ended:
		s.over = true
	}
}

// hang keeps a connection open and says nothing more, until the client goes.
func (s *stream) hang(c net.Conn) error {
	s.seq.gone.Store(true)
	_, err := c.Read(make([]byte, 1))
	return err
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
	c := map[string]any{"choices": []any{choice}}
	if s.fault.chunk != nil {
		s.fault.chunk(s, c)
	}
	if len(c) > 0 && !(s.over && finish == "") {
		s.write(c)
	}
}

func (s *stream) write(fields map[string]any) {
	fields["id"], fields["object"], fields["model"] = s.id, "chat.completion.chunk", s.model
	data, err := json.Marshal(fields)
	if err != nil {
		panic("simengine: an event is not JSON: " + err.Error()) // plain values only
	}
	s.raw("data: " + string(data) + "\n\n")
}

// raw puts an event into the stream as it stands.
func (s *stream) raw(event string) {
	if s.fault.wire != nil {
		event = s.fault.wire(event)
	}
	s.pending = append(s.pending, event...)
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
