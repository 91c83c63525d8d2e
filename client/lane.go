package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// Lane is one worker's connection: kept alive between requests, opened anew
// when it is not fit to carry one. It is not safe for concurrent use.
type Lane struct {
	client *Client
	raw    net.Conn // what quiet looks at
	conn   *conn    // nil when there is none
	reader *bufio.Reader
	writer *bufio.Writer
	stream net.Conn // conn, or TLS over it
	source source   // stream, as reader reads it
	buffer []byte   // of the body, while it is read
}

const readBuffer = 32 << 10

// Close closes the lane's connection.
func (l *Lane) Close() {
	if l.conn != nil {
		// Without TLS's goodbye: it would wait for a server that takes nothing.
		_ = l.raw.Close() // nothing is in flight; there is nothing left to lose
		l.conn = nil
	}
}

// connect makes sure that there is a connection fit for a request and reports
// how long opening took, or that it had served before.
func (l *Lane) connect(ctx context.Context) (took time.Duration, reused bool, err error) {
	if l.conn != nil && !l.conn.aborted.Load() && l.reader.Buffered() == 0 && quiet(l.raw) {
		return 0, true, nil
	}
	l.Close()
	c := l.client
	begin := time.Now()
	if limit := c.cfg.Timeout.Connect; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errConnectTimeout)
		defer cancel()
	}
	// The dialer tries both address families where a name has both.
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", c.address)
	if err != nil {
		return time.Since(begin), false, &connectError{err: err, ctx: ctx}
	}
	timed := &conn{Conn: raw}
	var stream net.Conn = timed
	if c.tls {
		secure := tls.Client(timed, &tls.Config{ServerName: c.name, MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(ctx); err != nil {
			return time.Since(begin), false, errors.Join(&connectError{err: err, ctx: ctx, tls: true}, raw.Close())
		}
		stream = secure
	}
	l.raw, l.conn, l.stream, l.source = raw, timed, stream, source{Reader: stream}
	if l.reader == nil {
		l.reader, l.writer = bufio.NewReaderSize(&l.source, readBuffer), bufio.NewWriter(stream)
	} else {
		l.reader.Reset(&l.source)
		l.writer.Reset(stream)
	}
	return time.Since(begin), false, nil
}

// Do sends the request and reads its stream to the end. It never returns an
// error: what went wrong is the observation's failure.
func (l *Lane) Do(ctx context.Context, request *Request) Observation {
	o := Observation{Start: time.Now()}
	payload, err := request.Body()
	if err != nil {
		o.Failure = l.client.fail(KindProtocol, "the request is not JSON: "+err.Error())
		return o
	}
	if ctx.Err() != nil {
		o.Failure = l.client.fail(KindCancelled, "not sent: "+context.Cause(ctx).Error())
		return o
	}
	o.Connect, o.Reused, err = l.connect(ctx)
	if err != nil {
		o.Start, o.Failure = time.Now(), l.client.connectFailure(ctx, err)
		return o
	}
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	l.client.prepare(req, fasthttp.MethodPost, "/chat/completions")
	req.Header.SetContentType("application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.SetBodyRaw(payload)
	resp.StreamBody = true

	active := l.conn
	stop := context.AfterFunc(ctx, active.abort)
	active.begin(l.client.cfg.Timeout)
	o.Start, o.Sent = active.start, int64(len(payload))
	clean := l.exchange(ctx, req, resp, &o)
	o.BytesRead = active.read
	if !stop() || !clean || active.rest() != nil {
		l.Close()
	}
	return o
}
