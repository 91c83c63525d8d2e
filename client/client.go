package client

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
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
	FirstByte time.Duration // from the request written to the first byte of the response
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
	secrets *strings.Replacer
}

// New takes the configuration apart; nothing is sent.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("base_url %q is not an absolute http or https URL", cfg.BaseURL)
	}
	if cfg.MaxEventBytes == 0 {
		cfg.MaxEventBytes = DefaultMaxEventBytes
	}
	c := &Client{
		cfg: cfg, tls: u.Scheme == "https", host: u.Host, name: u.Hostname(),
		path: strings.TrimRight(u.EscapedPath(), "/"), secrets: scrubber(cfg.APIKey),
	}
	port := u.Port()
	if port == "" {
		port = map[bool]string{false: "80", true: "443"}[c.tls]
	}
	c.address = net.JoinHostPort(c.name, port)
	return c, nil
}

// Lane opens one worker's lane. The connection is opened when it is needed.
func (c *Client) Lane() *Lane { return &Lane{client: c} }

// shortestSecret keeps a scrubber from taking single letters out of messages.
const shortestSecret = 4

// scrubber takes the key out of what a server sends back, in the spellings a
// server may send it in.
func scrubber(key string) *strings.Replacer {
	if len(key) < shortestSecret {
		return strings.NewReplacer()
	}
	spellings := []string{key, "[key]"}
	if quoted, err := json.Marshal(key); err == nil {
		spellings = append(spellings, strings.Trim(string(quoted), `"`), "[key]")
	}
	spellings = append(spellings, url.QueryEscape(key), "[key]", url.PathEscape(key), "[key]")
	return strings.NewReplacer(spellings...)
}
