package recipe

import (
	"fmt"
	"strings"
	"testing"
)

// The rules of the language page, by their numbers. What needs a plan, a run or
// a command is held by tests of those; what a rule says of recipes is held here.
func TestLanguageRules(t *testing.T) {
	faulty := func(t *testing.T, text, says string) {
		t.Helper()
		_, diags := load(t, text)
		if got := strings.Join(strings.Fields(written(t, diags)), " "); !diags.HasErrors() || !strings.Contains(got, says) {
			t.Errorf("%q is not in: %s", says, got)
		}
	}
	edit := func(from, to string) string { return strings.Replace(smallest, from, to, 1) }
	t.Run("1 an unknown name, attribute or metric is an error with a suggestion", func(t *testing.T) {
		faulty(t, edit("engine.sim", "engine.sin"), `Did you mean "engine.sim"?`)
		faulty(t, edit("profile", "profil"), `Did you mean "profile"?`)
		faulty(t, edit("context     = 1024", "context = 1024\n gate \"g\" { assert = result.ttft_p95_m < 1 }"), `Did you mean "result.ttft_p95_ms"?`)
	})
	t.Run("2 a wrong type in a kept expression is found by validate", func(t *testing.T) {
		faulty(t, edit("context     = 1024", "context = 1024\n exclude \"x\" { when = cell.concurrency }"), "must be a bool")
		faulty(t, edit("context     = 1024", "context = 1024\n gate \"g\" { assert = previous.ttft_p95_ms + 1 }"), "A rule is yes or no")
	})
	t.Run("3 errors have a place and the source, all in one go, flags too", func(t *testing.T) {
		_, diags := load(t, edit("context     = 1024", "context = -1\n repeat = 0"))
		text := written(t, diags)
		if diags.Errors() != 2 || !strings.Contains(text, "context = -1") || !strings.Contains(text, "repeat = 0") || strings.Index(text, "context = -1") > strings.Index(text, "repeat = 0") {
			t.Error(text)
		}
		_, diags = load(t, "variable \"n\" { type = number }\n"+smallest, Setting{"n", "[1,"})
		if text := written(t, diags); !strings.Contains(text, "<--var n>") || !strings.Contains(text, "1: [1,") {
			t.Error(text)
		}
	})
	t.Run("4 sizes and durations, and whole numbers stay whole", func(t *testing.T) {
		r, _ := load(t, edit("context     = 1024", "context = [\"8k\", \"128Ki\", kib(4), 2 * 512.0]\n timeout { idle = \"15m\" }"))
		if got := fmt.Sprint(r.Sweeps[0].Axes[3].Values); got != "[8000 131072 4096 1024]" || r.Sweeps[0].Timeout.Idle.Minutes() != 15 {
			t.Error(got)
		}
	})
	t.Run("5 axis order is source order", func(t *testing.T) {
		r, _ := load(t, smallest)
		var names []string
		for _, a := range r.Sweeps[0].Axes {
			names = append(names, a.Name)
		}
		if fmt.Sprint(names) != "[model engine tier context concurrency output]" {
			t.Error(names)
		}
	})
	t.Run("6 a key is named, never written", func(t *testing.T) {
		faulty(t, edit(`profile = "small"`, `api_key_env = "sk-1234567890"`), "never the key itself")
	})
	t.Run("7 there is one layout", func(t *testing.T) {
		ugly := strings.ReplaceAll(smallest, " = ", "=")
		once, _ := Format(Source{Path: "x.sweep.hcl", Bytes: []byte(ugly)})
		twice, _ := Format(Source{Path: "x.sweep.hcl", Bytes: once})
		if string(once) != string(twice) || string(once) == ugly {
			t.Errorf("%s", once)
		}
	})
	t.Run("8 a kind is the label where that is one; an axis must be declared", func(t *testing.T) {
		r, _ := load(t, strings.ReplaceAll(edit("engine \"sim\" {}", "engine \"mine\" { kind = \"sim\" }"), "engine.sim", "engine.mine"))
		if r.Sweeps[0].Axes[1].Values[0].(*Engine).Kind != "sim" {
			t.Error("kind")
		}
		faulty(t, edit("engine \"sim\" {}", "engine \"sim\" { flags = { a = axis.nowhere } }"), "declares no such axis")
	})
	t.Run("9 unused blocks and variables are told", func(t *testing.T) {
		_, diags := load(t, "variable \"x\" { default = 1 }\ntier \"idle\" { profile = \"small\" }\n"+smallest)
		if text := written(t, diags); diags.Warnings() != 2 || !strings.Contains(text, "Nothing names var.x") || !strings.Contains(text, "Nothing names tier.idle") {
			t.Error(text)
		}
	})
}

// Big numbers stay exact on their way into flags.
func TestBigNumbersStayExact(t *testing.T) {
	r, diags := load(t, strings.Replace(smallest, "engine \"sim\" {}", "engine \"sim\" { flags = { big = 123456789012345678901234567890, n = 3 } }", 1))
	if diags.HasErrors() {
		t.Fatal(written(t, diags))
	}
	if got := fmt.Sprint(r.Sweeps[0].Axes[1].Values[0].(*Engine).Flags); got != "map[big:123456789012345678901234567890 n:3]" {
		t.Error(got)
	}
}

func BenchmarkValidate(b *testing.B) {
	var text strings.Builder
	text.WriteString("engine \"sim\" {}\ntier \"t\" { profile = \"small\" }\n")
	for i := 0; i < 133; i++ {
		fmt.Fprintf(&text, `
output "o%d" {
  words      = %d
  policy     = "strict"
  max_tokens = max(64, %d)
}
sweep "s%d" {
  model       = "m"
  engine      = engine.sim
  tier        = tier.t
  context     = [1024, "8k"]
  concurrency = ladder(1, 32)
  output      = output.o%d
  exclude "big" { when = cell.context * cell.concurrency > 100000 }
}
`, i, 1+i%40, i, i, i)
	}
	source := []byte(text.String())
	dir := b.TempDir()
	path := dir + "/r.sweep.hcl"
	if err := writeFile(path, source); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, diags := Load([]string{path}, Options{Metrics: someMetrics}); diags.HasErrors() {
			b.Fatal(diags.List()[0])
		}
	}
	b.ReportMetric(float64(strings.Count(text.String(), "\n")), "lines")
}
