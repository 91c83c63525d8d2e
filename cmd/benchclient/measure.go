//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"anvilsweep/client"
	"anvilsweep/sweep/metrics"
)

// result is what one process measured. Times are in milliseconds.
type result struct {
	Chunks    int
	Wall      time.Duration
	CPU       time.Duration
	PeakBytes int64 // resident
	TTFT      metrics.Distribution
	Gaps      metrics.Distribution // between a stream's chunks
	Sent      metrics.Distribution // between the server's sending of them
	Lag       metrics.Distribution // from the server's sending to our arrival
	Late      client.Figures       // from the kernel taking bytes in to our read
}

// gathered is filled by all streams.
type gathered struct {
	mu              sync.Mutex
	chunks          int
	ttft            []float64
	gaps, sent, lag *metrics.Stream
	late            *client.Lag
}

func (t task) run() (result, error) {
	g := &gathered{gaps: metrics.NewStream(), sent: metrics.NewStream(), lag: metrics.NewStream(), late: client.NewLag()}
	stream := t.client
	if t.Bare {
		stream = t.bare
	}
	open, wg := make(chan struct{}), sync.WaitGroup{}
	ready := make(chan error, t.Streams)
	failed := make(chan error, t.Streams)
	for range t.Streams {
		wg.Go(func() { failed <- stream(g, ready, open) })
	}
	for range t.Streams {
		if err := <-ready; err != nil {
			return result{}, err
		}
	}
	cpu, begin := usage(), time.Now()
	close(open)
	wg.Wait()
	r := result{Wall: time.Since(begin), CPU: usage() - cpu, PeakBytes: peak(), Chunks: g.chunks}
	close(failed)
	for err := range failed {
		if err != nil {
			return r, err
		}
	}
	r.TTFT, r.Gaps, r.Sent, r.Lag = metrics.Describe(g.ttft), g.gaps.Milliseconds(), g.sent.Milliseconds(), g.lag.Milliseconds()
	r.Late = g.late.Figures()
	return r, nil
}

func (t task) base() string {
	kind := t.Regime
	if kind == "memory" {
		kind = "flood"
	}
	return fmt.Sprintf("%s/%s/%d/v1", t.URL, kind, t.Chunks)
}

// client is one stream measured by the client, as a sweep does it.
func (t task) client(g *gathered, ready chan<- error, open <-chan struct{}) error {
	c, err := client.New(client.Config{BaseURL: t.base(), UserAgent: "anvilsweep"})
	if err != nil {
		ready <- err
		return err
	}
	lane := c.Lane()
	defer lane.Close()
	lane.Open(context.Background())
	ready <- nil
	<-open
	for range t.Requests {
		o := lane.Do(context.Background(), &client.Request{Model: "m", Prompt: "hello", MaxTokens: 16})
		if o.Failure != nil {
			return o.Failure
		}
		g.take(&o, t.Regime == "steady")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.late.Merge(lane.Watch.Read)
	return nil
}

func (g *gathered) take(o *client.Observation, stamped bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.chunks += o.ContentChunks
	g.ttft = append(g.ttft, float64(*o.FirstContent)/1e6)
	for gap := range o.Arrivals.Gaps() {
		g.gaps.Add(gap)
	}
	if !stamped {
		return
	}
	sent, before := strings.Fields(o.Text), int64(0)
	for at := range o.Arrivals.All() {
		ns, err := strconv.ParseInt(sent[0], 10, 64)
		if err != nil {
			panic("a chunk without its time: " + sent[0])
		}
		sent = sent[1:]
		g.lag.Add(time.Duration(o.Start.Add(at).UnixNano() - ns))
		if before != 0 {
			g.sent.Add(time.Duration(ns - before))
		}
		before = ns
	}
}

// bare is the floor: the same requests read by a loop that only reads and looks
// at the clock.
func (t task) bare(g *gathered, ready chan<- error, open <-chan struct{}) error {
	u, err := url.Parse(t.base())
	if err != nil {
		ready <- err
		return err
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		ready <- err
		return err
	}
	defer func() { _ = c.Close() }() // read to its end
	ready <- nil
	<-open
	body := `{"model":"m","messages":[{"role":"user","content":"hello"}],"max_tokens":16,"temperature":0,"stream":true,"stream_options":{"include_usage":true}}`
	ask := fmt.Sprintf("POST %s/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", u.Path, u.Host, len(body), body)
	buffer := make([]byte, 32<<10)
	for range t.Requests {
		start := time.Now()
		if _, err := c.Write([]byte(ask)); err != nil {
			return err
		}
		var first time.Time
		for {
			n, err := c.Read(buffer)
			now := time.Now()
			if err != nil {
				return errors.Join(errors.New("the floor's stream broke"), err)
			}
			if first.IsZero() && now.Sub(start) > firstOutput/2 {
				first = now
			}
			if bytes.HasSuffix(buffer[:n], []byte("\r\n0\r\n\r\n")) {
				break
			}
		}
		g.mu.Lock()
		g.chunks += t.Chunks
		g.ttft = append(g.ttft, float64(first.Sub(start))/1e6)
		g.mu.Unlock()
	}
	return nil
}

func usage() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func peak() int64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return r.Maxrss << 10
}
