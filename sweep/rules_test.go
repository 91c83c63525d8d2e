package sweep

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// own is a recipe on the embedded engine with an axis of its own.
func own(axes, concurrency, extra string) string {
	return fmt.Sprintf(`
engine "a" {
  kind  = "sim"
  flags = { seqs = axis.seqs, twice = 2 * cell.concurrency }
}
engine "b" { kind = "sim" }
tier "t" { profile = "instant" }
tier "u" { profile = "large" }
output "o" {
  words      = axis.words
  max_tokens = 4 * axis.words + 16
}
concurrency "c" {
  requests = 4
  %s
}
sweep "s" {
  model       = "m"
  context     = 512
  concurrency = concurrency.c
  output      = output.o
  %s
  %s
}
`, concurrency, axes, extra)
}

const ownAxes = `
  engine = engine.a
  tier   = tier.t
  axis "seqs" { values = [64, 256] }
  axis "words" { values = [2, 5] }
`

func ids(s *PlannedSweep) []string {
	var out []string
	for _, c := range s.Cells {
		out = append(out, c.ID[:strings.LastIndexByte(c.ID, '-')])
	}
	return out
}

func TestBlocksThatDependOnTheCell(t *testing.T) {
	s := &planText(t, own(ownAxes, "ladder = [1, 2]", "")).Sweeps[0]
	want := []string{
		"a.t.ctx512.c1.o.seqs64.words2", "a.t.ctx512.c2.o.seqs64.words2", "a.t.ctx512.c1.o.seqs64.words5", "a.t.ctx512.c2.o.seqs64.words5",
		"a.t.ctx512.c1.o.seqs256.words2", "a.t.ctx512.c2.o.seqs256.words2", "a.t.ctx512.c1.o.seqs256.words5", "a.t.ctx512.c2.o.seqs256.words5",
	}
	if got := ids(s); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	c := s.Cells[7]
	if fmt.Sprint(c.Point.Engine.Flags) != "map[seqs:256 twice:4]" || c.Point.Output.Words != 5 || c.Point.Output.MaxTokens != 36 {
		t.Errorf("%v %+v", c.Point.Engine.Flags, c.Point.Output)
	}
	if a := Axes(c.Point); a["seqs"] != "256" || a["words"] != "5" {
		t.Errorf("%v", a)
	}
	// The same configuration is one fingerprint, another one another.
	if s.Cells[0].Fingerprint != s.Cells[2].Fingerprint || s.Cells[0].Fingerprint == s.Cells[1].Fingerprint || s.Cells[0].Fingerprint == s.Cells[4].Fingerprint {
		t.Error("fingerprints do not follow the flags")
	}
	if s.Cells[0].Point.Engine != s.Cells[2].Point.Engine {
		t.Error("one configuration was made twice")
	}
}

func TestPairsIncludesAndOrder(t *testing.T) {
	pair := `
  pair {
    engine = [engine.a, engine.b]
    tier   = [tier.t, tier.u]
  }
  axis "seqs" { values = [64] }
  axis "words" { values = [2, 5] }
`
	for _, c := range []struct {
		name, axes, extra string
		want              []string
	}{
		{"a pair moves together", pair, "", []string{
			"a.t.ctx512.c1.o.seqs64.words2", "a.t.ctx512.c1.o.seqs64.words5", "b.u.ctx512.c1.o.seqs64.words2", "b.u.ctx512.c1.o.seqs64.words5",
		}},
		{"order", pair, `order = ["words", "tier"]`, []string{
			"a.t.ctx512.c1.o.seqs64.words2", "b.u.ctx512.c1.o.seqs64.words2", "a.t.ctx512.c1.o.seqs64.words5", "b.u.ctx512.c1.o.seqs64.words5",
		}},
		{"included beside the matrix, and beyond an exclude", ownAxes, `
  exclude "small" { when = axis.words == 2 }
  include "one more" {
    seqs  = 512
    words = 2
  }`, []string{
			"a.t.ctx512.c1.o.seqs64.words5", "a.t.ctx512.c1.o.seqs256.words5", "a.t.ctx512.c1.o.seqs512.words2",
		}},
		{"a part of a pair alone", pair, `
  include "the other way round" {
    engine = engine.a
    tier   = tier.u
    words  = 2
  }`, []string{
			"a.t.ctx512.c1.o.seqs64.words2", "a.t.ctx512.c1.o.seqs64.words5", "b.u.ctx512.c1.o.seqs64.words2", "b.u.ctx512.c1.o.seqs64.words5", "a.u.ctx512.c1.o.seqs64.words2",
		}},
		{"repeats apart", ownAxes, "repeat = 2\n exclude \"x\" { when = axis.words == 2 }", []string{
			"a.t.ctx512.c1.o.seqs64.words5", "a.t.ctx512.c1.o.seqs256.words5", "a.t.ctx512.c1.o.r2.seqs64.words5", "a.t.ctx512.c1.o.r2.seqs256.words5",
		}},
		{"repeats together", ownAxes, "order = [\"seqs\", \"repeat\"]\n repeat = 2\n exclude \"x\" { when = axis.words == 2 }", []string{
			"a.t.ctx512.c1.o.seqs64.words5", "a.t.ctx512.c1.o.r2.seqs64.words5", "a.t.ctx512.c1.o.seqs256.words5", "a.t.ctx512.c1.o.r2.seqs256.words5",
		}},
	} {
		s := &planText(t, own(c.axes, "ladder = 1", c.extra)).Sweeps[0]
		got := ids(s)
		if fmt.Sprint(sortedParts(got)) != fmt.Sprint(sortedParts(c.want)) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// sortedParts makes the place of a repeat within an id no matter.
func sortedParts(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		parts := strings.Split(id, ".")
		slices.Sort(parts)
		out[i] = strings.Join(parts, ".")
	}
	return out
}

func TestSweepsFollowThoseTheyComeAfter(t *testing.T) {
	text := strings.Replace(own(ownAxes, "ladder = 1", "after = [sweep.scout]"), `sweep "s"`, `
sweep "scout" {
  model       = "m"
  engine      = engine.b
  tier        = tier.t
  context     = 512
  concurrency = 1
  output      = { max_tokens = 32 }
}
sweep "s"`, 1)
	// The scout stands first; put it last.
	at := strings.Index(text, `sweep "scout"`)
	end := strings.Index(text, `sweep "s" `)
	text = text[:at] + text[end:] + text[at:end]
	plan := planText(t, text)
	if plan.Sweeps[0].Name != "scout" || plan.Sweeps[1].Name != "s" || !slices.Equal(plan.Sweeps[1].After, []string{"scout"}) {
		t.Errorf("%s, %s after %v", plan.Sweeps[0].Name, plan.Sweeps[1].Name, plan.Sweeps[1].After)
	}
	r, diags := recipe.Load([]string{recipeFile(t, strings.Replace(text, "max_tokens = 32 }\n", "max_tokens = 32 }\n after = [sweep.s]\n", 1))}, recipe.Options{Metrics: artifact.MetricNames()})
	if diags.HasErrors() {
		t.Fatal(diags.List())
	}
	if _, _, err := NewPlan(r); err == nil || !strings.Contains(err.Error(), "wait for each other: s after scout after s") {
		t.Errorf("%v", err)
	}
	// A scout that fails blocks what comes after it.
	dir := t.TempDir()
	blocked := runner(t, dir, strings.Replace(text, `engine "b" { kind = "sim" }`, `engine "b" { kind = "sim" }
tier "dead" { base_url = "http://127.0.0.1:1/v1" }`, 1))
	for i := range blocked.Plan.Sweeps[0].Cells {
		dead := *blocked.Plan.Sweeps[0].Cells[i].Point.Tier
		dead.BaseURL = "http://127.0.0.1:1/v1"
		blocked.Plan.Sweeps[0].Cells[i].Point.Tier = &dead
	}
	report := run(t, blocked)
	if report.States[artifact.StateFailed] != 1 || report.States[artifact.StateNotRun] != 4 || report.OK() {
		t.Errorf("%+v", report)
	}
}

func recipeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.sweep.hcl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// states are the cells' states by concurrency, with their reasons.
func states(t *testing.T, dir string) (map[int]artifact.State, string) {
	t.Helper()
	manifest, _ := read(t, dir)
	out, reasons := map[int]artifact.State{}, ""
	for _, c := range manifest.Cells {
		var n int
		fmt.Sscan(c.Axes["concurrency"], &n)
		out[n] = c.State
		reasons += c.Reason + "\n"
	}
	return out, reasons
}

func TestRulesDecideWhatIsRun(t *testing.T) {
	const axes = "engine = engine.b\n tier = tier.t\n axis \"words\" { values = [2] }\n"
	for _, c := range []struct {
		name, concurrency, extra string
		done                     []int
		reason                   string
	}{
		{"a stop rule", "ladder = [1, 2, 4, 8]\n stop \"much\" { when = result.output_tokens > 1 && cell.concurrency > 1 }", "", []int{1, 2}, `stop "much": result.output_tokens > 1 && cell.concurrency > 1 at concurrency 2`},
		{"a stop rule over the rung below", "ladder = [1, 2, 4, 8]\n stop \"same\" { when = result.output_tokens == previous.output_tokens }", "", []int{1, 2}, `stop "same"`},
		{"a stop rule that is never decided", "ladder = [1, 2]\n stop \"b\" { when = baseline.output_tokens > 0 }", "", []int{1, 2}, ""},
		{"a search", "ladder = [1, 2, 4, 8, 16, 32, 64]\n search { goal = result.output_tokens > 0 && cell.concurrency < 6 }", "", []int{2, 4, 8}, "decided by 3 of 7 rungs, 4 is the highest rung that meets it"},
		{"a search that nothing meets", "ladder = [1, 2, 4]\n search { goal = result.output_tokens < 0 }", "", []int{1, 2}, "no rung meets it"},
		{"a budget of requests", "ladder = [1, 2, 4]", "budget { requests = 9 }", []int{1, 2}, "budget: 8 requests sent, 4 more would be over 9"},
		{"a budget of tokens", "ladder = [1, 2, 4]", "budget { prompt_tokens = 2048 }", []int{1}, "budget: 2048 prompt tokens sent"},
		{"a budget of time", "ladder = [1, 2, 4]", "budget { minutes = 0.000000001 }", nil, "budget:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			r := runner(t, dir, own(axes, c.concurrency, c.extra))
			report := run(t, r)
			got, reasons := states(t, dir)
			for n, state := range got {
				if want := slices.Contains(c.done, n); want != (state == artifact.StateDone) || !want && state != artifact.StateSkipped {
					t.Errorf("rung %d is %s", n, state)
				}
			}
			if !report.OK() || !strings.Contains(reasons, c.reason) {
				t.Errorf("%+v: %s", report, reasons)
			}
			// Going on in the folder comes to the same end and sends nothing.
			again := run(t, runner(t, dir, own(axes, c.concurrency, c.extra)))
			if !again.OK() || again.Kept != len(c.done) && c.name != "a budget of requests" && c.name != "a budget of tokens" {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

func TestWhatAFailureStops(t *testing.T) {
	for policy, want := range map[string]string{
		"continue":    "map[1:degraded 2:done 4:done]",
		"stop_ladder": "map[1:degraded 2:not_run 4:not_run]",
		"stop_sweep":  "map[1:degraded 2:not_run 4:not_run]",
	} {
		e := sim(t, "instant", func(n int, _ string) string {
			if n == 2 {
				return "status:500"
			}
			return ""
		})
		dir := t.TempDir()
		run(t, runner(t, dir, strings.Replace(atAddress(e.BaseURL(), fmt.Sprintf("on_failure = %q", policy)), "[1, 3]", "[1, 2, 4]", 1)))
		if got, reasons := states(t, dir); fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s: %s", policy, got, want, reasons)
		}
	}
}

func TestGates(t *testing.T) {
	const axes = "engine = engine.b\n tier = tier.t\n axis \"words\" { values = [2] }\n"
	gates := `
  gate "few" {
    where  = cell.concurrency < 2
    assert = result.output_tokens < 0
  }
  gate "all" { assert = result.output_tokens > 0 }
  gate "same" { assert = result.output_tokens == baseline.output_tokens }
`
	text := own(axes, "ladder = [1, 2]", gates)
	dir := t.TempDir()
	report := run(t, runner(t, dir, text))
	no := report.FailedGates()
	names, cells := report.UndecidedGates()
	if len(report.Gates) != 5 || len(no) != 1 || no[0].Gate != "few" || no[0].Text != "result.output_tokens < 0" || fmt.Sprint(names, cells) != "[same] map[same:2]" {
		t.Errorf("%+v", report.Gates)
	}
	baseline, err := ReadBaseline([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	r := runner(t, t.TempDir(), text)
	r.Baseline = baseline
	if names, _ := run(t, r).UndecidedGates(); len(names) != 0 {
		t.Errorf("undecided with a baseline: %v", names)
	}
	if _, err := ReadBaseline([]string{t.TempDir()}); err == nil {
		t.Error("a baseline of nothing")
	}
}

func TestWhichCellsAreTriedAgain(t *testing.T) {
	for policy, want := range map[Retry]string{RetryFailed: "map[1:done 3:done]", RetryInterrupted: "map[1:degraded 3:done]", RetryNone: "map[1:degraded 3:done]"} {
		var well atomic.Bool
		e := sim(t, "instant", func(n int, _ string) string {
			if !well.Load() && n == 2 {
				return "status:500"
			}
			return ""
		})
		dir := t.TempDir()
		run(t, runner(t, dir, atAddress(e.BaseURL(), "")))
		well.Store(true)
		again := runner(t, dir, atAddress(e.BaseURL(), ""))
		again.Retry = policy
		report := run(t, again)
		if got, _ := states(t, dir); fmt.Sprint(got) != want || (policy == RetryFailed) != report.OK() {
			t.Errorf("%s: %v, %+v", policy, got, report)
		}
	}
}
