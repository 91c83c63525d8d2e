package client

import (
	"context"
	"encoding/json"
	"io"
	"math/rand"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestStreamsThatAreWhole(t *testing.T) {
	for _, c := range []struct {
		name, body         string
		text               string
		content, reasoning int
		completion         int64 // -1: no usage
		finish             string
		warning            string
	}{
		{"as servers write it", ok, "a", 1, 0, 2, "stop", ""},
		{"no space after data:", strings.ReplaceAll(ok, "data: ", "data:"), "a", 1, 0, 2, "stop", ""},
		{"exactly one space is dropped", strings.ReplaceAll(ok, "data: ", "data:   "), "a", 1, 0, 2, "stop", ""},
		{"no [DONE] after finish and usage", d(`{"content":"a"}`) + fin(`"stop"`) + use("2"), "a", 1, 0, 2, "stop", ""},
		{"bare data: as heartbeat", d(`{"content":"a"}`) + "data:\n\ndata: \n\n" + d(`{"content":"b"}`) + fin(`"stop"`) + use("3") + end, "ab", 2, 0, 3, "stop", ""},
		{"comments as keep-alive", ": PROCESSING\n\n:\n\n: x\n\n" + ok, "a", 1, 0, 2, "stop", ""},
		{"CRLF", strings.ReplaceAll(ok, "\n", "\r\n"), "a", 1, 0, 2, "stop", ""},
		{"lone CR", strings.ReplaceAll(ok, "\n", "\r"), "a", 1, 0, 2, "stop", ""},
		{"mixed line ends", strings.ReplaceAll(ok, "\n\n", "\n\r\n"), "a", 1, 0, 2, "stop", ""},
		{"byte order mark", "\xef\xbb\xbf" + ok, "a", 1, 0, 2, "stop", ""},
		{"id, event and retry fields", strings.ReplaceAll(ok, "data: ", "id: 7\nevent: message\nretry: 9\ndata: "), "a", 1, 0, 2, "stop", ""},
		{"JSON over several data lines", "data: {\"choices\":\ndata: []}\n\n" + ok, "a", 1, 0, 2, "stop", ""},
		{"role-only first chunk, empty", d(`{"role":"assistant","content":""}`) + ok, "a", 1, 0, 2, "stop", ""},
		{"role-only first chunk, null", d(`{"role":"assistant","content":null}`) + ok, "a", 1, 0, 2, "stop", ""},
		{"empty delta and delta missing", d(`{}`) + `data: {"choices":[{"index":0}]}` + "\n\n" + ok, "a", 1, 0, 2, "stop", ""},
		{"choices empty first and last", `data: {"choices":[],"prompt_filter_results":[]}` + "\n\n" + ok, "a", 1, 0, 2, "stop", ""},
		{"reasoning", d(`{"reasoning":"x"}`) + ok, "a", 1, 1, 2, "stop", ""},
		{"reasoning_content", d(`{"reasoning_content":"x"}`) + ok, "a", 1, 1, 2, "stop", ""},
		{"both names are one chunk", d(`{"reasoning":"x","reasoning_content":"x"}`) + ok, "a", 1, 1, 2, "stop", ""},
		{"finish reason empty means none", strings.Repeat(`data: {"choices":[{"delta":{"content":"b"},"finish_reason":""}]}`+"\n\n", 5) + ok, "bbbbba", 6, 0, 2, "stop", ""},
		{"usage on every chunk, cumulative", d(`{"content":"a"}`) + use("1") + use("4") + use("5") + fin(`"stop"`) + use("99") + end, "a", 1, 0, 99, "stop", ""},
		{"usage null but for the last", `data: {"choices":[{"delta":{"content":"a"}}],"usage":null}` + "\n\n" + fin(`"stop"`) + use("7") + `data: {"choices":[],"usage":null}` + "\n\n" + end, "a", 1, 0, 7, "stop", ""},
		{"usage never sent", d(`{"content":"a"}`) + fin(`"stop"`) + end, "a", 1, 0, -1, "stop", ""},
		{"usage that is no count", d(`{"content":"a"}`) + fin(`"stop"`) + use("-3") + end, "a", 1, 0, -1, "stop", "whole number"},
		{"no finish reason before [DONE]", d(`{"content":"a"}`) + use("2") + end, "a", 1, 0, 2, "", "no finish reason"},
		{"length is a success", d(`{"content":"a"}`) + fin(`"length"`) + use("2") + end, "a", 1, 0, 2, "length", ""},
		{"last event without a blank line", d(`{"content":"a"}`) + fin(`"stop"`) + strings.TrimRight(use("2"), "\n"), "a", 1, 0, 2, "stop", "blank line"},
		{"an event that is not JSON is skipped and told", "data: {broken\n\n" + ok, "a", 1, 0, 2, "stop", "not JSON"},
		{"a field of another type does not lose the chunk", `data: {"object":5,"choices":[{"delta":{"content":"z","tool_calls":{}}}]}` + "\n\n" + ok, "za", 2, 0, 2, "stop", "unexpected type"},
		{"an event that is no object is told", "data: 5\n\n" + ok, "a", 1, 0, 2, "stop", "unexpected type"},
		{"usage with a fraction", d(`{"content":"a"}`) + fin(`"stop"`) + use("2.5") + end, "a", 1, 0, -1, "stop", "whole number"},
		{"content of another type is no text", d(`{"content":[1]}`) + ok, "a", 1, 0, 2, "stop", "unexpected type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := observe(t, c.body)
			mustBe(t, o, "")
			if o.Text != c.text || o.ContentChunks != c.content || o.ReasoningChunks != c.reasoning || !o.Terminal || !o.Received {
				t.Errorf("%+v", o)
			}
			switch {
			case c.completion < 0 && o.Usage != nil && o.Usage.CompletionTokens != nil:
				t.Errorf("tokens out of nothing: %d", *o.Usage.CompletionTokens)
			case c.completion >= 0 && (o.Usage == nil || *o.Usage.CompletionTokens != c.completion):
				t.Errorf("usage %+v, want %d", o.Usage, c.completion)
			}
			if got := strings.Join(o.FinishReasons, ","); got != c.finish {
				t.Errorf("finish reasons %q, want %q", got, c.finish)
			}
			if warned := strings.Join(o.Warnings, "; "); !strings.Contains(warned, c.warning) || c.warning == "" && warned != "" {
				t.Errorf("warnings %q, want %q", warned, c.warning)
			}
			if o.FirstContent == nil || o.FirstOutput == nil || *o.FirstOutput > *o.FirstContent || *o.FirstContent > o.End {
				t.Errorf("times out of order: %v %v %v", o.FirstOutput, o.FirstContent, o.End)
			}
		})
	}
}

func TestStreamsThatFail(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       Kind
		contains   string
		received   bool
	}{
		{"error object inside a 200 stream", strings.Repeat(d(`{"content":"a"}`), 3) + `data: {"error":{"message":"engine died","code":500}}` + "\n\n" + end, KindServerError, "engine died", true},
		{"error as text", `data: {"error":"out of memory"}` + "\n\n", KindServerError, "out of memory", true},
		{"error in the old form", `data: {"object":"error","message":"gone"}` + "\n\n", KindServerError, "gone", true},
		{"[DONE] alone", end, KindNoOutput, "no visible content", true},
		{"usage without choices", use("0") + end, KindNoOutput, "no visible content", true},
		{"reasoning until the cap", strings.Repeat(d(`{"reasoning_content":"x"}`), 30) + fin(`"length"`) + end, KindNoOutput, "30 reasoning chunks", true},
		{"tool calls only", strings.Repeat(d(`{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}`), 3) + fin(`"tool_calls"`) + use("9") + end, KindNoOutput, "3 tool-call chunks", true},
		{"tokens used, nothing visible", d(`{"role":"assistant"}`) + fin(`"length"`) + use("16") + end, KindNoOutput, "length", true},
		{"early end in the middle", strings.Repeat(d(`{"content":"a"}`), 5), KindTruncated, "5 content chunks", true},
		{"half an event at the end", d(`{"content":"a"}`) + `data: {"choices":[{"del`, KindTruncated, "", true},
		{"abort is no success", d(`{"content":"a"}`) + fin(`"abort"`) + use("1") + end, KindAborted, "abort", true},
		{"nothing at all", "", KindEmptyStream, "200", true},
		{"garbage in events", "data: nonsense\n\ndata: more\n\n", KindProtocol, "nonsense", false},
		{"no event", "hello world\n", KindNotEventStream, "hello world", false},
		{"an event above the bound", "data: " + strings.Repeat("x", 3<<20) + "\n\n" + ok, KindEventTooLarge, "2097152", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, "tcp", "127.0.0.1:0", whole(c.body))
			o := lane(t, Config{BaseURL: s.url, MaxEventBytes: 2 << 20}).Do(context.Background(), request)
			mustBe(t, o, c.want, c.contains)
			if o.Received != c.received {
				t.Errorf("received %v", o.Received)
			}
		})
	}
}

func TestPartialFiguresOfAFailureAreKept(t *testing.T) {
	o := observe(t, strings.Repeat(d(`{"reasoning_content":"x"}`), 30)+fin(`"length"`)+use("31")+end)
	if o.FirstOutput == nil || o.FirstContent != nil || o.ReasoningChunks != 30 || *o.Usage.CompletionTokens != 31 {
		t.Errorf("%+v", o)
	}
	o = observe(t, d(`{"tool_calls":[{}]}`)+fin(`"tool_calls"`)+end)
	if o.FirstTool == nil || o.FirstOutput != nil || o.ToolChunks != 1 {
		t.Errorf("%+v", o)
	}
}

func TestLargeEventsBelowTheBound(t *testing.T) {
	long := strings.Repeat("é", 200_000)
	o := observe(t, d(`{"content":"`+long+`"}`)+fin(`"stop"`)+end)
	mustBe(t, o, "")
	if !o.Truncated || utf8.RuneCountInString(o.Text) != CaptureLimit || !utf8.ValidString(o.Text) {
		t.Errorf("truncated %v, %d characters", o.Truncated, utf8.RuneCountInString(o.Text))
	}
}

// A stream means the same wherever the network cuts it: at every byte, inside
// runes and line ends too.
func TestTheSameStreamForEveryCut(t *testing.T) {
	body := ": hi\r\n\r\ndata:" + strings.TrimPrefix(d(`{"content":"né 🙂 漢 a"}`), "data: ") + d(`{"reasoning":" x "}`) +
		"data: {\"choices\":\r\ndata: []}\r\n\r\n" + fin(`"stop"`) + use("4") + end
	parse := func(parts ...string) Observation {
		c, err := New(Config{BaseURL: "http://127.0.0.1/v1"})
		if err != nil {
			t.Fatal(err)
		}
		var o Observation
		s := newStream(c)
		s.begin(&o, "text/event-stream")
		for _, p := range parts {
			if s.ended {
				break
			}
			s.feed([]byte(p), time.Millisecond)
		}
		s.finish()
		return o
	}
	want := parse(body)
	mustBe(t, want, "")
	if want.Text != "né 🙂 漢 a" {
		t.Fatalf("text %q", want.Text)
	}
	for i := 1; i < len(body); i++ {
		if got := parse(body[:i], body[i:]); !reflect.DeepEqual(got, want) {
			t.Fatalf("cut at %d (%q): %+v, want %+v", i, body[max(0, i-5):i], got, want)
		}
	}
	r := rand.New(rand.NewSource(5))
	for range 300 {
		var parts []string
		for rest := body; rest != ""; {
			n := min(len(rest), 1+r.Intn(7))
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		if got := parse(parts...); !reflect.DeepEqual(got, want) {
			t.Fatalf("cut into %q: %+v", parts, got)
		}
	}
}

func TestOneByteAWriteOverASocket(t *testing.T) {
	body := d(`{"content":"🙂"}`) + d(`{"content":"漢"}`) + fin(`"stop"`) + use("2") + end
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
		for _, b := range []byte(untilEOF + body) {
			c.Write([]byte{b})
		}
		return false
	})
	o := lane(t, Config{BaseURL: s.url}).Do(context.Background(), request)
	mustBe(t, o, "")
	if o.Text != "🙂漢" || o.ContentChunks != 2 {
		t.Errorf("%q in %d chunks", o.Text, o.ContentChunks)
	}
}

// TTFO and TTFT are at the first text, whatever came before and after it.
func TestFirstTimesAreThoseOfTheText(t *testing.T) {
	const pause = 60 * time.Millisecond
	parts := []string{
		d(`{"role":"assistant","content":""}`), d(`{"content":null}`) + ": wait\n\n", d(`{"reasoning":"x"}`), d(`{"content":"a"}`), fin(`"stop"`) + use("2") + end,
	}
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
		io.WriteString(c, chunked)
		for _, p := range parts {
			time.Sleep(pause)
			io.WriteString(c, inChunk(p))
		}
		io.WriteString(c, lastChunk)
		return true
	})
	o := lane(t, Config{BaseURL: s.url}).Do(context.Background(), request)
	mustBe(t, o, "")
	// Pauses are lower bounds: a slow machine makes times longer, not shorter.
	if *o.FirstOutput < 3*pause || *o.FirstContent < *o.FirstOutput+pause*9/10 || o.End < *o.FirstContent+pause*9/10 {
		t.Errorf("TTFO %v, TTFT %v, E2E %v", *o.FirstOutput, *o.FirstContent, o.End)
	}
}

func FuzzSSE(f *testing.F) {
	f.Add([]byte(ok), 3)
	f.Add([]byte("data: a\r\rdata:b\n\n\r\n: x\ndata\n\n"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		events := func(parts ...[]byte) []string {
			s := splitter{limit: 1 << 20}
			var out []string
			for _, p := range parts {
				if err := s.feed(p, func(data []byte) bool { out = append(out, string(data)); return true }); err != nil {
					t.Skip()
				}
			}
			if data, pending := s.rest(); pending {
				out = append(out, "rest:"+string(data))
			}
			return out
		}
		want := events(stream)
		if got := reference(stream); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %q, the reference has %q", stream, want, got)
		}
		if len(stream) > 0 {
			at := ((cut % len(stream)) + len(stream)) % len(stream)
			if got := events(stream[:at], stream[at:]); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q cut at %d: %q, want %q", stream, at, got, want)
			}
		}
	})
}

// reference splits a whole stream the simple way.
func reference(stream []byte) []string {
	text := strings.ReplaceAll(string(stream), "\r\n", "\n")
	lines := strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
	var out, data []string
	for i, line := range lines {
		if i == 0 {
			line = strings.TrimPrefix(line, "\xef\xbb\xbf")
		}
		last := i == len(lines)-1
		if line == "" && !last {
			if data != nil {
				out = append(out, strings.Join(data, "\n"))
			}
			data = nil
			continue
		}
		if name, value, _ := strings.Cut(line, ":"); name == "data" {
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	if rest := strings.Join(data, "\n"); rest != "" {
		out = append(out, "rest:"+rest)
	}
	return out
}

func FuzzChunk(f *testing.F) {
	for _, s := range []string{`{"choices":[{"delta":{"content":"a"}}]}`, `{"choices":[],"usage":{"prompt_tokens":1.5}}`, `{"error":[]}`, `{"choices":null,"usage":{}}`} {
		f.Add([]byte(s))
	}
	c, err := New(Config{BaseURL: "http://127.0.0.1/v1"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var o Observation
		s := newStream(c)
		s.begin(&o, "text/event-stream")
		s.feed([]byte("data: "+string(data)+"\n\n"), time.Millisecond)
		s.finish()
		if o.Failure != nil && o.Failure.Message == "" {
			t.Fatal("a failure without a message")
		}
		if o.Usage != nil && o.Usage.CompletionTokens != nil && *o.Usage.CompletionTokens < 0 {
			t.Fatal("a negative count")
		}
	})
}

// What was put into a chunk comes out of it.
func FuzzChunkFields(f *testing.F) {
	f.Add("a", "", "stop", int64(2))
	f.Add("né 🙂\n\"", "\r\n\x00", "", int64(-1))
	f.Fuzz(func(t *testing.T, content, reasoning, finish string, completion int64) {
		raw, err := json.Marshal(map[string]any{
			"choices": []any{map[string]any{"delta": map[string]any{"content": content, "reasoning": reasoning}, "finish_reason": finish}},
			"usage":   map[string]any{"completion_tokens": completion},
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := new(decoder).decode(raw)
		if err != nil || c.odd {
			t.Fatalf("%s: odd %v, %v", raw, c.odd, err)
		}
		got := c.choices[0]
		// Bytes that are no UTF-8 become replacement characters on the way in.
		plain := func(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "�", "") }
		same := func(got []byte, want string) bool { return plain(string(got)) == plain(want) }
		if !same(got.content, content) || !same(got.reasoning, reasoning) || !same(got.finish, finish) {
			t.Errorf("%s became %+v", raw, got)
		}
		if n := c.usage.completion; n.wrong != (completion < 0) || !n.wrong && n.n != completion {
			t.Errorf("%d tokens became %+v", completion, n)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	one := `data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1789665664,"model":"some/model","choices":[{"index":0,"delta":{"content":" code"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	c, err := New(Config{BaseURL: "http://127.0.0.1/v1"})
	if err != nil {
		b.Fatal(err)
	}
	block := []byte(strings.Repeat(one, 16))
	b.ReportAllocs()
	b.SetBytes(int64(len(block)))
	var o Observation
	s := newStream(c)
	s.begin(&o, "text/event-stream")
	for b.Loop() {
		s.feed(block, time.Millisecond)
	}
}
