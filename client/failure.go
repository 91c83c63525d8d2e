package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"
)

const (
	messageLimit = 2048 // characters of a failure's message
	excerptLimit = 512  // characters of a server's own text in it
	excerptBytes = 4096 // from which the excerpt is made
)

// fail makes a failure with the key taken out of its message.
func (c *Client) fail(kind Kind, text string) *Failure {
	return &Failure{Kind: kind, Message: c.clip(text)}
}

// clip scrubs, then shortens, so that no key survives in part.
func (c *Client) clip(text string) string {
	return shorten(c.secret.hide(text), messageLimit)
}

// shorten cuts at a character, not inside one.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit])
}

// excerpt shows how a body or a header begins, of which not all may be there.
func (c *Client) excerpt(raw []byte) string {
	text := c.secret.hideCut(string(raw[:min(len(raw), excerptBytes)]))
	return shorten(strings.TrimSpace(strings.ToValidUTF8(text, "�")), excerptLimit)
}

func (c *Client) connectFailure(ctx context.Context, err error) *Failure {
	var at *connectError
	errors.As(err, &at)
	var dns *net.DNSError
	switch {
	case ctx.Err() != nil:
		return c.fail(KindCancelled, "stopped while connecting: "+context.Cause(ctx).Error())
	case at != nil && errors.Is(context.Cause(at.ctx), errConnectTimeout), errors.Is(err, os.ErrDeadlineExceeded):
		return c.fail(KindTimeoutConnect, fmt.Sprintf("no connection to %s within %s", c.address, c.cfg.Timeout.Connect))
	case at != nil && at.proxy:
		return c.fail(KindProxy, err.Error())
	case at != nil && at.tls:
		return c.fail(KindTLS, fmt.Sprintf("TLS handshake with %s: %v", c.address, err))
	case errors.As(err, &dns):
		return c.fail(KindDNS, err.Error())
	}
	return c.fail(KindDial, err.Error())
}

// transportFailure names an error on an open connection by the limit that
// fired, by our own cancelling, or else as broken protocol.
func (l *Lane) transportFailure(ctx context.Context, err error, doing string) *Failure {
	c, limits := l.client, l.client.cfg.Timeout
	switch {
	case l.conn.aborted.Load() && ctx.Err() != nil:
		return c.fail(KindCancelled, fmt.Sprintf("stopped while %s: %v", doing, context.Cause(ctx)))
	case l.conn.fired == KindTimeoutFirstByte && l.conn.read == 0:
		return c.fail(KindTimeoutFirstByte, fmt.Sprintf("no byte of a response within %s", limits.FirstByte))
	case l.conn.fired == KindTimeoutFirstByte:
		return c.fail(KindTimeoutFirstByte, fmt.Sprintf("a response began, but its header was not whole within %s", limits.FirstByte))
	case l.conn.fired == KindTimeoutOutput && l.conn.read == 0:
		return c.fail(KindTimeoutOutput, fmt.Sprintf("no byte of a response within %s", limits.FirstOutput))
	case l.conn.fired == KindTimeoutOutput:
		return c.fail(KindTimeoutOutput, fmt.Sprintf("a response began, but no output came within %s", limits.FirstOutput))
	case l.conn.fired == KindTimeoutIdle:
		return c.fail(KindTimeoutIdle, fmt.Sprintf("nothing moved for %s while %s", limits.Idle, doing))
	case l.conn.fired == KindTimeoutTotal:
		return c.fail(KindTimeoutTotal, fmt.Sprintf("the request took longer than %s, stopped while %s", limits.Total, doing))
	case errors.Is(l.source.ended, io.EOF):
		return c.fail(KindProtocol, doing+": the server closed the connection")
	case l.source.ended != nil:
		return c.fail(KindProtocol, fmt.Sprintf("%s: %v", doing, l.source.ended))
	case l.conn.heading:
		return c.fail(KindProtocol, l.badHeader(err))
	}
	return c.fail(KindProtocol, fmt.Sprintf("%s: its body is broken: %v", doing, err))
}

// badHeader shows the header itself: fasthttp's error quotes it cut, and a cut
// may leave half of a key.
func (l *Lane) badHeader(err error) string {
	var small *fasthttp.ErrSmallBuffer
	if errors.As(err, &small) {
		return fmt.Sprintf("the response's header is longer than %d bytes", readBuffer)
	}
	header, _ := l.reader.Peek(l.reader.Buffered()) // what is buffered can be peeked at
	return "the response's header is not HTTP; it begins: " + l.client.excerpt(header)
}

// answered makes the failure of a whole answer that is not a stream: the
// server's own message where it sent one, else an excerpt.
func (c *Client) answered(kind Kind, status int, contentType string, body []byte) *Failure {
	said := serverMessage(body)
	if said != "" && kind == KindNotStreaming {
		kind = KindServerError
	}
	text := fmt.Sprintf("HTTP %d", status)
	switch {
	case status >= 300 && status < 400:
		text += ", a redirect, and redirects are not followed"
	case kind == KindNotStreaming:
		text += " with one JSON completion to a request for a stream"
	case kind == KindEmptyStream:
		text += " and not one byte after it"
	case kind == KindNotEventStream && contentType == "":
		text += " without a content type and without one event"
	case kind == KindNotEventStream:
		text += fmt.Sprintf(" with %q instead of an event stream", contentType)
	}
	if said = shorten(c.secret.hide(strings.TrimSpace(said)), excerptLimit); said == "" {
		said = c.excerpt(body)
	}
	if said != "" {
		text += ": " + said
	}
	f := c.fail(kind, text)
	f.Status = status
	return f
}

// serverMessage finds the message of an OpenAI-style error object, or of the
// plain forms other servers use.
func serverMessage(body []byte) string {
	var doc struct {
		Error   json.RawMessage `json:"error"`
		Object  string          `json:"object"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return ""
	}
	if said := errorText(doc.Error); said != "" {
		return said
	}
	if doc.Object == "error" && doc.Message != "" {
		return doc.Message
	}
	return errorText(doc.Detail)
}

// errorText reads an error value: an object with a message, a text, or
// anything else as it stands.
func errorText(raw json.RawMessage) string {
	switch string(raw) {
	case "", "null", "{}", `""`, "false", "0", "[]":
		return ""
	}
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &object) == nil && object.Message != "" {
		return object.Message
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func isMedia(contentType, want string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == want
}
