package client

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/valyala/fasthttp"
)

// tokenizeLimit bounds the answer: a server may send every token's number.
const tokenizeLimit = 64 << 20 // bytes

// Tokenize asks the server how many tokens a text has, without the chat
// template. vLLM, SGLang and llama.cpp answer at /tokenize beside the version.
func (c *Client) Tokenize(ctx context.Context, model, text string) (int, *Failure) {
	payload, err := json.Marshal(map[string]any{
		"model": model, "prompt": text, // vLLM, SGLang
		"content":            text, // llama.cpp
		"add_special_tokens": false,
	})
	if err != nil {
		return 0, c.fail(KindProtocol, "the request is not JSON: "+err.Error())
	}
	uri := strings.TrimSuffix(c.prefix, "/v1") + "/tokenize"
	answer, failure := c.call(ctx, fasthttp.MethodPost, uri, payload, tokenizeLimit, "asking for a token count")
	if failure != nil {
		return 0, failure
	}
	n, err := tokenCount(answer)
	if err != nil {
		return 0, c.fail(KindProtocol, "the answer of /tokenize is not understood: "+err.Error())
	}
	return n, nil
}

// tokenCount reads {"count": n} or {"tokens": […]}.
func tokenCount(answer []byte) (int, error) {
	var said struct {
		Count  *int              `json:"count"`
		Tokens []json.RawMessage `json:"tokens"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return 0, err
	}
	switch {
	case said.Count != nil && *said.Count > 0:
		return *said.Count, nil
	case len(said.Tokens) > 0:
		return len(said.Tokens), nil
	}
	return 0, errors.New("it has neither count nor tokens")
}
