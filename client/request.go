package client

import (
	"bytes"
	"encoding/json"

	"github.com/valyala/fasthttp"
)

// body is a chat completion request in the order people write it.
type body struct {
	Model           string          `json:"model"`
	Messages        []message       `json:"messages"`
	MaxTokens       int             `json:"max_tokens"`
	Temperature     float64         `json:"temperature"`
	TopP            *float64        `json:"top_p,omitempty"`
	MinTokens       *int            `json:"min_tokens,omitempty"`
	IgnoreEOS       *bool           `json:"ignore_eos,omitempty"`
	Stream          bool            `json:"stream"`
	StreamOptions   streamOptions   `json:"stream_options"`
	TemplateKwargs  *templateKwargs `json:"chat_template_kwargs,omitempty"`
	ReasoningEffort string          `json:"reasoning_effort,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type templateKwargs struct {
	EnableThinking bool `json:"enable_thinking"`
}

// Body is the exact JSON that is sent.
func (r *Request) Body() ([]byte, error) {
	b := body{
		Model: r.Model, Messages: []message{{"user", r.Prompt}}, MaxTokens: r.MaxTokens, Temperature: r.Temperature,
		TopP: r.TopP, MinTokens: r.MinTokens, IgnoreEOS: r.IgnoreEOS,
		Stream: true, StreamOptions: streamOptions{IncludeUsage: true}, ReasoningEffort: r.ReasoningEffort,
	}
	if r.EnableThinking != nil {
		b.TemplateKwargs = &templateKwargs{*r.EnableThinking}
	}
	var buf bytes.Buffer
	buf.Grow(len(r.Prompt) + len(r.Prompt)/16 + 512)
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(b); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// prepare fills an HTTP request for the endpoint.
func (c *Client) prepare(req *fasthttp.Request, method, uri string) {
	req.Header.SetMethod(method)
	req.SetRequestURI(uri)
	req.Header.SetHost(c.host)
	req.Header.SetUserAgent(c.cfg.UserAgent)
	// A compressed stream arrives in the compressor's lumps, not the engine's.
	req.Header.Set("Accept-Encoding", "identity")
	if c.cfg.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.APIKey)
	}
	if c.cfg.Proxy != nil && c.tls == nil {
		if login := proxyLogin(c.cfg.Proxy); login != "" {
			req.Header.Set("Proxy-Authorization", login)
		}
	}
	for _, h := range c.cfg.Headers {
		req.Header.Set(h.Name, h.Value)
	}
}
