package recipe

import (
	"strings"
	"testing"
)

func measured() Measured {
	return Measured{
		Cell: map[string]any{"model": map[string]any{"name": "m"}, "tier": map[string]any{"name": "h200", "count": 2, "price_per_hour": 2.5},
			"context": 8192, "concurrency": 4, "repeat": 1, "cache": "unique"},
		Axes: map[string]string{"rate": "4.5", "draft": "true", "mode": "fast"},
	}
}

func TestWhere(t *testing.T) {
	for text, want := range map[string]bool{
		`cell.concurrency <= 4 && cell.tier.name == "h200"`:     true,
		`cell.context > 10000`:                                  false,
		`axis.rate == 4.5 && axis.draft && axis.mode != "slow"`: true,
		`axis.other > 1`:                                        false, // another cell's
		`contains(["h200", "a100"], cell.tier.name)`:            true,
		`cell.engine.version == null`:                           true, // the artifact does not tell
	} {
		w, diags := ReadWhere("<--where>", text, []string{"rate", "draft", "mode", "other"})
		if diags.HasErrors() {
			t.Fatal(text, diags)
		}
		got, diags := w.Holds(measured())
		if diags.HasErrors() || got != want {
			t.Errorf("%s is %t: %v", text, got, diags)
		}
	}
}

func TestWhereThatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		``:                           "Missing expression",
		`cell.concurency > 1`:        `Did you mean "cell.concurrency"`,
		`cell.tier.nmae == "x"`:      "name",
		`axis.rato > 1`:              "axis.rate",
		`model.m == 1`:               "no recipe here",
		`var.x`:                      "no recipe here",
		`cell.concurrency`:           "must be a bool",
		`cell.engine.name > 3`:       "null",
		`cell`:                       "name one of its parts",
		strings.Repeat("(", 100_000): "too",
	} {
		w, diags := ReadWhere("<--where>", text, []string{"rate"})
		if w != nil {
			_, diags = w.Holds(measured())
		}
		var said strings.Builder
		if err := diags.WriteText(&said, 200, false); err != nil {
			t.Fatal(err)
		}
		if !diags.HasErrors() || !strings.Contains(said.String(), want) {
			t.Errorf("%.40q: %s, want %q", text, said.String(), want)
		}
	}
}
