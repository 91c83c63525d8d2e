//go:build linux

package main

import (
	"container/heap"
	"io"
	"net"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// pacer sends the chunks of all steady streams from one thread that sleeps in
// the kernel: Go's own timers are up to a millisecond late on an idle machine,
// and the server's timing is what the client is held against.
type pacer struct {
	mu    sync.Mutex
	queue queue
}

// paced is a stream with chunks left.
type paced struct {
	conn   net.Conn
	begin  time.Time
	chunks int
	sent   int
	done   chan error
}

// due is when the next chunk is to be sent, on an absolute schedule.
func (p *paced) due() time.Time {
	return p.begin.Add(firstOutput + time.Duration(p.sent)*interval)
}

// nap is how long the pacer sleeps at most, so that new streams are seen.
const nap = 500 * time.Microsecond

// stream sends the chunks of one response and returns when they are out.
func (p *pacer) stream(s *paced) error {
	s.done = make(chan error, 1)
	p.mu.Lock()
	heap.Push(&p.queue, s)
	p.mu.Unlock()
	return <-s.done
}

func (p *pacer) run() {
	runtime.LockOSThread()
	for {
		rest := nap
		for {
			p.mu.Lock()
			if len(p.queue) == 0 {
				p.mu.Unlock()
				rest = 5 * nap
				break
			}
			next := p.queue[0]
			if wait := time.Until(next.due()); wait > 0 {
				p.mu.Unlock()
				rest = min(wait, nap)
				break
			}
			heap.Pop(&p.queue)
			p.mu.Unlock()
			p.send(next)
		}
		ts := syscall.NsecToTimespec(rest.Nanoseconds())
		_ = syscall.Nanosleep(&ts, nil) // woken early is as good
	}
}

// send writes one chunk, with the time of sending in its text.
func (p *pacer) send(s *paced) {
	text := event(strconv.FormatInt(time.Now().UnixNano(), 10) + " ")
	s.sent++
	last := s.sent == s.chunks
	if last {
		text += end(s.chunks)
	}
	_, err := io.WriteString(s.conn, text)
	if last || err != nil {
		s.done <- err
		return
	}
	p.mu.Lock()
	heap.Push(&p.queue, s)
	p.mu.Unlock()
}

// queue is a heap of streams, the next one due first.
type queue []*paced

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due().Before(q[j].due()) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push is part of heap.Interface.
func (q *queue) Push(s any) { *q = append(*q, s.(*paced)) }

// Pop is part of heap.Interface.
func (q *queue) Pop() any {
	old := *q
	s := old[len(old)-1]
	*q = old[:len(old)-1]
	return s
}
