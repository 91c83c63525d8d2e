package client

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy is an HTTP proxy that knows CONNECT and demands a login where it has
// one.
type proxy struct {
	url      *url.URL
	tunnels  atomic.Int64
	forwards atomic.Int64
}

func startProxy(t *testing.T, login string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{url: &url.URL{Scheme: "http", Host: l.Addr().String()}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(c, login) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return p
}

func (p *proxy) serve(c net.Conn, login string) {
	defer c.Close()
	r := bufio.NewReader(c)
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	if req.Header.Get("Proxy-Authorization") != login {
		io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
		return
	}
	server, err := net.Dial("tcp", req.Host)
	if err != nil {
		io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	defer server.Close()
	if req.Method == http.MethodConnect {
		p.tunnels.Add(1)
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	} else {
		if !req.URL.IsAbs() {
			return // no proxy request
		}
		p.forwards.Add(1)
		req.Header.Del("Proxy-Authorization")
		if req.Write(server) != nil {
			return
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(server, r)
		server.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(c, server)
	c.Close()
	<-done
}

func TestThroughAProxy(t *testing.T) {
	plain := serve(t, "tcp", "127.0.0.1:0", whole(ok))
	secure, trust := secureServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ok)
	})
	open := startProxy(t, "")
	mustBe(t, lane(t, Config{BaseURL: plain.url, Proxy: open.url}).Do(context.Background(), request), "")
	mustBe(t, lane(t, Config{BaseURL: secure.URL + "/v1", TLS: trust, Proxy: open.url}).Do(context.Background(), request), "")
	if open.forwards.Load() != 1 || open.tunnels.Load() != 1 {
		t.Errorf("%d forwards, %d tunnels", open.forwards.Load(), open.tunnels.Load())
	}

	guarded := startProxy(t, "Basic dXNlcjpwYXNzLUNBTkFSWQ==") // user:pass-CANARY
	known := *guarded.url
	known.User = url.UserPassword("user", "pass-CANARY")
	mustBe(t, lane(t, Config{BaseURL: plain.url, Proxy: &known}).Do(context.Background(), request), "")
	mustBe(t, lane(t, Config{BaseURL: secure.URL + "/v1", TLS: trust, Proxy: &known}).Do(context.Background(), request), "")
	mustBe(t, lane(t, Config{BaseURL: secure.URL + "/v1", TLS: trust, Proxy: guarded.url}).Do(context.Background(), request), KindProxy, "407")
	mustBe(t, lane(t, Config{BaseURL: plain.url, Proxy: guarded.url}).Do(context.Background(), request), KindHTTPStatus, "407")

	for text, why := range map[string]string{"socks5://127.0.0.1:1": "only http proxies", "https://u:pass-CANARY@127.0.0.1:1": "only http proxies"} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(Config{BaseURL: plain.url, Proxy: u}); err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: %v", text, err)
		}
	}
	dead := serve(t, "tcp", "127.0.0.1:0", whole(ok))
	u, _ := url.Parse(dead.url)
	mustBe(t, lane(t, Config{BaseURL: "https://127.0.0.1:1/v1", Proxy: u, Timeout: Timeout{Connect: soon}}).Do(context.Background(), request), KindProxy, u.Host)
}

func TestOverAUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s := serve(t, "unix", path, func(_ *script, c net.Conn, _ int) bool {
		io.WriteString(c, chunked+inChunk(ok)+lastChunk)
		return true
	})
	l := lane(t, Config{BaseURL: "http://127.0.0.1/v1", Socket: path})
	for i := range 2 {
		o := l.Do(context.Background(), request)
		mustBe(t, o, "")
		if o.Reused != (i == 1) {
			t.Errorf("request %d: reused %v", i, o.Reused)
		}
	}
	if _, head := s.last(); head == nil {
		t.Error("nothing came")
	}
	mustBe(t, lane(t, Config{BaseURL: "http://127.0.0.1/v1", Socket: path + "x"}).Do(context.Background(), request), KindDial, "no such file")
}

func TestHeaders(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
		io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 20\r\n\r\nbad key azure-CANARY")
		return false
	})
	o := lane(t, Config{BaseURL: s.url, Headers: []Header{{Name: "X-Route", Value: "a b"}, {Name: "Api-Key", Value: "azure-CANARY", Secret: true}}}).Do(context.Background(), request)
	mustBe(t, o, KindHTTPStatus, "bad key [key]")
	if strings.Contains(o.Failure.Message, "CANARY") {
		t.Errorf("a secret header in %q", o.Failure.Message)
	}
	if _, head := s.last(); head.Get("X-Route") != "a b" || head.Get("Api-Key") != "azure-CANARY" {
		t.Errorf("%v", head)
	}
	for _, h := range []Header{{Name: "a b", Value: "x"}, {Name: "A", Value: "x\r\nB: y"}, {Name: "", Value: "x"}} {
		if _, err := New(Config{BaseURL: s.url, Headers: []Header{h}}); err == nil || !strings.Contains(err.Error(), "HTTP allows") {
			t.Errorf("%+v: %v", h, err)
		}
	}
}

func TestFreshConnections(t *testing.T) {
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
		io.WriteString(c, chunked+inChunk(ok)+lastChunk)
		return true
	})
	l := lane(t, Config{BaseURL: s.url, Fresh: true})
	l.Open(context.Background())
	for range 3 {
		o := l.Do(context.Background(), request)
		mustBe(t, o, "")
		if o.Reused || o.Connect <= 0 {
			t.Errorf("reused %v, connect %v", o.Reused, o.Connect)
		}
	}
	if n := s.conns.Load(); n != 3 {
		t.Errorf("%d connections for 3 requests, the first one opened ahead", n)
	}
}

// Where the kernel tells when bytes came, a read that is late does not make
// them late.
func TestALateReadIsNoLateArrival(t *testing.T) {
	const asleep = 80 * time.Millisecond
	wrote := make(chan time.Time, 1)
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
		wrote <- time.Now()
		io.WriteString(c, "x")
		time.Sleep(4 * asleep)
		return false
	})
	raw, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	watch := &Watch{NewLag(), NewLag()}
	c := &conn{Conn: raw, stamps: stamp(raw), watch: watch}
	if c.stamps == nil {
		t.Skip("the kernel does not tell here when bytes came")
	}
	time.Sleep(asleep) // the kernel takes a moment to begin
	c.begin(Timeout{})
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	sent := <-wrote
	time.Sleep(asleep)
	if n, err := c.Read(make([]byte, 10)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if late := c.last.Sub(c.arrived); late < asleep/2 || c.arrived.Before(sent) {
		t.Errorf("read %v after the arrival, which was %v after the write", late, c.arrived.Sub(sent))
	}
	if watch.Read.Count() != 1 || watch.Read.Max() < asleep/2 {
		t.Errorf("%+v", watch.Read.Figures())
	}
}

// A limit that has not moved fires; one that bytes have moved does not.
func TestDeadlinesFollowTheBytes(t *testing.T) {
	const limit = 200 * time.Millisecond
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
		io.WriteString(c, chunked)
		for range 12 { // each well within the limit, all of them far beyond it
			time.Sleep(limit / 4)
			io.WriteString(c, inChunk(d(`{"content":"a"}`)))
		}
		time.Sleep(10 * limit)
		return false
	})
	o := lane(t, Config{BaseURL: s.url, Timeout: Timeout{Idle: limit, FirstByte: soon, FirstOutput: soon}}).Do(context.Background(), request)
	mustBe(t, o, KindTimeoutIdle, "nothing moved for 200ms")
	if o.ContentChunks != 12 || o.End < 12*limit/4+limit*9/10 {
		t.Errorf("%d chunks, ended after %v", o.ContentChunks, o.End)
	}
}

func TestArrivals(t *testing.T) {
	var a Arrivals
	want := []time.Duration{5, 5, 70 * time.Millisecond, 70*time.Millisecond + 1, 5 * time.Hour}
	for i, at := range want {
		a.add(at, Output(i%3))
	}
	i := 0
	for at, kind := range a.All() {
		if at != want[i] || kind != Output(i%3) {
			t.Errorf("%d: %v %v", i, at, kind)
		}
		i++
	}
	var gaps []time.Duration
	for gap := range a.Gaps() {
		gaps = append(gaps, gap)
	}
	if i != a.Len() || fmt.Sprint(gaps) != fmt.Sprint([]time.Duration{0, 70*time.Millisecond - 5, 1, 5*time.Hour - 70*time.Millisecond - 1}) {
		t.Errorf("%d arrivals, gaps %v", i, gaps)
	}
	for range new(Arrivals).Gaps() {
		t.Error("a gap of nothing")
	}
}

func TestLag(t *testing.T) {
	l, other := NewLag(), NewLag()
	for i := range 100 {
		l.Add(time.Duration(i+1) * time.Millisecond)
	}
	l.Add(-time.Second)
	other.Add(time.Hour)
	f := l.Figures()
	if f.Count != 101 || f.Max != 100 || f.Mean < 49.9 || f.Mean > 50.1 || f.P50 < 47 || f.P50 > 54 || f.P99 < 94 || f.P99 > 100 {
		t.Errorf("%+v", f)
	}
	l.Merge(other)
	if l.Count() != 102 || l.Max() != longestLag {
		t.Errorf("%d, %v", l.Count(), l.Max())
	}
	if f := NewLag().Figures(); f != (Figures{}) {
		t.Errorf("nothing became %+v", f)
	}
}

func TestTokenize(t *testing.T) {
	var answer atomic.Value
	s := serve(t, "tcp", "127.0.0.1:0", func(_ *script, c net.Conn, _ int) bool {
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(answer.Load().(string)), answer.Load())
		return false
	})
	c, err := New(Config{BaseURL: s.url, APIKey: "k-12345"})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		answer string
		n      int
		fails  string
	}{
		{`{"count":7,"max_model_len":10,"tokens":[1,2]}`, 7, ""}, // vLLM, SGLang
		{`{"tokens":[1,2,3]}`, 3, ""},                            // llama.cpp
		{`{"tokens":[{"id":1,"piece":"a"}]}`, 1, ""},
		{`{"tokens":[]}`, 0, "neither count nor tokens"},
		{`oops`, 0, "not understood"},
	} {
		answer.Store(one.answer)
		n, failure := c.Tokenize(context.Background(), "m", "some text")
		if n != one.n || (failure != nil) != (one.fails != "") || failure != nil && !strings.Contains(failure.Message, one.fails) {
			t.Errorf("%s: %d, %v", one.answer, n, failure)
		}
	}
	if body, head := s.last(); !strings.Contains(body, `"prompt":"some text"`) || !strings.Contains(body, `"content":"some text"`) || head.Get("Authorization") != "Bearer k-12345" {
		t.Errorf("%s %v", body, head)
	}
}
