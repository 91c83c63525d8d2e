package artifact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// maxDepth bounds nesting: no artifact has more than eight levels.
const maxDepth = 64

// parse reads strict JSON into plain values with numbers kept as written:
// UTF-8 without a byte order mark, no key twice, no number out of range,
// nothing after the value.
func parse(data []byte) (any, error) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return nil, errors.New("it begins with a byte order mark")
	case !utf8.Valid(data):
		return nil, errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := parseValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more after the value")
	}
	return v, nil
}

func parseValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, ended(err)
	}
	switch t := token.(type) {
	case json.Number:
		if _, err := strconv.ParseFloat(string(t), 64); err != nil {
			return nil, fmt.Errorf("the number %s is out of range", t)
		}
		return t, nil
	case json.Delim:
		if t == '{' {
			return parseObject(d, depth)
		}
		list := []any{}
		for d.More() {
			v, err := parseValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, ended(err)
	}
	return token, nil
}

func parseObject(d *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, ended(err)
		}
		name, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("a key is not a string")
		}
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("the key %q stands twice", name)
		}
		if object[name], err = parseValue(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return object, ended(err)
}

func ended(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("it ends in the middle")
	}
	return err
}

// canonical reports whether the bytes are the format's for their content; a
// missing last line end is told apart.
func canonical(data []byte, tree any) (same, sameButEnd bool) {
	want, err := Encode(floats(tree))
	if err != nil {
		return false, false
	}
	return bytes.Equal(data, want), bytes.Equal(data, want[:len(want)-1])
}

// floats turns numbers written as floats into floats, so that their text is
// held against the format's as well.
func floats(v any) any {
	switch v := v.(type) {
	case json.Number:
		if bytes.ContainsAny([]byte(v), ".eE") {
			if f, err := v.Float64(); err == nil {
				return f
			}
		}
		return v
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = floats(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = floats(v[k])
		}
		return out
	}
	return v
}
