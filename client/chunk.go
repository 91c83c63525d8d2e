package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// chunk is what one chat-completion chunk says that concerns us. Its bytes are
// valid until the next one is decoded.
type chunk struct {
	choices []choice
	usage   usage
	said    string // message of an error object
	odd     bool   // a field has another type than it should have, and counts as absent
}

type choice struct {
	content   []byte
	reasoning []byte // under either of its names
	finish    []byte
	tools     bool
}

// usage is the token count of a response; the zero value is none.
type usage struct{ prompt, completion, total, cached count }

// count is a number of tokens. What is no whole number of tokens is as good as
// absent, and remembered as wrong.
type count struct {
	n     int64
	known bool
	wrong bool
}

func (c count) pointer() *int64 {
	if !c.known {
		return nil
	}
	return &c.n
}

// empty reports a usage object that says nothing, as good as none.
func (u usage) empty() bool {
	return u.prompt == count{} && u.completion == count{} && u.total == count{}
}

func (u usage) wrong() bool {
	return u.prompt.wrong || u.completion.wrong || u.total.wrong || u.cached.wrong
}

func (u usage) plain() *Usage {
	return &Usage{PromptTokens: u.prompt.pointer(), CompletionTokens: u.completion.pointer(), TotalTokens: u.total.pointer(), CachedTokens: u.cached.pointer()}
}

func (c *chunk) reset() { *c = chunk{choices: c.choices[:0]} }

// object is a JSON object as servers really send it: fields may be missing,
// null, or of another type. Names are exact, and of two fields with one name
// the last one counts.
type object map[string]json.RawMessage

// decodeFull reads a chunk field by field with the standard library. It is what
// a chunk means; the fast decoder must agree with it.
func decodeFull(data []byte, c *chunk) error {
	c.reset()
	if !json.Valid(data) {
		return errors.New("not JSON")
	}
	top := c.object(data)
	for _, raw := range c.array(top["choices"]) {
		one := c.object(raw)
		delta := c.object(one["delta"])
		out := choice{content: c.text(delta["content"]), reasoning: c.text(delta["reasoning"]), finish: c.text(one["finish_reason"])}
		if other := c.text(delta["reasoning_content"]); len(out.reasoning) == 0 {
			out.reasoning = other
		}
		out.tools = len(c.array(delta["tool_calls"])) > 0
		c.choices = append(c.choices, out)
	}
	u := c.object(top["usage"])
	c.usage = usage{tokens(u["prompt_tokens"]), tokens(u["completion_tokens"]), tokens(u["total_tokens"]), tokens(c.object(u["prompt_tokens_details"])["cached_tokens"])}
	c.said = top.failure()
	// An event must be an object; a missing field need not.
	c.odd = c.odd || top == nil
	return nil
}

// failure is the server's message where the object is an error.
func (o object) failure() string {
	if said := errorText(o["error"]); said != "" {
		return said
	}
	if plainText(o["object"]) != "error" {
		return ""
	}
	if said := plainText(o["message"]); said != "" {
		return said
	}
	return "an error object without a message"
}

func (c *chunk) object(raw json.RawMessage) (o object) {
	c.read(raw, &o)
	return o
}

func (c *chunk) array(raw json.RawMessage) (list []json.RawMessage) {
	c.read(raw, &list)
	return list
}

func (c *chunk) text(raw json.RawMessage) []byte {
	var s string
	c.read(raw, &s)
	return []byte(s)
}

// read is a field that may be absent; null is absent, another type is odd.
func (c *chunk) read(raw json.RawMessage, into any) {
	if len(raw) > 0 && json.Unmarshal(raw, into) != nil {
		c.odd = true
	}
}

func plainText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// tokens is a whole number that is not negative.
func tokens(raw json.RawMessage) count {
	if len(raw) == 0 || string(raw) == "null" {
		return count{}
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 || raw[0] == '-' {
		return count{wrong: true}
	}
	return count{n: n, known: true}
}

// terminal is the event that ends a stream.
var terminal = []byte("[DONE]")

func isTerminal(data []byte) bool {
	return data[0] != '{' && bytes.Equal(bytes.TrimSpace(data), terminal)
}
