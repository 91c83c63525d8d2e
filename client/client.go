package client

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// Config says where an endpoint is and how long it may take.
type Config struct {
	BaseURL       string // absolute http(s) URL up to and with the version: "http://127.0.0.1:8000/v1"
	APIKey        string // sent as a bearer token, shown nowhere
	Timeout       Timeout
	MaxEventBytes int // bound of one event; DefaultMaxEventBytes when 0
	UserAgent     string
}

// Timeout bounds the phases of one request. Zero means no limit.
type Timeout struct {
	Connect   time.Duration // until the connection is open
	FirstByte time.Duration // from the request written until the response's header is whole
	Idle      time.Duration // between two reads of the response
	Total     time.Duration // the whole request, connecting left out
}

// DefaultMaxEventBytes is how large one event of a stream may be.
const DefaultMaxEventBytes = 16 << 20

// Client is one endpoint. It is safe for use by many goroutines.
type Client struct {
	cfg     Config
	tls     bool
	host    string // for the Host header
	address string // host:port to dial
	name    string // host, for TLS
	path    string // of the base URL, without a trailing slash
	secret  secret
}

// New takes the configuration apart; nothing is sent. Errors name the setting
// and hold neither the key nor a password.
func New(cfg Config) (*Client, error) {
	u, err := endpoint(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(cfg.APIKey, unicode.IsControl) {
		return nil, errors.New("api_key holds a line break or another control character")
	}
	if cfg.MaxEventBytes == 0 {
		cfg.MaxEventBytes = DefaultMaxEventBytes
	}
	c := &Client{
		cfg: cfg, tls: u.Scheme == "https", host: u.Host, name: u.Hostname(),
		path: strings.TrimRight(u.EscapedPath(), "/"), secret: newSecret(cfg.APIKey),
	}
	port := u.Port()
	if port == "" {
		port = map[bool]string{false: "80", true: "443"}[c.tls]
	}
	c.address = net.JoinHostPort(c.name, port)
	return c, nil
}

// endpoint reads a base URL. What a request could not carry is refused rather
// than dropped.
func endpoint(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		var at *url.Error // it repeats the URL, and with it a password
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, fmt.Errorf("base_url is not a URL: %w", err)
	}
	switch {
	case u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("base_url %q is not an absolute http or https URL", u.Redacted())
	case u.User != nil:
		return nil, errors.New("base_url holds a user name or password; a key belongs in api_key")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("base_url %q has a query or a fragment", u.Redacted())
	}
	return u, nil
}

// Lane opens one worker's lane. The connection is opened when it is needed.
func (c *Client) Lane() *Lane { return &Lane{client: c} }
