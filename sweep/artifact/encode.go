package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Encode writes a value in the format's canonical bytes: UTF-8 JSON, keys in
// code-point order at every level, two spaces a level, everything outside
// ASCII escaped, floats as Python's repr writes them, one line end at the end.
// A number that is not finite is an error. Structs follow their json tags.
func Encode(v any) ([]byte, error) {
	var e encoder
	if err := e.value(reflect.ValueOf(v), 0); err != nil {
		return nil, err
	}
	e.WriteByte('\n')
	return e.Bytes(), nil
}

type encoder struct{ bytes.Buffer }

// member is one key of an object.
type member struct {
	name  string
	value reflect.Value
}

var (
	timeType    = reflect.TypeFor[time.Time]()
	numberType  = reflect.TypeFor[json.Number]()
	failureType = reflect.TypeFor[Failure]()
)

func (e *encoder) value(v reflect.Value, depth int) error {
	if !v.IsValid() {
		e.WriteString("null")
		return nil
	}
	switch v.Type() {
	case timeType:
		e.text(v.Interface().(time.Time).UTC().Format(time.RFC3339))
		return nil
	case numberType:
		e.WriteString(v.String())
		return nil
	case failureType: // its keys depend on what happened
		return e.object(mapMembers(reflect.ValueOf(v.Interface().(Failure).fields())), depth)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			e.WriteString("null")
			return nil
		}
		return e.value(v.Elem(), depth)
	case reflect.Bool:
		e.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Float64:
		text, err := float(v.Float())
		e.WriteString(text)
		return err
	case reflect.String:
		e.text(v.String())
	case reflect.Slice:
		return e.list(v, depth)
	case reflect.Map:
		return e.object(mapMembers(v), depth)
	case reflect.Struct:
		return e.object(structMembers(v), depth)
	default:
		return fmt.Errorf("artifact: %s has no place in the format", v.Type())
	}
	return nil
}

func (e *encoder) list(v reflect.Value, depth int) error {
	if v.Len() == 0 {
		e.WriteString("[]")
		return nil
	}
	e.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			e.WriteByte(',')
		}
		e.newline(depth + 1)
		if err := e.value(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	e.newline(depth)
	e.WriteByte(']')
	return nil
}

func (e *encoder) object(members []member, depth int) error {
	if len(members) == 0 {
		e.WriteString("{}")
		return nil
	}
	// UTF-8 sorts as its code points do.
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	e.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			e.WriteByte(',')
		}
		e.newline(depth + 1)
		e.text(m.name)
		e.WriteString(": ")
		if err := e.value(m.value, depth+1); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	e.newline(depth)
	e.WriteByte('}')
	return nil
}

func mapMembers(v reflect.Value) []member {
	members := make([]member, 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		members = append(members, member{it.Key().String(), it.Value()})
	}
	return members
}

func structMembers(v reflect.Value) []member {
	members := make([]member, 0, v.NumField())
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous {
			members = append(members, structMembers(v.Field(i))...)
			continue
		}
		if name := field.Tag.Get("json"); name != "" && name != "-" {
			members = append(members, member{name, v.Field(i)})
		}
	}
	return members
}

func (e *encoder) newline(depth int) {
	e.WriteByte('\n')
	for range depth {
		e.WriteString("  ")
	}
}

// text writes a string as Python's json.dumps does with ensure_ascii.
func (e *encoder) text(s string) {
	const hex = "0123456789abcdef"
	unit := func(u rune) {
		e.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			e.WriteByte(hex[u>>shift&15])
		}
	}
	e.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			e.WriteByte('\\')
			e.WriteByte(byte(r))
		case r == '\n':
			e.WriteString(`\n`)
		case r == '\r':
			e.WriteString(`\r`)
		case r == '\t':
			e.WriteString(`\t`)
		case r == '\b':
			e.WriteString(`\b`)
		case r == '\f':
			e.WriteString(`\f`)
		case r >= 0x20 && r < 0x7f:
			e.WriteByte(byte(r))
		case r == utf8.RuneError, r < 0x10000:
			unit(r)
		default:
			r -= 0x10000
			unit(0xd800 + r>>10)
			unit(0xdc00 + r&0x3ff)
		}
	}
	e.WriteByte('"')
}

// float is Python's repr: the shortest digits that read back the same, always
// with a point or an exponent; the exponent from 1e16 up and below 1e-4.
func float(v float64) (string, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "null", fmt.Errorf("%v is not a finite number", v)
	}
	if a := math.Abs(v); a != 0 && (a >= 1e16 || a < 1e-4) {
		return strconv.FormatFloat(v, 'e', -1, 64), nil
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s, nil
}
