package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
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
	buffer []byte   // of the body, while it is read
}

const (
	readBuffer = 32 << 10
	// drainLimit and drainTime bound what is read after [DONE] so that the
	// connection can be used again.
	drainLimit = 64 << 10
	drainTime  = 250 * time.Millisecond
	errorLimit = 64 << 10 // of an error's body
)

// Close closes the lane's connection.
func (l *Lane) Close() {
	if l.conn != nil {
		_ = l.stream.Close() // nothing is in flight; there is nothing left to lose
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
	timed := &conn{Conn: raw, limits: c.cfg.Timeout}
	var stream net.Conn = timed
	if c.tls {
		secure := tls.Client(timed, &tls.Config{ServerName: c.name, MinVersion: tls.VersionTLS12})
		timed.begin()
		if err := secure.HandshakeContext(ctx); err != nil {
			return time.Since(begin), false, errors.Join(&connectError{err: err, ctx: ctx, tls: true}, raw.Close())
		}
		stream = secure
	}
	l.raw, l.conn, l.stream = raw, timed, stream
	if l.reader == nil {
		l.reader, l.writer = bufio.NewReaderSize(stream, readBuffer), bufio.NewWriter(stream)
	} else {
		l.reader.Reset(stream)
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
	active.begin()
	o.Start, o.Sent = active.start, int64(len(payload))
	clean := l.exchange(ctx, req, resp, &o)
	o.BytesRead = active.read
	if !stop() || !clean || resp.ConnectionClose() {
		l.Close()
	}
	return o
}

// exchange writes the request and reads the response into the observation. It
// reports whether the connection can carry another request.
func (l *Lane) exchange(ctx context.Context, req *fasthttp.Request, resp *fasthttp.Response, o *Observation) (clean bool) {
	if err := l.send(req); err != nil {
		l.end(o)
		o.Failure = l.transportFailure(ctx, err, "sending the request")
		if o.Reused && o.Failure.Kind == KindProtocol {
			o.Failure.Kind = KindConnStale
		}
		return false
	}
	l.conn.written = time.Now()
	if err := resp.ReadLimitBody(l.reader, 0); err != nil {
		l.end(o)
		o.Failure = l.transportFailure(ctx, err, "reading the response's header")
		if o.Reused && o.Failure.Kind == KindProtocol && l.conn.read == 0 {
			o.Failure.Kind = KindConnStale
		}
		return false
	}
	stream := resp.BodyStream()
	defer func() {
		if err := resp.CloseBodyStream(); err != nil {
			clean = false
		}
	}()
	if failure := l.refused(resp, stream); failure != nil {
		l.end(o)
		o.Failure = failure
		return false
	}
	return l.receive(ctx, stream, o)
}

func (l *Lane) send(req *fasthttp.Request) error {
	if err := req.Write(l.writer); err != nil {
		return err
	}
	return l.writer.Flush()
}

func (l *Lane) end(o *Observation) { o.End = l.conn.last.Sub(o.Start) }

// receive reads the event stream and closes the observation.
func (l *Lane) receive(ctx context.Context, body io.Reader, o *Observation) (clean bool) {
	s := newStream(l.client, o)
	if l.buffer == nil {
		l.buffer = make([]byte, readBuffer)
	}
	for !s.ended {
		n, err := body.Read(l.buffer)
		if n > 0 {
			s.feed(l.buffer[:n], l.conn.last.Sub(o.Start))
		}
		switch {
		case s.ended || err == nil:
		case err == io.EOF:
			l.end(o)
			s.finish()
			return o.Failure == nil
		default:
			s.flush()
			l.end(o)
			failure := l.transportFailure(ctx, err, "reading the stream")
			if failure.Kind == KindProtocol && errors.Is(err, io.ErrUnexpectedEOF) {
				failure.Kind = KindTruncated
				failure.Message = "the connection closed in the middle of the stream"
			}
			o.Failure = failure
			return false
		}
	}
	s.finish()
	return o.Failure == nil && l.drain(body)
}

// drain reads what follows [DONE], outside of every measurement, so that the
// connection can be used again.
func (l *Lane) drain(body io.Reader) bool {
	l.conn.limits = Timeout{Total: time.Since(l.conn.start) + drainTime}
	defer func() { l.conn.limits = l.client.cfg.Timeout }()
	n, err := io.Copy(io.Discard, io.LimitReader(body, drainLimit))
	return err == nil && n < drainLimit
}

// refused turns a response that is no event stream into its failure.
func (l *Lane) refused(resp *fasthttp.Response, body io.Reader) *Failure {
	kind := KindHTTPStatus
	contentType := string(resp.Header.ContentType())
	encoding := string(resp.Header.ContentEncoding())
	status := resp.StatusCode()
	switch {
	case status != fasthttp.StatusOK:
	case encoding != "" && encoding != "identity":
		return l.client.fail(KindProtocol, fmt.Sprintf("the response is compressed (%s) though identity was asked for", encoding))
	case isMedia(contentType, "application/json"):
		kind = KindNotStreaming
	case isMedia(contentType, "text/html"):
		kind = KindNotEventStream
	default:
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(body, errorLimit))
	failure := l.client.answered(kind, status, contentType, text)
	if err != nil {
		failure.Message = l.client.clip(failure.Message + " (its body broke off: " + err.Error() + ")")
	}
	failure.RetryAfter = l.client.clip(string(resp.Header.Peek("Retry-After")))
	return failure
}
