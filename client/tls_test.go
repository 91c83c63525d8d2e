package client

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func secureServer(t *testing.T, play http.HandlerFunc) (*httptest.Server, TLS) {
	s := httptest.NewUnstartedServer(play)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, TLS{CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})}
}

func TestStreamsOverTLS(t *testing.T) {
	const pause = 60 * time.Millisecond
	s, trust := secureServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w).Flush
		flush()
		time.Sleep(pause)
		io.WriteString(w, d(`{"content":"a"}`))
		flush()
		time.Sleep(pause)
		io.WriteString(w, fin(`"stop"`)+end)
	})
	l := lane(t, Config{BaseURL: s.URL + "/v1", TLS: trust, Timeout: Timeout{Connect: soon, FirstByte: soon, Idle: soon}})
	for i := range 3 {
		o := l.Do(context.Background(), request)
		mustBe(t, o, "")
		if o.Reused != (i > 0) || !o.Reused && o.Connect == 0 {
			t.Errorf("request %d: reused %v, connect %v", i, o.Reused, o.Connect)
		}
		if *o.FirstContent < pause || o.End < *o.FirstContent+pause*9/10 {
			t.Errorf("request %d: TTFT %v, E2E %v", i, *o.FirstContent, o.End)
		}
	}
}

// The goodbye of a TLS server that closes an idle connection is seen before
// the next request is written.
func TestATLSConnectionClosedWhileIdleIsNotUsed(t *testing.T) {
	var requests atomic.Int64
	s, trust := secureServer(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ok)
	})
	l := lane(t, Config{BaseURL: s.URL + "/v1", TLS: trust})
	for range 2 {
		o := l.Do(context.Background(), request)
		mustBe(t, o, "")
		if o.Reused {
			t.Error("a closed connection was used")
		}
		s.CloseClientConnections()
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestWhomTLSTrusts(t *testing.T) {
	s, trust := secureServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ok)
	})
	base := s.URL + "/v1"
	other := strings.Replace(base, "127.0.0.1", "localhost", 1) // the certificate is for 127.0.0.1 and example.com
	for _, c := range []struct {
		name, base string
		tls        TLS
		want       Kind
		contains   string
	}{
		{"the system knows no such authority", base, TLS{}, KindTLS, "certificate"},
		{"its CA is named", base, trust, "", ""},
		{"for another name", other, trust, KindTLS, "certificate"},
		{"for another name that is told", other, TLS{CA: trust.CA, ServerName: "example.com"}, "", ""},
		{"the told name is wrong", base, TLS{CA: trust.CA, ServerName: "example.org"}, KindTLS, "example.org"},
		{"anyone", other, TLS{Insecure: true}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			mustBe(t, lane(t, Config{BaseURL: c.base, TLS: c.tls, Timeout: Timeout{Connect: soon}}).Do(context.Background(), request), c.want, c.contains)
		})
	}
	if _, err := New(Config{BaseURL: base, TLS: TLS{CA: []byte("no certificate")}}); err == nil || !strings.Contains(err.Error(), "PEM") {
		t.Errorf("a CA file without a certificate: %v", err)
	}
}

// Handshakes are no part of a latency, and with connections opened ahead they
// are over before the first request.
func TestTLSConnectionsOpenedAhead(t *testing.T) {
	s, trust := secureServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ok)
	})
	c, err := New(Config{BaseURL: s.URL + "/v1", TLS: trust, Timeout: Timeout{Connect: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	const streams = 256
	var wg sync.WaitGroup
	lanes := make([]*Lane, streams)
	for i := range lanes {
		lanes[i] = c.Lane()
		wg.Go(func() { lanes[i].Open(context.Background()) })
	}
	wg.Wait()
	for _, l := range lanes {
		wg.Go(func() {
			defer l.Close()
			begin := time.Now()
			o := l.Do(context.Background(), request)
			if o.Failure != nil || o.Reused || o.Connect <= 0 {
				t.Errorf("%+v, reused %v, connect %v", o.Failure, o.Reused, o.Connect)
			}
			if o.Start.Before(begin) || o.End > time.Since(begin) {
				t.Error("connecting is in the request's time")
			}
		})
	}
	wg.Wait()
}

// Idle is a limit of responses; connecting has its own.
func TestAHandshakeThatHangs(t *testing.T) {
	const limit = 200 * time.Millisecond
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	cfg := Config{BaseURL: "https://" + deaf.Addr().String() + "/v1", Timeout: Timeout{Connect: limit, Idle: time.Nanosecond}}
	mustBe(t, lane(t, cfg).Do(context.Background(), request), KindTimeoutConnect, limit.String())
	cfg.Timeout.Connect = 0
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, errors.New("enough waited"))
	defer cancel()
	mustBe(t, lane(t, cfg).Do(ctx, request), KindCancelled, "enough waited")
}
