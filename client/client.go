package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/http/httpguts"
)

// Config says where an endpoint is, how it is reached and how long it may take.
type Config struct {
	BaseURL       string // absolute http(s) URL up to and with the version: "http://127.0.0.1:8000/v1"
	APIKey        string // sent as a bearer token, shown nowhere
	Headers       []Header
	TLS           TLS
	Socket        string   // path of a Unix socket to connect to; BaseURL then only names host and path
	Proxy         *url.URL // http proxy to go through; nil: none
	Fresh         bool     // a connection of its own for every request
	Timeout       Timeout
	MaxEventBytes int // bound of one event; DefaultMaxEventBytes when 0
	UserAgent     string
}

// Header is sent with every request.
type Header struct {
	Name, Value string
	Secret      bool // shown nowhere
}

// Timeout bounds the phases of one request. Zero means no limit.
type Timeout struct {
	Connect     time.Duration // until the connection is open
	FirstByte   time.Duration // from the request written until the response's header is whole
	FirstOutput time.Duration // from the request written until the first reasoning, content or tool call
	Idle        time.Duration // between two reads of the response
	Total       time.Duration // the whole request, connecting left out
}

// DefaultMaxEventBytes is how large one event of a stream may be.
const DefaultMaxEventBytes = 16 << 20

// Client is one endpoint. It is safe for use by many goroutines.
type Client struct {
	cfg     Config
	tls     *tls.Config // nil for http
	host    string      // for the Host header
	address string      // host:port to dial
	prefix  string      // before each path: the base URL's path, or all of it for a proxy
	secret  secret
}

// New takes the configuration apart; nothing is sent. Errors name the setting
// and hold neither the key nor a password.
func New(cfg Config) (*Client, error) {
	u, err := endpoint(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	if cfg.MaxEventBytes == 0 {
		cfg.MaxEventBytes = DefaultMaxEventBytes
	}
	c := &Client{cfg: cfg, host: u.Host, address: hostPort(u), prefix: strings.TrimRight(u.EscapedPath(), "/")}
	secrets, err := cfg.secrets()
	if err != nil {
		return nil, err
	}
	c.secret = newSecret(secrets...)
	if u.Scheme == "https" {
		if c.tls, err = cfg.TLS.config(u.Hostname()); err != nil {
			return nil, err
		}
	}
	if p := cfg.Proxy; p != nil {
		if p.Scheme != "http" || p.Hostname() == "" {
			return nil, fmt.Errorf("the proxy %q is not an http URL, and only http proxies are spoken to", p.Redacted())
		}
		if c.tls == nil {
			c.prefix = "http://" + u.Host + c.prefix
		}
	}
	return c, nil
}

// secrets are the values that no message may show.
func (cfg Config) secrets() ([]string, error) {
	if strings.ContainsFunc(cfg.APIKey, unicode.IsControl) {
		return nil, errors.New("api_key holds a line break or another control character")
	}
	secrets := []string{cfg.APIKey}
	for _, h := range cfg.Headers {
		if !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(h.Value) {
			return nil, fmt.Errorf("header %q: its name or value is not one that HTTP allows", h.Name)
		}
		if h.Secret {
			secrets = append(secrets, h.Value)
		}
	}
	if login := proxyLogin(cfg.Proxy); login != "" {
		password, _ := cfg.Proxy.User.Password()
		secrets = append(secrets, password, strings.TrimPrefix(login, "Basic "))
	}
	return secrets, nil
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
