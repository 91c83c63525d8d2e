package client

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a server that reads one request after another on each connection
// and answers with exactly the bytes it is told to.
type script struct {
	url      string
	requests atomic.Int64 // requests read whole
	conns    atomic.Int64
	mu       sync.Mutex
	lastBody string
	lastHead http.Header
}

// last is the request read last.
func (s *script) last() (body string, head http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastBody, s.lastHead
}

// serve answers every request with what play writes; play returns false to
// close the connection.
func serve(t *testing.T, network, address string, play func(s *script, c net.Conn, number int) bool) *script {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skipf("no %s here: %v", network, err)
	}
	s := &script{url: "http://" + l.Addr().String() + "/v1"}
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			mu.Lock()
			open[c] = true
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					body, err := io.ReadAll(req.Body)
					if err != nil {
						return
					}
					s.mu.Lock()
					s.lastBody, s.lastHead = string(body), req.Header
					s.mu.Unlock()
					if !play(s, c, int(s.requests.Add(1))) {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return s
}

// Shorthand of streams.
const (
	sseHead   = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	chunked   = sseHead + "Transfer-Encoding: chunked\r\n\r\n"
	untilEOF  = sseHead + "Connection: close\r\n\r\n"
	end       = "data: [DONE]\n\n"
	lastChunk = "0\r\n\r\n"
)

func d(delta string) string { return `data: {"choices":[{"index":0,"delta":` + delta + `}]}` + "\n\n" }
func fin(reason string) string {
	return `data: {"choices":[{"index":0,"delta":{},"finish_reason":` + reason + `}]}` + "\n\n"
}
func use(n string) string {
	return `data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":` + n + `}}` + "\n\n"
}

var ok = d(`{"content":"a"}`) + fin(`"stop"`) + use("2") + end

// chunk wraps bytes as one HTTP chunk.
func inChunk(s string) string {
	const hex = "0123456789abcdef"
	n, size := len(s), ""
	for n > 0 {
		size = string(hex[n%16]) + size
		n /= 16
	}
	return size + "\r\n" + s + "\r\n"
}

// whole answers with one body and closes.
func whole(body string) func(*script, net.Conn, int) bool {
	return func(_ *script, c net.Conn, _ int) bool {
		io.WriteString(c, untilEOF+body)
		return false
	}
}

func lane(t *testing.T, cfg Config) *Lane {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l := c.Lane()
	t.Cleanup(l.Close)
	return l
}

var request = &Request{Model: "m", Prompt: "hello", MaxTokens: 16}

// observe sends one request to a server that answers with the body.
func observe(t *testing.T, body string) Observation {
	t.Helper()
	s := serve(t, "tcp", "127.0.0.1:0", whole(body))
	return lane(t, Config{BaseURL: s.url}).Do(context.Background(), request)
}

func kind(o Observation) Kind {
	if o.Failure == nil {
		return ""
	}
	return o.Failure.Kind
}

func mustBe(t *testing.T, o Observation, want Kind, contains ...string) {
	t.Helper()
	if kind(o) != want {
		t.Fatalf("kind %q, want %q: %+v", kind(o), want, o.Failure)
	}
	if o.Failure == nil {
		return
	}
	if o.Failure.Message == "" {
		t.Fatal("a failure without a message")
	}
	for _, part := range contains {
		if !strings.Contains(o.Failure.Message, part) {
			t.Errorf("message %q lacks %q", o.Failure.Message, part)
		}
	}
}

const soon = 10 * time.Second // a generous bound for what must not hang
