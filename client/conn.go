package client

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// conn is a connection that tells when bytes came and enforces the limits of
// the phase it is in.
type conn struct {
	net.Conn
	stamps  *stamped // nil where the kernel does not tell when bytes came
	watch   *Watch   // of the lane
	limits  Timeout
	start   time.Time // of the request
	written time.Time // when the request was out
	heading bool      // the response's header is awaited
	silent  bool      // the first output is awaited
	armed   time.Time // the read deadline that is set; zero is none
	last    time.Time // when the last read returned
	arrived time.Time // when the bytes of the last read that brought any came
	read    int64     // bytes since start
	fresh   bool      // the last bytes are still being handled
	fired   Kind      // the limit that ended a read or write
	aborted atomic.Bool
}

// begin starts a request's clock. It is the last thing before the request is
// written.
func (c *conn) begin(limits Timeout) {
	c.limits, c.heading, c.silent, c.read, c.fired = limits, false, false, 0, ""
	c.start = time.Now()
	c.written, c.last, c.arrived = c.start, c.start, c.start
}

// sent says that the request is out and a response is due.
func (c *conn) sent() {
	c.written = time.Now()
	c.heading, c.silent = true, true
}

// within leaves the phases behind: whatever is still read ends in this time,
// and never after the total limit.
func (c *conn) within(length time.Duration) {
	length += time.Since(c.start)
	if total := c.limits.Total; total > 0 {
		length = min(length, total)
	}
	c.limits = Timeout{Total: length}
	c.silent = false
}

// rest takes the limits off a connection that waits for its next request. A
// limit that runs out in between would make it look closed.
func (c *conn) rest() error {
	c.armed = time.Time{}
	return c.SetDeadline(time.Time{})
}

// Read waits for bytes until the nearest limit and notes when they came.
func (c *conn) Read(p []byte) (int, error) {
	c.handled()
	for {
		at, before := c.readLimit(), c.last
		if err := c.arm(at.time); err != nil {
			return 0, err
		}
		n, late, err := c.receive(p)
		if n > 0 {
			c.read += int64(n)
			c.fresh = true
			// Nothing comes before what came before it: that would be the wall
			// clock set back.
			if at := c.last.Add(-late); at.After(c.arrived) {
				c.arrived = at
			}
		}
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if at.time.IsZero() || c.last.Before(at.time) {
			// Bytes have moved the limit since the deadline was set.
			c.armed, c.last = time.Time{}, before
			continue
		}
		c.fired = at.kind
		return n, err
	}
}

// handled says that the bytes read last have been looked at.
func (c *conn) handled() {
	if c.fresh {
		c.watch.Handled.Add(time.Since(c.last))
		c.fresh = false
	}
}

// arm makes sure that a deadline is set no later than the limit. An earlier one
// stays: setting a deadline for each read costs more than waking up once in
// vain.
func (c *conn) arm(limit time.Time) error {
	if c.armed.IsZero() && limit.IsZero() || !c.armed.IsZero() && !c.armed.After(limit) {
		return nil
	}
	c.armed = limit
	return c.SetReadDeadline(limit)
}

// receive reads once and tells how long the bytes had been waiting, as far as
// that is known. An error of the connection is no news about time.
func (c *conn) receive(p []byte) (n int, late time.Duration, err error) {
	if c.stamps == nil {
		n, err = c.Conn.Read(p)
		c.last = time.Now()
		return n, 0, err
	}
	n, at, err := c.stamps.read(p)
	c.last = time.Now()
	if at.IsZero() {
		return n, 0, err
	}
	late = max(0, c.last.Sub(at))
	c.watch.Read.Add(late)
	return n, late, err
}

// Write sends bytes under the idle and total limits: a server that takes
// nothing has stalled.
func (c *conn) Write(p []byte) (int, error) {
	at := c.total().or(time.Now(), c.limits.Idle, KindTimeoutIdle)
	if err := c.SetWriteDeadline(at.time); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		c.fired = at.kind
	}
	return n, err
}

// readLimit is the nearest limit of a read. Silence before the first byte is
// the engine at work and belongs to the first-byte limit alone; a header that
// never ends must not outlive that limit either.
func (c *conn) readLimit() limit {
	at := c.total()
	if c.heading {
		at = at.or(c.written, c.limits.FirstByte, KindTimeoutFirstByte)
	}
	if c.silent {
		at = at.or(c.written, c.limits.FirstOutput, KindTimeoutOutput)
	}
	if c.heading && c.read == 0 {
		return at
	}
	return at.or(c.last, c.limits.Idle, KindTimeoutIdle)
}

func (c *conn) total() limit { return limit{}.or(c.start, c.limits.Total, KindTimeoutTotal) }

// limit is a moment and what its passing is called; the zero value never
// passes.
type limit struct {
	time time.Time
	kind Kind
}

// or is the earlier of two limits; a length of zero is none.
func (l limit) or(from time.Time, length time.Duration, kind Kind) limit {
	if length <= 0 {
		return l
	}
	if at := from.Add(length); l.time.IsZero() || at.Before(l.time) {
		return limit{at, kind}
	}
	return l
}

// abort ends whatever the connection is doing, from another goroutine.
func (c *conn) abort() {
	c.aborted.Store(true)
	_ = c.Conn.Close() // it is closed to be interrupted; there is nobody to tell
}

// source remembers why a connection has no more bytes. fasthttp wraps that
// error in ways that hide whether the connection or its content broke.
type source struct {
	io.Reader
	ended error
}

func (s *source) Read(p []byte) (n int, err error) {
	n, err = s.Reader.Read(p)
	s.ended = err
	return n, err
}
