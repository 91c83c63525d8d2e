package client

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// sayAndHang answers with the given bytes and then keeps the connection open.
func sayAndHang(answer string) func(*script, net.Conn, int) bool {
	return func(_ *script, c net.Conn, _ int) bool {
		io.WriteString(c, answer)
		io.Copy(io.Discard, c) // until the client gives up
		return false
	}
}

// What a stalled stream brought before it stalled keeps the time it came at,
// also when its HTTP chunk was never closed.
func TestTheTimeOfAnEventIsNotTheTimeOfTheStall(t *testing.T) {
	const limit = 400 * time.Millisecond
	s := serve(t, "tcp", "127.0.0.1:0", sayAndHang(chunked+strings.TrimSuffix(inChunk(d(`{"content":"a"}`)), "\r\n")))
	o := lane(t, Config{BaseURL: s.url, Timeout: Timeout{Idle: limit}}).Do(context.Background(), request)
	mustBe(t, o, KindTimeoutIdle, limit.String())
	if o.FirstContent == nil || o.End < limit || o.End-*o.FirstContent < limit/2 {
		t.Errorf("content at %v, failed at %v: the stall lies between them", o.FirstContent, o.End)
	}
	if o.Failure.Status != 200 {
		t.Errorf("status %d, want the 200 that was read", o.Failure.Status)
	}
}

// A server may answer before it has read the request; its answer is what
// counts, not the write that broke.
func TestAnAnswerBeforeTheRequestIsRead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan bool)
	go func() {
		defer close(done)
		for _, answer := range []string{"HTTP/1.1 413 Too Large\r\nContent-Length: 7\r\nConnection: close\r\n\r\nshorten", ""} {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.ReadFull(c, make([]byte, 1000))
			io.WriteString(c, answer)
			time.Sleep(100 * time.Millisecond) // the rest of the request is in flight and will be refused
			c.Close()
		}
	}()
	large := &Request{Model: "m", Prompt: strings.Repeat("x", 32<<20), MaxTokens: 1}
	cfg := Config{BaseURL: "http://" + l.Addr().String() + "/v1", Timeout: Timeout{Idle: soon, FirstByte: soon}}
	o := lane(t, cfg).Do(context.Background(), large)
	mustBe(t, o, KindHTTPStatus, "shorten")
	if o.Failure.Status != 413 {
		t.Errorf("status %d", o.Failure.Status)
	}
	mustBe(t, lane(t, cfg).Do(context.Background(), large), KindProtocol, "sending the request")
	<-done
}

func TestAServerThatTakesNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // connections wait in the listener's queue; nobody reads them
	const limit = 200 * time.Millisecond
	large := &Request{Model: "m", Prompt: strings.Repeat("x", 32<<20), MaxTokens: 1}
	o := lane(t, Config{BaseURL: "http://" + l.Addr().String() + "/v1", Timeout: Timeout{Idle: limit}}).Do(context.Background(), large)
	mustBe(t, o, KindTimeoutIdle, limit.String(), "sending the request")
}

func TestAResetIsATruncatedStream(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
		io.WriteString(c, chunked+inChunk(d(`{"content":"a"}`)))
		time.Sleep(50 * time.Millisecond) // a reset may discard what was not read yet
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		return false
	})
	o := lane(t, Config{BaseURL: s.url}).Do(context.Background(), request)
	mustBe(t, o, KindTruncated, "reset")
	if o.ContentChunks != 1 || o.Received {
		t.Errorf("%d chunks, received %v", o.ContentChunks, o.Received)
	}
}

func TestBrokenChunkingIsProtocol(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", sayAndHang(chunked+inChunk(d(`{"content":"a"}`))+"zz\r\n"))
	mustBe(t, lane(t, Config{BaseURL: s.url, Timeout: Timeout{Idle: soon}}).Do(context.Background(), request), KindProtocol, "reading the stream")
}

// An error's body that never ends is not waited for as long as a stream.
func TestAnErrorBodyThatNeverEnds(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", sayAndHang("HTTP/1.1 503 X\r\nContent-Length: 99\r\n\r\nbusy"))
	const limit = 300 * time.Millisecond
	o := lane(t, Config{BaseURL: s.url, Timeout: Timeout{Total: limit}}).Do(context.Background(), request)
	mustBe(t, o, KindHTTPStatus, "busy", "broke off")
}

// Nothing is drained from a connection that will be closed anyway.
func TestAClosingConnectionIsNotDrained(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", sayAndHang(untilEOF+ok))
	l := lane(t, Config{BaseURL: s.url})
	mustBe(t, l.Do(context.Background(), request), "")
	if l.conn != nil {
		t.Error("the connection was kept")
	}
}

// A limit of one request must not run out while the connection waits for the
// next one.
func TestLimitsDoNotOutliveTheirRequest(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
		io.WriteString(c, chunked+inChunk(ok))
		time.Sleep(30 * time.Millisecond)
		io.WriteString(c, lastChunk)
		return true
	})
	l := lane(t, Config{BaseURL: s.url, Timeout: Timeout{Idle: soon}})
	for i := range 2 {
		o := l.Do(context.Background(), request)
		mustBe(t, o, "")
		if o.Reused != (i > 0) {
			t.Errorf("request %d: reused %v", i, o.Reused)
		}
		time.Sleep(drainTime + 100*time.Millisecond)
	}
}

func TestEventsWithoutTheirContentType(t *testing.T) {
	for _, header := range []string{"", "Content-Type: text/plain\r\n"} {
		s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n"+header+"Connection: close\r\n\r\n"+ok)
			return false
		})
		o := lane(t, Config{BaseURL: s.url}).Do(context.Background(), request)
		mustBe(t, o, "")
		if o.Text != "a" || len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], "content type") {
			t.Errorf("%q: %+v", header, o)
		}
	}
}
