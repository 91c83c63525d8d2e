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
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// trustTestServers makes the certificate of httptest's servers one that the
// system trusts. It works before the first handshake only.
func trustTestServers(dir string) error {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	path := dir + "/ca.pem"
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(path, block, 0o600); err != nil {
		return err
	}
	return os.Setenv("SSL_CERT_FILE", path)
}

func secureServer(t *testing.T, play http.HandlerFunc) *httptest.Server {
	s := httptest.NewUnstartedServer(play)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestStreamsOverTLS(t *testing.T) {
	const pause = 60 * time.Millisecond
	s := secureServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w).Flush
		flush()
		time.Sleep(pause)
		io.WriteString(w, d(`{"content":"a"}`))
		flush()
		time.Sleep(pause)
		io.WriteString(w, fin(`"stop"`)+end)
	})
	l := lane(t, Config{BaseURL: s.URL + "/v1", Timeout: Timeout{Connect: soon, FirstByte: soon, Idle: soon}})
	for i := range 3 {
		o := l.Do(context.Background(), request)
		if kind(o) == KindTLS && i == 0 {
			t.Skipf("this system takes its trust from elsewhere: %v", o.Failure)
		}
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
	s := secureServer(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ok)
	})
	l := lane(t, Config{BaseURL: s.URL + "/v1"})
	for i := range 2 {
		o := l.Do(context.Background(), request)
		if kind(o) == KindTLS && i == 0 {
			t.Skipf("this system takes its trust from elsewhere: %v", o.Failure)
		}
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

func TestACertificateForAnotherName(t *testing.T) {
	s := secureServer(t, func(http.ResponseWriter, *http.Request) {})
	other := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	mustBe(t, lane(t, Config{BaseURL: other, Timeout: Timeout{Connect: soon}}).Do(context.Background(), request), KindTLS, "certificate")
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
