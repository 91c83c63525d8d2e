package simengine

import (
	"strings"
	"time"
)

// streamFaults are streams that stop, break or end in another way.
var streamFaults = []Fault{
	{Name: "garbage", Does: "an event that is not JSON after the third token", spoil: func(s *stream) {
		s.raw("data: {\"choices\": [oops\n\n")
	}},
	{Name: "error", Does: "an error object inside the stream after the third token", spoil: func(s *stream) {
		s.write(map[string]any{"error": map[string]any{"message": "the engine died", "code": 500}})
		s.raw("data: [DONE]\n\n")
		s.over = true
	}},
	{Name: "error_first", Does: "an error object and [DONE] before the first token", chunk: func(s *stream, c map[string]any) {
		if d := delta(c); d == nil || d["role"] == nil || s.over {
			return
		}
		s.over = true
		s.write(map[string]any{"error": "out of memory"})
		s.raw("data: [DONE]\n\n")
	}},
	{Name: "cut", Does: "the stream ends cleanly after the third token, without a finish reason", spoil: func(s *stream) { s.over = true }},
	{Name: "reset", Does: "the connection closes after the third token", spoil: func(s *stream) {
		s.over = true
		_ = s.conn.Close() // this is the fault
	}},
	{Name: "stall", Does: "nothing more comes after the third token", spoil: func(s *stream) {
		s.seq.gone.Store(true) // the engine has given the slot up
		s.stalled = true
	}},
	{Name: "keepalive_only", Does: "comments for ever, and no token", chunk: func(s *stream, c map[string]any) {
		s.seq.gone.Store(true)
		s.comments = true
	}},
	{Name: "pause", Does: "300 ms of silence after the third token", spoil: func(s *stream) { s.wait(300 * time.Millisecond) }},
	{Name: "no_usage", Does: "no token counts", finish: func(s *stream) {
		s.reason()
		s.raw("data: [DONE]\n\n")
	}},
	{Name: "no_done", Does: "no [DONE] after the finish reason", finish: func(s *stream) {
		s.reason()
		s.count()
	}},
	{Name: "no_blank_line", Does: "the last event has no blank line after it, and there is no [DONE]", finish: func(s *stream) {
		s.reason()
		s.count()
		s.pending = []byte(strings.TrimRight(string(s.pending), "\n"))
	}},
	{Name: "done_alone", Does: "[DONE] and nothing else", chunk: func(s *stream, c map[string]any) {
		if d := delta(c); d != nil && d["role"] != nil {
			s.over = true
			s.raw("data: [DONE]\n\n")
			clear(c)
		}
	}},
	{Name: "more_after_done", Does: "100 KB of comments after [DONE]", finish: func(s *stream) {
		s.reason()
		s.count()
		s.raw("data: [DONE]\n\n" + strings.Repeat(": more\n\n", 100<<10/8))
	}},
}

// wireFaults write events in other words.
var wireFaults = []Fault{
	{Name: "no_space", Does: "data: without a space", wire: func(e string) string { return strings.ReplaceAll(e, "data: ", "data:") }},
	{Name: "crlf", Does: "lines end in CRLF", wire: func(e string) string { return strings.ReplaceAll(e, "\n", "\r\n") }},
	{Name: "cr", Does: "lines end in CR", wire: func(e string) string { return strings.ReplaceAll(e, "\n", "\r") }},
	{Name: "comments", Does: "a comment before each event", wire: func(e string) string { return ": PROCESSING\n\n:\n\n" + e }},
	{Name: "heartbeat", Does: "a bare data: line before each event", wire: func(e string) string { return "data:\n\n" + e }},
	{Name: "fields", Does: "id, event and retry fields before each event", wire: func(e string) string { return "id: 7\nevent: message\nretry: 9\n" + e }},
	{Name: "multiline", Does: "JSON over several data lines", wire: func(e string) string { return strings.Replace(e, `"choices":`, "\ndata: \"choices\":\ndata: ", 1) }},
}
