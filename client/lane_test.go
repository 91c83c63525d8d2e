package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTheRequestIsWhatWasAsked(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", whole(ok))
	top, low, yes, no := 0.9, 3, true, false
	r := &Request{Model: "a/b", Prompt: "<x> & \"y\"\n", MaxTokens: 7, Temperature: 0.5, TopP: &top, MinTokens: &low, IgnoreEOS: &yes, EnableThinking: &no, ReasoningEffort: "low"}
	mustBe(t, lane(t, Config{BaseURL: s.url, APIKey: "sk-secret", UserAgent: "test"}).Do(context.Background(), r), "")
	want := `{"model":"a/b","messages":[{"role":"user","content":"<x> & \"y\"\n"}],"max_tokens":7,"temperature":0.5,"top_p":0.9,"min_tokens":3,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true},"chat_template_kwargs":{"enable_thinking":false},"reasoning_effort":"low"}`
	body, head := s.last()
	if body != want {
		t.Errorf("sent %s\nwant %s", body, want)
	}
	for name, value := range map[string]string{"Authorization": "Bearer sk-secret", "Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "test"} {
		if got := head.Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	plain, err := request.Body()
	if err != nil || !json.Valid(plain) || strings.Contains(string(plain), "top_p") || !strings.Contains(string(plain), `"temperature":0,`) {
		t.Errorf("%s %v", plain, err)
	}
}

func TestAnswersThatAreNoStream(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name, answer string
		want         Kind
		status       int
		contains     string
	}{
		{"401", "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: 33\r\n\r\n" + `{"error":{"message":"no such k"}}`, KindHTTPStatus, 401, "no such k"},
		{"429 with Retry-After", "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy", KindHTTPStatus, 429, "busy"},
		{"500 with a huge body", fmt.Sprintf("HTTP/1.1 500 X\r\nContent-Length: %d\r\n\r\n%s", len(big), big), KindHTTPStatus, 500, "xxx"},
		{"redirect", "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", KindHTTPStatus, 302, "not followed"},
		{"500 compressed", "HTTP/1.1 500 X\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n\x8b\x00", KindHTTPStatus, 500, "decompressing br"},
		{"204 has no body", "HTTP/1.1 204 No Content\r\n\r\n", KindHTTPStatus, 204, "HTTP 204"},
		{"empty JSON", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n", KindEmptyStream, 200, "not one byte"},
		{"JSON error without a content type", "HTTP/1.1 200 OK\r\nContent-Length: 34\r\n\r\n" + `{"error":{"message":"overloaded"}}`, KindServerError, 200, "overloaded"},
		{"text without a content type", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", KindNotEventStream, 200, "without a content type"},
		{"an error body that breaks off", "HTTP/1.1 500 X\r\nContent-Length: 99\r\n\r\nhalf", KindHTTPStatus, 500, "broke off"},
		{"a header that is too long", "HTTP/1.1 200 OK\r\nX: " + big, KindProtocol, 0, "longer than 32768"},
		{"closed without an answer", "", KindProtocol, 0, "the server closed the connection"},
		{"HTML", "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 13\r\n\r\n<html>blocked", KindNotEventStream, 200, "blocked"},
		{"a whole completion", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n" + `{"choices":[]}`, KindNotStreaming, 200, "completion"},
		{"JSON error in a 200", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 34\r\n\r\n" + `{"error":{"message":"overloaded"}}`, KindServerError, 200, "overloaded"},
		{"compressed", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd", KindProtocol, 200, "gzip"},
		{"no HTTP at all", "SSH-2.0-OpenSSH\r\n\r\n", KindProtocol, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, conn net.Conn, _ int) bool {
				io.WriteString(conn, c.answer)
				return false
			})
			o := lane(t, Config{BaseURL: s.url}).Do(context.Background(), request)
			mustBe(t, o, c.want, c.contains)
			if o.Failure.Status != c.status || len(o.Failure.Message) > 1000 || o.Received {
				t.Errorf("status %d, %d characters, received %v", o.Failure.Status, len(o.Failure.Message), o.Received)
			}
			if c.status == 429 && o.Failure.RetryAfter != "7" {
				t.Errorf("Retry-After %q", o.Failure.RetryAfter)
			}
		})
	}
}

func TestBodiesThatBreakOff(t *testing.T) {
	for name, answer := range map[string]string{
		"chunked":                   chunked + inChunk(d(`{"content":"a"}`)),
		"in a chunk":                chunked + "ff\r\n" + d(`{"content":"a"}`),
		"before the end of a chunk": chunked + strings.TrimSuffix(inChunk(d(`{"content":"a"}`)), "\r\n"),
		"in the end of a chunk":     chunked + strings.TrimSuffix(inChunk(d(`{"content":"a"}`)), "\n"),
		"in a chunk's size":         chunked + inChunk(d(`{"content":"a"}`)) + "1",
		"after a chunk's size":      chunked + inChunk(d(`{"content":"a"}`)) + "1f\r",
		"in the last chunk":         chunked + inChunk(d(`{"content":"a"}`)) + "0\r\n",
		"counted":                   sseHead + "Content-Length: 9999\r\n\r\n" + d(`{"content":"a"}`),
		"counted, cut in":           sseHead + "Content-Length: 9999\r\n\r\ndata: {",
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
				io.WriteString(c, answer)
				return false
			})
			o := lane(t, Config{BaseURL: s.url}).Do(context.Background(), request)
			mustBe(t, o, KindTruncated)
			if o.Received {
				t.Error("a broken connection is not a received stream")
			}
		})
	}
}

func TestEndpointsThatAreNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	mustBe(t, lane(t, Config{BaseURL: "http://" + address + "/v1"}).Do(context.Background(), request), KindDial, "refused")
	mustBe(t, lane(t, Config{BaseURL: "http://no-such-host.invalid/v1"}).Do(context.Background(), request), KindDNS)
	plain := serve(t, "tcp", "127.0.0.1:0", whole(ok))
	secure := strings.Replace(plain.url, "http:", "https:", 1)
	mustBe(t, lane(t, Config{BaseURL: secure, Timeout: Timeout{Connect: soon, Idle: time.Second}}).Do(context.Background(), request), KindTLS)
	for _, bad := range []string{"", "127.0.0.1:8000", "ftp://x/v1", "http://", "http://:80/v1", "::", "http://h/v1?a=b", "http://h/v1#a", "http://u:hush@h/v1", "ftp://u:hush@h/v1", "http://u:hush@h:port/v1"} {
		if _, err := New(Config{BaseURL: bad}); err == nil || !strings.Contains(err.Error(), "base_url") || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestLimitsOfEachPhase(t *testing.T) {
	const limit = 150 * time.Millisecond
	hang := func(first string) func(*script, net.Conn, int) bool {
		return func(_ *script, c net.Conn, _ int) bool {
			io.WriteString(c, first)
			io.Copy(io.Discard, c) // until the client gives up
			return false
		}
	}
	for _, c := range []struct {
		name    string
		play    func(*script, net.Conn, int) bool
		timeout Timeout
		want    Kind
	}{
		{"no byte", hang(""), Timeout{FirstByte: limit, Idle: soon}, KindTimeoutFirstByte},
		{"half a header and no idle limit", hang("HTTP/1.1 200 OK\r\nContent-"), Timeout{FirstByte: limit}, KindTimeoutFirstByte},
		{"bare LF in the header and no idle limit", hang("HTTP/1.1 200 OK\nContent-Type: text/event-stream\n"), Timeout{FirstByte: limit}, KindTimeoutFirstByte},
		{"half a header", hang("HTTP/1.1 200 OK\r\nContent-"), Timeout{FirstByte: soon, Idle: limit}, KindTimeoutIdle},
		{"header lines end in bare LF and nothing follows", hang("HTTP/1.1 200 OK\nContent-Type: text/event-stream\n"), Timeout{FirstByte: soon, Idle: limit}, KindTimeoutIdle},
		{"stalled stream", hang(chunked + inChunk(d(`{"content":"a"}`))), Timeout{Idle: limit}, KindTimeoutIdle},
		{"total", func(_ *script, conn net.Conn, _ int) bool {
			io.WriteString(conn, chunked)
			for range 1000 {
				if _, err := io.WriteString(conn, inChunk(d(`{"content":"a"}`))); err != nil {
					return false
				}
				time.Sleep(limit / 10)
			}
			return false
		}, Timeout{Idle: soon, Total: limit}, KindTimeoutTotal},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, "tcp", "127.0.0.1:0", c.play)
			o := lane(t, Config{BaseURL: s.url, Timeout: c.timeout}).Do(context.Background(), request)
			mustBe(t, o, c.want, limit.String())
			if o.Received {
				t.Error("a stream that was cut by a limit is not received")
			}
		})
	}
}

// The idle limit is between reads, not a deadline for the stream.
func TestASteadyStreamOutlivesTheIdleLimit(t *testing.T) {
	const limit = 400 * time.Millisecond
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
		io.WriteString(c, chunked)
		for range 12 {
			time.Sleep(limit / 8)
			io.WriteString(c, inChunk(d(`{"content":"a"}`)))
		}
		io.WriteString(c, inChunk(fin(`"stop"`)+end)+lastChunk)
		return true
	})
	o := lane(t, Config{BaseURL: s.url, Timeout: Timeout{FirstByte: limit, Idle: limit}}).Do(context.Background(), request)
	mustBe(t, o, "")
	if o.End < limit {
		t.Skip("the stream was shorter than the limit; nothing was shown")
	}
}

func TestOneStalledStreamDoesNotHoldTheOthers(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, number int) bool {
		if number == 1 {
			io.WriteString(c, chunked+inChunk(d(`{"content":"a"}`)))
			io.Copy(io.Discard, c)
			return false
		}
		io.WriteString(c, chunked+inChunk(ok)+lastChunk)
		return true
	})
	c, err := New(Config{BaseURL: s.url, Timeout: Timeout{Idle: 200 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	kinds := make([]Kind, 3)
	var wg sync.WaitGroup
	for i := range kinds {
		wg.Go(func() {
			l := c.Lane()
			defer l.Close()
			kinds[i] = kind(l.Do(context.Background(), request))
		})
	}
	wg.Wait()
	if got := fmt.Sprint(kinds); strings.Count(got, string(KindTimeoutIdle)) != 1 {
		t.Errorf("%v: want one idle and two whole", kinds)
	}
}

// Cancelling closes the connection; the next request is clean and on a new one.
func TestCancelClosesAndTheNextRequestIsClean(t *testing.T) {
	gone := make(chan bool, 1)
	started := make(chan bool, 1)
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, number int) bool {
		if number > 1 {
			io.WriteString(c, chunked+inChunk(ok)+lastChunk)
			return true
		}
		io.WriteString(c, chunked+inChunk(d(`{"content":"a"}`)))
		started <- true
		io.Copy(io.Discard, c)
		gone <- true
		return false
	})
	l := lane(t, Config{BaseURL: s.url})
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() { <-started; time.Sleep(20 * time.Millisecond); cancel(errors.New("enough seen")) }()
	o := l.Do(ctx, request)
	mustBe(t, o, KindCancelled, "enough seen")
	if o.ContentChunks != 1 {
		t.Errorf("%d chunks kept of the cancelled stream, want 1", o.ContentChunks)
	}
	select {
	case <-gone:
	case <-time.After(soon):
		t.Fatal("the server never saw the connection close")
	}
	next := l.Do(context.Background(), request)
	mustBe(t, next, "")
	if next.Reused || s.conns.Load() != 2 {
		t.Errorf("reused %v, %d connections", next.Reused, s.conns.Load())
	}
	mustBe(t, l.Do(ctx, request), KindCancelled, "not sent")
	if s.requests.Load() != 2 {
		t.Errorf("%d requests reached the server, want 2", s.requests.Load())
	}
}

func TestAWholeStreamLeavesTheConnectionForTheNext(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
		io.WriteString(c, chunked+inChunk(ok))
		time.Sleep(10 * time.Millisecond) // the end of the body comes after [DONE]
		io.WriteString(c, lastChunk)
		return true
	})
	l := lane(t, Config{BaseURL: s.url, Timeout: Timeout{Idle: soon}})
	for i := range 5 {
		o := l.Do(context.Background(), request)
		mustBe(t, o, "")
		if o.Reused != (i > 0) || o.Reused && o.Connect != 0 {
			t.Errorf("request %d: reused %v, connect %v", i, o.Reused, o.Connect)
		}
	}
	if s.conns.Load() != 1 || s.requests.Load() != 5 {
		t.Errorf("%d connections, %d requests", s.conns.Load(), s.requests.Load())
	}
}

// A kept-alive connection that the server closed in between is found before
// the request is written: nothing is sent twice, nothing fails.
func TestAConnectionClosedWhileIdleIsNotUsed(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
		io.WriteString(c, chunked+inChunk(ok)+lastChunk)
		return false // closes without having said so
	})
	l := lane(t, Config{BaseURL: s.url})
	for range 4 {
		mustBe(t, l.Do(context.Background(), request), "")
		time.Sleep(50 * time.Millisecond)
	}
	if s.requests.Load() != 4 || s.conns.Load() != 4 {
		t.Errorf("%d requests on %d connections, want 4 on 4", s.requests.Load(), s.conns.Load())
	}
}

// A connection that dies under the request is a named failure, never a second
// request.
func TestADeathUnderTheRequestIsNotRetried(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, number int) bool {
		if number == 2 {
			return false
		}
		io.WriteString(c, chunked+inChunk(ok)+lastChunk)
		return true
	})
	l := lane(t, Config{BaseURL: s.url})
	mustBe(t, l.Do(context.Background(), request), "")
	o := l.Do(context.Background(), request)
	mustBe(t, o, KindConnStale)
	if s.requests.Load() != 2 {
		t.Errorf("%d requests, want 2", s.requests.Load())
	}
}

func TestBothAddressFamilies(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		s := serve(t, "tcp", address, whole(ok))
		mustBe(t, lane(t, Config{BaseURL: s.url}).Do(context.Background(), request), "")
		byName := strings.NewReplacer("127.0.0.1", "localhost", "[::1]", "localhost").Replace(s.url)
		if _, err := net.LookupHost("localhost"); err == nil {
			o := lane(t, Config{BaseURL: byName}).Do(context.Background(), request)
			if address == "127.0.0.1:0" {
				mustBe(t, o, "")
			}
		}
	}
}

func TestTheKeyIsInNoMessage(t *testing.T) {
	const key = `sk-CANARY"1 ü`
	for _, spelling := range []string{key, `sk-CANARY\"1 ü`, `sk-CANARY%221%20%C3%BC`, `sk-CANARY%221+%C3%BC`} {
		for _, answer := range []string{
			"HTTP/1.1 401 X\r\nContent-Type: text/plain\r\nRetry-After: " + spelling + "\r\nConnection: close\r\n\r\nbad key " + spelling,
			untilEOF + `data: {"error":{"message":` + quote("bad "+spelling) + `}}` + "\n\n",
			untilEOF + d(`{"content":"a"}`) + fin(quote(spelling)) + end,
			"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" + strings.Repeat("y", excerptLimit-8) + spelling,
		} {
			s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
				io.WriteString(c, answer)
				return false
			})
			o := lane(t, Config{BaseURL: s.url, APIKey: key}).Do(context.Background(), request)
			o.Text = "" // what a model says is not a message, and is written nowhere
			if told := fmt.Sprintf("%+v %+v", o, o.Failure); strings.Contains(told, "CANARY") {
				t.Errorf("%q: %s", answer, told)
			}
		}
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestModels(t *testing.T) {
	answer := func(status, body string) *script {
		return serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
			fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
			return false
		})
	}
	ask := func(s *script) ([]ModelInfo, *Failure) {
		c, err := New(Config{BaseURL: s.url, Timeout: Timeout{Idle: soon}})
		if err != nil {
			t.Fatal(err)
		}
		return c.Models(context.Background())
	}
	models, failure := ask(answer("200 OK", `{"data":[{"id":"a","owned_by":"vllm","max_model_len":8192},{"id":"b","max_model_len":null,"context_length":4096},{"id":"c","max_model_len":"x"}]}`))
	if failure != nil || len(models) != 3 || *models[0].MaxModelLen != 8192 || models[0].OwnedBy != "vllm" || *models[1].MaxModelLen != 4096 || models[2].MaxModelLen != nil {
		t.Errorf("%+v %v", models, failure)
	}
	for _, c := range []struct {
		s    *script
		want Kind
	}{{answer("404 Not Found", "{}"), KindHTTPStatus}, {answer("200 OK", "<html>"), KindProtocol}, {answer("200 OK", `{"data":[]}`), KindProtocol}} {
		if _, failure := ask(c.s); failure == nil || failure.Kind != c.want {
			t.Errorf("%v, want %s", failure, c.want)
		}
	}
}

func TestManyLanesKeepTheirAnswersApart(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", func(s *script, c net.Conn, number int) bool {
		io.WriteString(c, chunked+inChunk(d(fmt.Sprintf(`{"content":"answer %d "}`, number)))+inChunk(d(fmt.Sprintf(`{"content":"%d"}`, number))+fin(`"stop"`)+end)+lastChunk)
		return true
	})
	c, err := New(Config{BaseURL: s.url})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			l := c.Lane()
			defer l.Close()
			for range 3 {
				o := l.Do(context.Background(), request)
				var a, b int
				if _, err := fmt.Sscanf(o.Text, "answer %d %d", &a, &b); err != nil || a != b || o.Failure != nil {
					t.Errorf("%q: %v %v", o.Text, err, o.Failure)
				}
			}
		})
	}
	wg.Wait()
	if s.requests.Load() != 600 {
		t.Errorf("%d requests, want 600", s.requests.Load())
	}
}
