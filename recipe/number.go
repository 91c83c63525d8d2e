package recipe

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"time"

	"github.com/zclconf/go-cty/cty"
)

var sizePattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?(k|K|M|Ki|Mi)?$`)

var sizeUnits = map[string]int64{"": 1, "k": 1000, "K": 1000, "M": 1000_000, "Ki": 1 << 10, "Mi": 1 << 20}

// parseSize reads "8k" (8000), "128Ki" (131072), "1.5M".
func parseSize(text string) (int, error) {
	m := sizePattern.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%q is not a size such as 8192, \"8k\" (8000) or \"128Ki\" (131072)", text)
	}
	r, ok := new(big.Rat).SetString(m[1])
	if !ok {
		return 0, fmt.Errorf("%q is not a size", text)
	}
	r.Mul(r, new(big.Rat).SetInt64(sizeUnits[m[2]]))
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	return int(r.Num().Int64()), nil
}

// wholeNumber is a number as an int, exactly.
func wholeNumber(v cty.Value) (int, error) {
	f := v.AsBigFloat()
	if f.IsInf() {
		return 0, fmt.Errorf("the number is not finite")
	}
	if !f.IsInt() {
		return 0, fmt.Errorf("%s must be a whole number", f.Text('g', 12))
	}
	n, accuracy := f.Int64()
	if accuracy != big.Exact {
		return 0, fmt.Errorf("%s is too large", f.Text('g', 12))
	}
	return int(n), nil
}

func parseDuration(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration such as \"500ms\", \"30s\" or \"15m\"", text)
	}
	if d < 0 {
		return 0, fmt.Errorf("%q is negative", text)
	}
	return d, nil
}

// plain turns a value into what JSON knows; numbers keep every digit.
func plain(v cty.Value) (any, error) {
	switch {
	case v.IsNull():
		return nil, nil
	case v.Type() == cty.Bool:
		return v.True(), nil
	case v.Type() == cty.String:
		return v.AsString(), nil
	case v.Type() == cty.Number:
		f := v.AsBigFloat()
		if f.IsInf() {
			return nil, fmt.Errorf("the number is not finite")
		}
		if f.IsInt() {
			return json.Number(f.Text('f', 0)), nil
		}
		return json.Number(f.Text('g', -1)), nil
	case v.Type().IsObjectType(), v.Type().IsMapType():
		out := map[string]any{}
		for it := v.ElementIterator(); it.Next(); {
			key, element := it.Element()
			inner, err := plain(element)
			if err != nil {
				return nil, err
			}
			out[key.AsString()] = inner
		}
		return out, nil
	case v.CanIterateElements():
		out := []any{}
		for it := v.ElementIterator(); it.Next(); {
			_, element := it.Element()
			inner, err := plain(element)
			if err != nil {
				return nil, err
			}
			out = append(out, inner)
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s has no plain form", v.Type().FriendlyName())
}
