package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/valyala/fasthttp"
)

// TLS says whom an https endpoint is trusted to be.
type TLS struct {
	CA         []byte // PEM certificates trusted instead of the system's; nil: the system's
	ServerName string // expected in the certificate; empty: the host of the URL
	Insecure   bool   // accept any certificate
}

func (t TLS) config(host string) (*tls.Config, error) {
	out := &tls.Config{
		ServerName: host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.Insecure,
		// Resumed sessions make reconnecting cheap for both sides.
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}
	if t.ServerName != "" {
		out.ServerName = t.ServerName
	}
	if t.CA != nil {
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(t.CA) {
			return nil, errors.New("the CA file holds no PEM certificate")
		}
	}
	return out, nil
}

var (
	errConnectTimeout = errors.New("the connection did not open in time")
	errProxy          = errors.New("the proxy refused")
)

// connectError is an error while the connection was opened.
type connectError struct {
	err   error
	ctx   context.Context
	tls   bool
	proxy bool
}

func (e *connectError) Error() string { return e.err.Error() }
func (e *connectError) Unwrap() error { return e.err }

// dial opens a connection: to the endpoint, its socket or its proxy, and TLS
// over it where the endpoint asks for that.
func (c *Client) dial(ctx context.Context, watch *Watch) (raw, secure net.Conn, timed *conn, err error) {
	if limit := c.cfg.Timeout.Connect; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errConnectTimeout)
		defer cancel()
	}
	network, address := "tcp", c.address
	switch {
	case c.cfg.Socket != "":
		network, address = "unix", c.cfg.Socket
	case c.cfg.Proxy != nil:
		address = hostPort(c.cfg.Proxy)
	}
	// The dialer tries both address families where a name has both.
	raw, err = new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, nil, nil, &connectError{err: err, ctx: ctx}
	}
	if c.tls != nil && c.cfg.Proxy != nil {
		if err := c.tunnel(ctx, raw); err != nil {
			return nil, nil, nil, errors.Join(&connectError{err: err, ctx: ctx, proxy: true}, raw.Close())
		}
	}
	timed = &conn{Conn: raw, stamps: stamp(raw), watch: watch}
	if c.tls == nil {
		return raw, timed, timed, nil
	}
	over := tls.Client(timed, c.tls)
	if err := over.HandshakeContext(ctx); err != nil {
		return nil, nil, nil, errors.Join(&connectError{err: err, ctx: ctx, tls: true}, raw.Close())
	}
	return raw, over, timed, nil
}

// tunnel asks a proxy for a connection to the endpoint.
func (c *Client) tunnel(ctx context.Context, raw net.Conn) error {
	defer context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })() // to be interrupted; there is nobody to tell
	ask := "CONNECT " + c.address + " HTTP/1.1\r\nHost: " + c.address + "\r\n"
	if login := proxyLogin(c.cfg.Proxy); login != "" {
		ask += "Proxy-Authorization: " + login + "\r\n"
	}
	if _, err := raw.Write([]byte(ask + "\r\n")); err != nil {
		return err
	}
	reader := bufio.NewReader(raw)
	var header fasthttp.ResponseHeader
	if err := header.Read(reader); err != nil {
		return fmt.Errorf("the proxy %s does not answer CONNECT: %w", hostPort(c.cfg.Proxy), err)
	}
	if header.StatusCode() != fasthttp.StatusOK || reader.Buffered() > 0 {
		return fmt.Errorf("%w: %s answers HTTP %d to CONNECT %s", errProxy, hostPort(c.cfg.Proxy), header.StatusCode(), c.address)
	}
	return nil
}

// proxyLogin is what a proxy with a user name and password wants to see.
func proxyLogin(proxy *url.URL) string {
	if proxy == nil || proxy.User == nil {
		return ""
	}
	password, _ := proxy.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(proxy.User.Username()+":"+password))
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
