package client

import (
	"bufio"
	"context"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// Lane is one worker's connection: kept alive between requests, opened anew
// when it is not fit to carry one. It is not safe for concurrent use.
type Lane struct {
	Watch Watch // how late the lane itself was, over all its requests

	client  *Client
	raw     net.Conn      // what quiet looks at
	conn    *conn         // nil when there is none
	opening time.Duration // what opening it took, until a request has told
	fresh   bool          // no request has used it
	reader  *bufio.Reader
	writer  *bufio.Writer
	secure  net.Conn // conn, or TLS over it
	source  source   // secure, as reader reads it
	stream  *stream
	buffer  []byte // of the body, while it is read
}

// Watch is a lane's own lateness.
type Watch struct {
	Read    *Lag // from the kernel taking bytes in until our read returned; empty where the kernel does not tell
	Handled *Lag // from a read's return until its events were handled and the next read began
}

const readBuffer = 32 << 10

// Lane opens one worker's lane. The connection is opened when it is needed.
func (c *Client) Lane() *Lane {
	l := &Lane{client: c, Watch: Watch{NewLag(), NewLag()}, stream: newStream(c), buffer: make([]byte, readBuffer)}
	l.reader, l.writer = bufio.NewReaderSize(&l.source, readBuffer), bufio.NewWriter(nil)
	return l
}

// Close closes the lane's connection.
func (l *Lane) Close() {
	if l.conn != nil {
		// Without TLS's goodbye: it would wait for a server that takes nothing.
		_ = l.raw.Close() // nothing is in flight; there is nothing left to lose
		l.conn = nil
	}
}

// Open opens the connection ahead of the first request, which will report how
// long that took. An error is left to that request, which tries once more.
func (l *Lane) Open(ctx context.Context) {
	_ = l.connect(ctx)
}

// connect makes sure that there is a connection fit for a request.
func (l *Lane) connect(ctx context.Context) error {
	if l.conn != nil && !l.conn.aborted.Load() && l.reader.Buffered() == 0 && quiet(l.raw) && (l.fresh || !l.client.cfg.Fresh) {
		return nil
	}
	l.Close()
	begin := time.Now()
	defer func() { l.opening = time.Since(begin) }()
	raw, secure, timed, err := l.client.dial(ctx, &l.Watch)
	if err != nil {
		return err
	}
	l.raw, l.conn, l.secure, l.source, l.fresh = raw, timed, secure, source{Reader: secure}, true
	l.reader.Reset(&l.source)
	l.writer.Reset(secure)
	return nil
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
	err = l.connect(ctx)
	o.Connect, o.Reused = l.opening, l.conn != nil && !l.fresh
	l.opening, l.fresh = 0, false
	if err != nil {
		o.Start, o.Failure = time.Now(), l.client.connectFailure(ctx, err)
		return o
	}
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	l.client.prepare(req, fasthttp.MethodPost, l.client.prefix+"/chat/completions")
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
	if !stop() || !clean || l.client.cfg.Fresh || active.rest() != nil {
		l.Close()
	}
	return o
}
