package artifact

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestFloatsAreWrittenAsPythonDoes(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0", 1: "1.0", -1.5: "-1.5", 0.1: "0.1", 0.0001: "0.0001", 0.00001: "1e-05", 0.000123: "0.000123", 1.5e-7: "1.5e-07",
		1e15: "1000000000000000.0", 1e16: "1e+16", 123456789012345680: "1.2345678901234568e+17", 1e22: "1e+22", 1e100: "1e+100",
		5e-324: "5e-324", math.MaxFloat64: "1.7976931348623157e+308", 9007199254740993: "9007199254740992.0", 98.17192502462154: "98.17192502462154",
	} {
		if got, err := float(v); err != nil || got != want {
			t.Errorf("%v: %s %v, want %s", v, got, err, want)
		}
	}
	if got, _ := float(math.Copysign(0, -1)); got != "-0.0" {
		t.Errorf("minus nothing: %s", got)
	}
}

// Nothing that is not finite can be written, and the error names the key.
func TestNumbersThatAreNotFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := Encode(map[string]any{"metrics": map[string]any{"ttft_p50_ms": v}})
		if err == nil || !strings.Contains(err.Error(), "metrics: ttft_p50_ms") {
			t.Errorf("%v: %v", v, err)
		}
	}
}

func TestCanonicalLayout(t *testing.T) {
	type inner struct {
		B int     `json:"b"`
		A *string `json:"a"`
	}
	got, err := Encode(map[string]any{
		"z": []any{}, "é": map[string]int{}, "a": "ü🙂\x00\x7f\t\"\\<&>\u2028", "Z": int64(9007199254740993), "s": inner{B: 1},
		"l": []any{1, 2.0, nil, true, json.Number("1e5")}, "t": time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "Z": 9007199254740993,
  "a": "\u00fc\ud83d\ude42\u0000\u007f\t\"\\<&>\u2028",
  "l": [
    1,
    2.0,
    null,
    true,
    1e5
  ],
  "s": {
    "a": null,
    "b": 1
  },
  "t": "2026-01-02T02:04:05Z",
  "z": [],
  "\u00e9": {}
}
`
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if _, err := Encode(map[string]any{"x": func() {}}); err == nil {
		t.Error("a function was written")
	}
}

func FuzzEncode(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,"x",null,true,{"b":1e-7}]}`))
	f.Add([]byte(`"\u00e9\ud83d\ude42"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := parse(data)
		if err != nil {
			t.Skip()
		}
		out, err := Encode(tree)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parse(out)
		if err != nil || !reflect.DeepEqual(again, tree) {
			t.Fatalf("%q became %q: %v", data, out, err)
		}
		if twice, err := Encode(again); err != nil || string(twice) != string(out) {
			t.Fatalf("%q is not stable", out)
		}
	})
}

// No field gets lost on the way into a file: what encoding/json writes of the
// structs, ours does too.
func TestEveryFieldIsWritten(t *testing.T) {
	s := Sweep{Client: ClientFacts{Watch: Watch{Arrivals: "kernel", ReadLag: &Lag{Samples: 1}}}, Flags: []Flag{{FlagCacheHits, "x"}}}
	ours, err := Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var a, b map[string]any
	if err := errors.Join(json.Unmarshal(ours, &a), json.Unmarshal(theirs, &b)); err != nil {
		t.Fatal(err)
	}
	var same func(at string, a, b any)
	same = func(at string, a, b any) {
		x, object := a.(map[string]any)
		y, _ := b.(map[string]any)
		if !object {
			return
		}
		if len(x) != len(y) {
			t.Errorf("%s: %d fields written, %d there", at, len(x), len(y))
		}
		for name := range y {
			same(at+"."+name, x[name], y[name])
		}
	}
	same("sweep", a, b)
	if a["client"].(map[string]any)["arrivals"] != "kernel" {
		t.Error("what the client saw of itself is lost")
	}
}
