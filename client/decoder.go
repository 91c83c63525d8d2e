package client

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/go-faster/jx"
)

// decoder reads chunks fast. Three ways lead to the same result, each taken
// where the one before does not apply:
//
//   - The chunks of one stream mostly differ in the text of their delta alone. A
//     chunk whose bytes before and after that text equal those of an earlier
//     chunk says the same with another text.
//   - A chunk of the usual shape is read by jx without an allocation.
//   - Anything else, errors and oddities included, goes to decodeFull.
type decoder struct {
	jx    *jx.Decoder
	chunk chunk
	one   choice // being read
	other []byte // its reasoning_content
	like  template
}

// decode reads one event's JSON. The chunk is valid until the next call.
func (d *decoder) decode(data []byte) (*chunk, error) {
	c := &d.chunk
	if text, ok := d.like.match(data); ok {
		c.reset()
		one := choice{content: text}
		if d.like.thinking {
			one = choice{reasoning: text}
		}
		c.choices = append(c.choices, one)
		return c, nil
	}
	if d.usual(data) {
		d.learn(data)
		return c, nil
	}
	return c, decodeFull(data, c)
}

// template is a chunk with nothing but one text in it, cut at that text.
type template struct {
	before, after []byte
	thinking      bool // the text is reasoning, not content
}

// match is the text of a chunk that is otherwise the template's. The text is
// plain: a string without escapes, so it means what its bytes say.
func (t *template) match(data []byte) ([]byte, bool) {
	size := len(data) - len(t.before) - len(t.after)
	if len(t.before) == 0 || size <= 0 ||
		!bytes.Equal(data[:len(t.before)], t.before) || !bytes.Equal(data[len(data)-len(t.after):], t.after) {
		return nil, false
	}
	text := data[len(t.before) : len(t.before)+size]
	ascii := true
	for _, b := range text {
		if b < ' ' || b == '"' || b == '\\' {
			return nil, false
		}
		ascii = ascii && b < utf8.RuneSelf
	}
	return text, ascii || utf8.Valid(text)
}

// learn keeps the chunk just read as the template, if all it holds is one text
// that stands in the data as it is.
func (d *decoder) learn(data []byte) {
	c := &d.chunk
	if len(c.choices) != 1 || c.usage != (usage{}) {
		return
	}
	one := &c.choices[0]
	text, thinking := one.content, false
	if len(text) == 0 {
		text, thinking = one.reasoning, true
	}
	if len(text) == 0 || len(one.finish) > 0 || one.tools || !thinking && len(one.reasoning) > 0 {
		return
	}
	at := cap(data) - cap(text)
	if at < 0 || at >= len(data) || &data[at] != &text[0] {
		return // it was unescaped into memory of its own
	}
	d.like.before = append(d.like.before[:0], data[:at]...)
	d.like.after = append(d.like.after[:0], data[at+len(text):]...)
	d.like.thinking = thinking
}

// usual reads a chunk of the usual shape. It gives up at the first thing that
// needs a closer look: what is no error may still be odd.
func (d *decoder) usual(data []byte) bool {
	if d.jx == nil {
		d.jx = jx.DecodeBytes(nil)
	}
	d.chunk.reset()
	// Broken characters and halves of a pair are replaced in ways of its own.
	if !utf8.Valid(data) || bytes.Contains(data, []byte(`\ud`)) || bytes.Contains(data, []byte(`\uD`)) {
		return false
	}
	d.jx.ResetBytes(data)
	return d.jx.Next() == jx.Object && d.object((*decoder).top) && d.jx.Skip() == io.EOF
}

// object reads an object field by field, and null as one without fields. The
// key is valid until the field's value is read. false gives up.
func (d *decoder) object(field func(*decoder, []byte) bool) bool {
	if d.jx.Next() == jx.Null {
		return d.jx.Null() == nil
	}
	fields, err := d.jx.ObjIter()
	if err != nil {
		return false
	}
	for fields.Next() {
		if !field(d, fields.Key()) {
			return false
		}
	}
	return fields.Err() == nil
}

// array reads an array element by element, and null as an empty one.
func (d *decoder) array(element func(*decoder) bool) bool {
	if d.jx.Next() == jx.Null {
		return d.jx.Null() == nil
	}
	list, err := d.jx.ArrIter()
	if err != nil {
		return false
	}
	for list.Next() {
		if !element(d) {
			return false
		}
	}
	return list.Err() == nil
}

func (d *decoder) skip() bool { return d.jx.Skip() == nil }

func (d *decoder) top(key []byte) bool {
	switch string(key) {
	case "choices":
		d.chunk.choices = d.chunk.choices[:0]
		return d.array((*decoder).choice)
	case "usage":
		d.chunk.usage = usage{}
		return d.object((*decoder).usageField)
	case "error":
		return d.jx.Null() == nil
	case "object":
		text, ok := d.text()
		return ok && string(text) != "error"
	}
	return d.skip()
}

func (d *decoder) choice() bool {
	d.one = choice{}
	ok := d.jx.Next() == jx.Object && d.object((*decoder).choiceField)
	d.chunk.choices = append(d.chunk.choices, d.one)
	return ok
}

func (d *decoder) choiceField(key []byte) (ok bool) {
	switch string(key) {
	case "delta":
		d.one.content, d.one.reasoning, d.one.tools, d.other = nil, nil, false, nil
		ok = d.object((*decoder).deltaField)
		if len(d.one.reasoning) == 0 {
			d.one.reasoning = d.other
		}
		return ok
	case "finish_reason":
		d.one.finish, ok = d.text()
		return ok
	}
	return d.skip()
}

func (d *decoder) deltaField(key []byte) (ok bool) {
	switch string(key) {
	case "content":
		d.one.content, ok = d.text()
	case "reasoning":
		d.one.reasoning, ok = d.text()
	case "reasoning_content":
		d.other, ok = d.text()
	case "tool_calls":
		d.one.tools = false
		ok = d.array((*decoder).tool)
	default:
		ok = d.skip()
	}
	return ok
}

func (d *decoder) tool() bool {
	d.one.tools = true
	return d.skip()
}

func (d *decoder) usageField(key []byte) (ok bool) {
	u := &d.chunk.usage
	switch string(key) {
	case "prompt_tokens":
		u.prompt, ok = d.count()
	case "completion_tokens":
		u.completion, ok = d.count()
	case "total_tokens":
		u.total, ok = d.count()
	case "prompt_tokens_details":
		u.cached = count{}
		ok = d.object((*decoder).detailField)
	default:
		ok = d.skip()
	}
	return ok
}

func (d *decoder) detailField(key []byte) (ok bool) {
	if string(key) != "cached_tokens" {
		return d.skip()
	}
	d.chunk.usage.cached, ok = d.count()
	return ok
}

// text is a string; null is none.
func (d *decoder) text() ([]byte, bool) {
	if d.jx.Next() == jx.Null {
		return nil, d.jx.Null() == nil
	}
	text, err := d.jx.StrBytes()
	return text, err == nil
}

// count is a plain whole number, or null.
func (d *decoder) count() (count, bool) {
	if d.jx.Next() == jx.Null {
		return count{}, d.jx.Null() == nil
	}
	num, err := d.jx.Num()
	if err != nil || len(num) > 18 {
		return count{}, false
	}
	var n int64
	for _, b := range num {
		if b < '0' || b > '9' {
			return count{}, false
		}
		n = n*10 + int64(b-'0')
	}
	return count{n: n, known: true}, true
}
