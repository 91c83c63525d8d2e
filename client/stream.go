package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"
)

// stream turns events into an observation. One serves all requests of a lane,
// so that its buffers are made once.
type stream struct {
	client   *Client
	media    string // the response's content type
	o        *Observation
	events   splitter
	decoder  decoder
	at       time.Duration // arrival of the bytes being parsed
	text     []byte
	runes    int
	usage    usage
	seen     int    // events with data
	bad      int    // events that are not JSON
	odd      int    // events with a field of another type than it should have
	said     string // message of an error object
	overflow error
	done     bool // [DONE]
	ended    bool // nothing more is to be read
	start    []byte
}

const finishLimit = 128 // characters kept of a finish reason

func newStream(c *Client) *stream {
	return &stream{client: c, events: splitter{limit: c.cfg.MaxEventBytes}}
}

// begin readies the stream for a response of the given content type.
func (s *stream) begin(o *Observation, media string) {
	s.events.reset()
	*s = stream{
		client: s.client, media: media, o: o, events: s.events, decoder: s.decoder, text: s.text[:0], start: s.start[:0],
	}
}

// feed parses bytes that arrived at the given time.
func (s *stream) feed(p []byte, at time.Duration) {
	s.at = at
	if room := excerptBytes - len(s.start); room > 0 {
		s.start = append(s.start, p[:min(len(p), room)]...)
	}
	if err := s.events.feed(p, s.event); err != nil {
		s.overflow, s.ended = err, true
		s.o.End = at
	}
}

// event handles one event; false ends the stream.
func (s *stream) event(data []byte) bool {
	if len(data) == 0 {
		return true // a heartbeat
	}
	s.seen++
	if isTerminal(data) {
		s.done, s.ended, s.o.Terminal, s.o.End = true, true, true, s.at
		return false
	}
	c, err := s.decoder.decode(data)
	if err != nil {
		s.bad++
		return true
	}
	if c.odd {
		s.odd++
	}
	if s.said = c.said; s.said != "" {
		s.ended, s.o.End = true, s.at
		return false
	}
	s.chunk(c)
	return true
}

func (s *stream) chunk(c *chunk) {
	o := s.o
	if !c.usage.empty() {
		s.usage = c.usage // the last one wins; counts are cumulative
		if c.usage.wrong() {
			s.warn("a token count in usage is not a whole number of tokens and is taken as absent")
		}
	}
	content, reasoning, tools := o.ContentChunks, o.ReasoningChunks, o.ToolChunks
	for i := range c.choices {
		s.choice(&c.choices[i])
	}
	switch {
	case o.ContentChunks > content:
		o.Arrivals.add(s.at, OutputContent)
	case o.ReasoningChunks > reasoning:
		o.Arrivals.add(s.at, OutputReasoning)
	case o.ToolChunks > tools:
		o.Arrivals.add(s.at, OutputTool)
	}
}

func (s *stream) choice(one *choice) {
	o := s.o
	if len(one.reasoning) > 0 {
		o.ReasoningChunks++
		s.first(&o.FirstOutput)
	}
	if len(one.content) > 0 {
		o.ContentChunks++
		s.first(&o.FirstOutput)
		s.first(&o.FirstContent)
		s.keep(one.content)
	}
	if one.tools {
		o.ToolChunks++
		s.first(&o.FirstTool)
	}
	if len(one.finish) > 0 {
		o.Terminal = true
		o.FinishReasons = append(o.FinishReasons, shorten(s.client.secret.hide(string(one.finish)), finishLimit))
	}
}

func (s *stream) first(at **time.Duration) {
	if *at == nil {
		t := s.at
		*at = &t
	}
}

// keep holds the visible text up to the limit of characters.
func (s *stream) keep(content []byte) {
	if s.o.Truncated {
		return
	}
	n := utf8.RuneCount(content)
	if s.runes+n > CaptureLimit {
		content = []byte(shorten(string(content), CaptureLimit-s.runes))
		n = CaptureLimit - s.runes
		s.o.Truncated = true
	}
	s.runes += n
	s.text = append(s.text, content...)
}

func (s *stream) warn(text string) {
	if text = s.client.clip(text); !slices.Contains(s.o.Warnings, text) {
		s.o.Warnings = append(s.o.Warnings, text)
	}
}

// flush moves what was gathered into the observation.
func (s *stream) flush() {
	s.o.Text = string(s.text)
	if !s.usage.empty() {
		s.o.Usage = s.usage.plain()
	}
	if s.bad > 0 {
		s.warn(fmt.Sprintf("%d events are not JSON and were skipped", s.bad))
	}
	if s.odd > 0 {
		s.warn(fmt.Sprintf("%d events have fields of an unexpected type, which count as absent", s.odd))
	}
}

// finish closes the observation of a stream that was read to its end.
func (s *stream) finish() {
	if data, pending := s.events.rest(); pending && !s.ended {
		s.at = s.o.End
		bad := s.bad
		s.event(data)
		if s.bad == bad {
			s.warn("the last event had no blank line after it")
		}
	}
	s.flush()
	if s.seen > 0 && !isMedia(s.media, "text/event-stream") {
		s.warn(fmt.Sprintf("the events came with content type %q, not text/event-stream", s.media))
	}
	s.o.Failure = s.verdict()
	if s.o.Failure == nil {
		s.o.Received = true
		if len(s.o.FinishReasons) == 0 {
			s.warn("no finish reason before [DONE]")
		}
		return
	}
	switch s.o.Failure.Kind {
	case KindEmptyStream:
		s.o.Received = true
	case KindNoOutput, KindTruncated, KindAborted, KindServerError:
		s.o.Received = s.seen > 0
	}
}

// verdict is why a stream that was read to its end is no success, in the
// format's order.
func (s *stream) verdict() *Failure {
	var large *tooLarge
	o := s.o
	switch {
	case errors.As(s.overflow, &large):
		return s.client.fail(KindEventTooLarge, fmt.Sprintf("the stream has %s", large.Error()))
	case s.said != "":
		return s.client.fail(KindServerError, s.said)
	case len(s.start) == 0:
		return s.client.answered(KindEmptyStream, fasthttp.StatusOK, s.media, nil)
	case s.seen > 0 && s.seen == s.bad:
		return s.client.fail(KindProtocol, "no event of the stream is JSON; it begins: "+s.client.excerpt(s.start))
	case s.seen == 0 && s.start[0] == '{':
		return s.client.answered(KindNotStreaming, fasthttp.StatusOK, s.media, s.start)
	case s.seen == 0:
		return s.client.answered(KindNotEventStream, fasthttp.StatusOK, s.media, s.start)
	case slices.Contains(o.FinishReasons, "abort"):
		return s.client.fail(KindAborted, "the server gave the request up: finish_reason abort")
	case o.ContentChunks == 0:
		return s.client.fail(KindNoOutput, s.nothing())
	case !o.Terminal:
		return s.client.fail(KindTruncated, fmt.Sprintf("the stream ended after %d content chunks with neither a finish reason nor [DONE]", o.ContentChunks))
	}
	return nil
}

// nothing says what came instead of visible content.
func (s *stream) nothing() string {
	o := s.o
	text := "the stream has no visible content"
	if o.ReasoningChunks > 0 {
		text += fmt.Sprintf("; %d reasoning chunks", o.ReasoningChunks)
	}
	if o.ToolChunks > 0 {
		text += fmt.Sprintf("; %d tool-call chunks", o.ToolChunks)
	}
	if len(o.FinishReasons) > 0 {
		text += "; finish reason " + strings.Join(o.FinishReasons, ", ")
	}
	return text
}
