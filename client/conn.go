package client

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// conn is a connection that tells when bytes came and enforces the limits of
// the phase it is in.
type conn struct {
	net.Conn
	limits  Timeout
	start   time.Time // of the request
	written time.Time // when the request was out; zero while it is written
	last    time.Time // when the last read returned
	read    int64     // bytes since start
	fired   Kind      // the limit that ended a read or write
	aborted atomic.Bool
}

// begin starts a request's clock. It is the last thing before the request is
// written.
func (c *conn) begin() {
	c.written, c.read, c.fired = time.Time{}, 0, ""
	c.start = time.Now()
	c.last = c.start
}

// Read waits for bytes until the nearest limit and notes when they came.
func (c *conn) Read(p []byte) (int, error) {
	deadline, kind := c.deadline()
	if err := c.SetReadDeadline(deadline); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.last = time.Now()
	c.read += int64(n)
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		c.fired = kind
	}
	return n, err
}

// Write sends bytes under the idle and total limits: a server that takes
// nothing has stalled.
func (c *conn) Write(p []byte) (int, error) {
	deadline, kind := c.nearest(time.Now(), c.limits.Idle, KindTimeoutIdle)
	if err := c.SetWriteDeadline(deadline); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		c.fired = kind
	}
	return n, err
}

func (c *conn) deadline() (time.Time, Kind) {
	if c.read == 0 && !c.written.IsZero() {
		return c.nearest(c.written, c.limits.FirstByte, KindTimeoutFirstByte)
	}
	return c.nearest(c.last, c.limits.Idle, KindTimeoutIdle)
}

// nearest is the earlier of a phase's limit and the total one.
func (c *conn) nearest(from time.Time, limit time.Duration, kind Kind) (time.Time, Kind) {
	var at time.Time
	if limit > 0 {
		at = from.Add(limit)
	}
	if c.limits.Total > 0 {
		if total := c.start.Add(c.limits.Total); at.IsZero() || total.Before(at) {
			return total, KindTimeoutTotal
		}
	}
	return at, kind
}

// abort ends whatever the connection is doing, from another goroutine.
func (c *conn) abort() {
	c.aborted.Store(true)
	_ = c.Conn.Close() // it is closed to be interrupted; there is nobody to tell
}
