package client

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	// drainLimit and drainTime bound what is read after [DONE] so that the
	// connection can be used again.
	drainLimit = 64 << 10
	drainTime  = 250 * time.Millisecond
	// errorLimit and errorTime bound what is read of a body that is no stream.
	errorLimit = 64 << 10
	errorTime  = 5 * time.Second
)

// exchange writes the request and reads the response into the observation. It
// reports whether the connection can carry another request.
func (l *Lane) exchange(ctx context.Context, req *fasthttp.Request, resp *fasthttp.Response, o *Observation) (clean bool) {
	if failure := l.ask(ctx, req, resp, "reading the response's header"); failure != nil {
		l.fail(o, failure)
		if o.Reused && failure.Kind == KindProtocol && l.reader.Buffered() == 0 {
			failure.Kind = KindConnStale
		}
		return false
	}
	defer func() {
		if o.Failure != nil {
			o.Failure.Status = resp.StatusCode()
		}
		if err := resp.CloseBodyStream(); err != nil {
			clean = false
		}
	}()
	raw := responseBody(resp)
	body, coding := raw, string(resp.Header.ContentEncoding())
	if coding != "" && coding != "identity" {
		var err error
		if body, err = decoded(coding, raw); err != nil {
			l.fail(o, l.client.fail(KindProtocol, err.Error()))
			return false
		}
	}
	if failure := l.refused(resp, body); failure != nil {
		l.fail(o, failure)
		return false
	}
	whole := l.receive(ctx, resp, body, o)
	if body != raw {
		l.stream.warn(fmt.Sprintf("the stream came compressed (%s) though identity was asked for: chunks came in the compressor's lumps", coding))
	}
	return whole && l.drain(resp, raw)
}

// ask writes the request and reads the response's header.
func (l *Lane) ask(ctx context.Context, req *fasthttp.Request, resp *fasthttp.Response, doing string) *Failure {
	resp.StreamBody = true
	resp.Header.SetNoDefaultContentType(true)
	unsent := req.Write(l.writer)
	if unsent == nil {
		unsent = l.writer.Flush()
	}
	var failure *Failure
	if unsent != nil {
		failure = l.transportFailure(ctx, unsent, "sending the request")
		if failure.Kind != KindProtocol {
			return failure
		}
	}
	// A server may refuse a request before it has taken the whole of it; its
	// answer says more than the broken pipe.
	l.conn.sent()
	err := resp.ReadLimitBody(l.reader, 0)
	switch {
	case unsent != nil && (err != nil || resp.StatusCode() == fasthttp.StatusOK):
		return failure
	case err != nil:
		return l.transportFailure(ctx, err, doing)
	}
	l.conn.heading = false
	return nil
}

// responseBody is empty where the status allows no body.
func responseBody(resp *fasthttp.Response) io.Reader {
	if body := resp.BodyStream(); body != nil {
		return body
	}
	return eof{}
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// fail closes the observation of a request that broke off now.
func (l *Lane) fail(o *Observation, failure *Failure) {
	o.End = time.Since(o.Start)
	o.Failure = failure
}

// receive reads the event stream and closes the observation. It reports
// whether the stream came whole.
func (l *Lane) receive(ctx context.Context, resp *fasthttp.Response, body io.Reader, o *Observation) bool {
	defer l.conn.handled()
	s := l.stream
	s.begin(o, string(resp.Header.ContentType()))
	for !s.ended {
		n, err := body.Read(l.buffer)
		if n > 0 {
			s.feed(l.buffer[:n], l.conn.arrived.Sub(o.Start))
			l.conn.silent = o.FirstOutput == nil && o.FirstTool == nil
		}
		switch {
		case s.ended || err == nil:
		case err == io.EOF:
			o.End = l.conn.last.Sub(o.Start)
			s.finish()
			return o.Failure == nil
		default:
			s.flush()
			failure := l.transportFailure(ctx, err, "reading the stream")
			if failure.Kind == KindProtocol && l.source.ended != nil {
				failure.Kind = KindTruncated
			}
			l.fail(o, failure)
			return false
		}
	}
	s.finish()
	return o.Failure == nil
}

// drain reads what follows [DONE], outside of every measurement, so that the
// connection can be used again.
func (l *Lane) drain(resp *fasthttp.Response, body io.Reader) bool {
	if resp.ConnectionClose() || l.client.cfg.Fresh {
		return false
	}
	l.conn.within(drainTime)
	n, err := io.Copy(io.Discard, io.LimitReader(body, drainLimit))
	return err == nil && n < drainLimit
}

// refused turns a response that is no event stream into its failure.
func (l *Lane) refused(resp *fasthttp.Response, body io.Reader) *Failure {
	c := l.client
	kind, status := KindHTTPStatus, resp.StatusCode()
	contentType := string(resp.Header.ContentType())
	switch {
	case status != fasthttp.StatusOK:
	case isMedia(contentType, "application/json"):
		kind = KindNotStreaming
	case isMedia(contentType, "text/html"):
		kind = KindNotEventStream
	default:
		return nil
	}
	l.conn.within(errorTime)
	text, err := io.ReadAll(io.LimitReader(body, errorLimit))
	if status == fasthttp.StatusOK && err == nil && len(text) == 0 {
		kind = KindEmptyStream
	}
	failure := c.answered(kind, status, contentType, text)
	if err != nil {
		failure.Message = c.clip(failure.Message + " (its body broke off: " + err.Error() + ")")
	}
	failure.RetryAfter = c.clip(string(resp.Header.Peek("Retry-After")))
	return failure
}
