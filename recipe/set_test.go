package recipe

import (
	"strings"
	"testing"
)

func TestSet(t *testing.T) {
	dir := folder(t, map[string]string{"r.sweep.hcl": strings.Replace(smallest, `tier "t" { profile = "small" }`, `
tier "t" { profile = "small" }
tier "tu" { profile = "small" }`, 1)})
	for _, c := range []struct {
		path, value string
		check       func(*Recipe) bool
		fails       string
	}{
		{"sweep.s.repeat", "3", func(r *Recipe) bool { return r.Sweeps[0].Repeat == 3 }, ""},
		{"sweep.*.concurrency", "ladder(1, 8)", func(r *Recipe) bool { return len(r.Sweeps[0].Axes[4].Values) == 4 }, ""},
		{"tier.t*.gpu", `"H200"`, func(r *Recipe) bool { return r.Sweeps[0].Axes[2].Values[0].(*Tier).GPU == "H200" }, ""},
		{"sweep.s.timeout.idle", `"5s"`, func(r *Recipe) bool { return r.Sweeps[0].Timeout.Idle.Seconds() == 5 }, ""},
		{"sweep.s.budget.requests", `"1k"`, func(r *Recipe) bool { return r.Sweeps[0].Budget.Requests == 1000 }, ""},
		{"sweep.s.tier", `[tier.t, tier.tu]`, func(r *Recipe) bool { return len(r.Sweeps[0].Axes[2].Values) == 2 }, ""},
		{"sweep.s", "1", nil, "a path is KIND.NAME.ATTRIBUTE"},
		{"seep.s.repeat", "1", nil, `Did you mean "sweep"?`},
		{"sweep.x.repeat", "1", nil, "no such sweep"},
		{"sweep.s.repaet", "1", nil, `Did you mean "repeat"?`},
		{"sweep.s.timeuot.idle", "1", nil, `Did you mean "timeout"?`},
		{"sweep.s.repeat", "many", nil, "There is no variable named"},
		{"sweep.s.repeat", "0", nil, "repeat is 0; it must be from 1"},
		{"tier.t.gpu", "NVIDIA H200", nil, "A text needs quotes of its own"},
		{"tier.[.gpu", "1", nil, "no pattern"},
	} {
		r, diags := Load([]string{dir}, Options{Set: []Setting{{c.path, c.value}}})
		text := written(t, diags)
		switch {
		case c.fails != "":
			if !diags.HasErrors() || !strings.Contains(strings.Join(strings.Fields(text), " "), c.fails) {
				t.Errorf("%s=%s: %s", c.path, c.value, text)
			}
		case diags.HasErrors():
			t.Errorf("%s=%s: %s", c.path, c.value, text)
		case !c.check(r):
			t.Errorf("%s=%s did nothing", c.path, c.value)
		default:
			if v := r.Variables[0]; v.Name != c.path || v.Origin != "--set" {
				t.Errorf("%+v", v)
			}
		}
	}
}

// What HCL says in JSON can be set and depend on the cell too.
func TestSetInJSONSyntax(t *testing.T) {
	dir := folder(t, map[string]string{"r.sweep.hcl.json": `{
  "engine": {"sim": {"flags": {"n": "${axis.n}"}}},
  "tier": {"t": {"profile": "small"}},
  "sweep": {"s": {
    "model": "m", "engine": "${engine.sim}", "tier": "${tier.t}", "context": [512, "1k"], "concurrency": "${ladder(1, 4)}",
    "output": {"max_tokens": 32}, "axis": {"n": {"values": [1, 2]}}, "exclude": {"x": {"when": "${cell.context > 1000 && axis.n == 2}"}}
  }}
}`})
	r, diags := Load([]string{dir}, Options{Set: []Setting{{"sweep.s.repeat", "2"}, {"sweep.s.timeout.idle", `"7s"`}}})
	if diags.HasErrors() {
		t.Fatal(written(t, diags))
	}
	s := r.Sweeps[0]
	if s.Repeat != 2 || s.Timeout.Idle.Seconds() != 7 || len(s.Axes) != 7 || len(s.Excludes) != 1 {
		t.Errorf("%+v", s)
	}
}
