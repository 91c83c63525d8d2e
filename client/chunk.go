package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// chunk is one chat-completion chunk as servers really send it: fields may be
// missing, null, or of another type.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Object  string          `json:"object"`
	Message text            `json:"message"`
}

type choice struct {
	Delta        *delta `json:"delta"`
	FinishReason text   `json:"finish_reason"`
}

type delta struct {
	Content          text              `json:"content"`
	Reasoning        text              `json:"reasoning"`
	ReasoningContent text              `json:"reasoning_content"`
	ToolCalls        []json.RawMessage `json:"tool_calls"`
}

// text is a JSON string; null and every other type are no text.
type text string

// UnmarshalJSON never fails: a field of another type must not lose the chunk.
func (t *text) UnmarshalJSON(raw []byte) error {
	*t = ""
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(t))
	}
	return nil
}

// usage is the token count of a response.
type usage struct {
	Prompt     tokens `json:"prompt_tokens"`
	Completion tokens `json:"completion_tokens"`
	Total      tokens `json:"total_tokens"`
	Details    *struct {
		Cached tokens `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// tokens is a count: a whole number that is not negative. Anything else is as
// good as absent, and remembered as wrong.
type tokens struct {
	n     *int64
	wrong bool
}

// UnmarshalJSON never fails: a strange count must not lose the chunk.
func (t *tokens) UnmarshalJSON(raw []byte) error {
	*t = tokens{}
	if string(raw) == "null" {
		return nil
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && n >= 0 {
		t.n = &n
		return nil
	}
	t.wrong = true
	return nil
}

func (u *usage) empty() bool {
	return u.Prompt == tokens{} && u.Completion == tokens{} && u.Total == tokens{}
}

func (u *usage) wrong() bool {
	return u.Prompt.wrong || u.Completion.wrong || u.Total.wrong || u.Details != nil && u.Details.Cached.wrong
}

func (u *usage) plain() *Usage {
	out := &Usage{PromptTokens: u.Prompt.n, CompletionTokens: u.Completion.n, TotalTokens: u.Total.n}
	if u.Details != nil {
		out.CachedTokens = u.Details.Cached.n
	}
	return out
}

// failed is the server's message where the chunk is an error object.
func (c *chunk) failed() string {
	if said := errorText(c.Error); said != "" {
		return said
	}
	if c.Object == "error" {
		if c.Message == "" {
			return "an error object without a message"
		}
		return string(c.Message)
	}
	return ""
}

// decode reads one event's JSON. Fields of another type than they should have
// are left out, and odd says so: they must not lose the rest of the chunk.
func decode(data []byte) (c *chunk, odd bool, err error) {
	c = new(chunk)
	err = json.Unmarshal(data, c)
	var field *json.UnmarshalTypeError
	if errors.As(err, &field) {
		return c, true, nil
	}
	return c, false, err
}

// terminal is the event that ends a stream.
var terminal = []byte("[DONE]")

func isTerminal(data []byte) bool { return bytes.Equal(bytes.TrimSpace(data), terminal) }
