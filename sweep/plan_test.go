package sweep

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

const matrix = `
engine "a" { version = "1" }
engine "b" {}
tier "big" {
  gpu        = "H"
  memory_gib = 80
  base_url   = "http://10.0.0.1/v1"
}
tier "little" {
  gpu        = "L"
  memory_gib = 24
  base_url   = "http://10.0.0.2/v1"
}
concurrency "c" {
  ladder   = [4, 1, 2]
  requests = 2 * cell.concurrency
  warmup   = 1
}
output "o" {
  words      = 8
  policy     = "strict"
  max_tokens = 64
}
sweep "s" {
  model       = "org/model-8b"
  engine      = [engine.a, engine.b]
  tier        = [tier.big, tier.little]
  concurrency = concurrency.c
  context     = [1024, 512]
  output      = output.o
  exclude "too little" {
    when = cell.tier.memory_gib < 30 && cell.concurrency > 2
  }
}
`

func loadText(t testing.TB, text string, edits ...string) (*recipe.Recipe, recipe.Diagnostics) {
	t.Helper()
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("the recipe has no %q", edits[i])
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	path := filepath.Join(t.TempDir(), "r.sweep.hcl")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return recipe.Load([]string{path}, recipe.Options{Metrics: artifact.MetricNames()})
}

func describeDiags(t testing.TB, d recipe.Diagnostics) string {
	t.Helper()
	var b strings.Builder
	if err := d.WriteText(&b, 100, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func planText(t testing.TB, text string, edits ...string) *Plan {
	t.Helper()
	r, diags := loadText(t, text, edits...)
	if diags.HasErrors() {
		t.Fatal(describeDiags(t, diags))
	}
	plan, diags, err := NewPlan(r)
	if err != nil || diags.HasErrors() {
		t.Fatal(err, describeDiags(t, diags))
	}
	return plan
}

func cellNames(s *PlannedSweep) []string {
	var out []string
	for i := range s.Cells {
		p := s.Cells[i].Point
		out = append(out, fmt.Sprintf("%s.%s.%d.%d", p.Engine.Name, p.Tier.Name, p.Context.Tokens, p.Concurrency.Value))
	}
	return out
}

// Axes vary in source order, the first slowest; concurrency is moved innermost
// and ascends.
func TestOrderOfCells(t *testing.T) {
	s := &planText(t, matrix).Sweeps[0]
	var want []string
	for _, engine := range []string{"a", "b"} {
		for _, tier := range []string{"big", "little"} {
			for _, context := range []string{"1024", "512"} {
				for _, c := range []string{"1", "2", "4"} {
					if tier != "little" || c != "4" {
						want = append(want, strings.Join([]string{engine, tier, context, c}, "."))
					}
				}
			}
		}
	}
	if got := cellNames(s); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if len(s.Excluded) != 4 || s.Excluded[0].Reason != "too little" || s.Excluded[0].Point.Concurrency.Value != 4 {
		t.Errorf("%+v", s.Excluded)
	}
	requests, tokens := s.Totals()
	// big: 2+4+8 requests, little: 2+4, over two engines, at 1024 and at 512
	if requests != 2*2*(14+6) || tokens != 2*(14+6)*(1024+512) {
		t.Errorf("%d requests, %d tokens", requests, tokens)
	}
}

func TestRepeatsWalkTheMatrixAgain(t *testing.T) {
	s := &planText(t, matrix, "output      = output.o", "output      = output.o\n  repeat      = 2").Sweeps[0]
	once := &planText(t, matrix).Sweeps[0]
	if len(s.Cells) != 2*len(once.Cells) {
		t.Fatalf("%d cells", len(s.Cells))
	}
	for i := range once.Cells {
		first, second := s.Cells[i], s.Cells[len(once.Cells)+i]
		if first.Point.Repeat != 1 || second.Point.Repeat != 2 || first.Digest == second.Digest || first.Seed == second.Seed || !strings.Contains(second.ID, ".r2-") {
			t.Fatalf("%s and %s", first.ID, second.ID)
		}
		if first.Fingerprint != second.Fingerprint {
			t.Error("a repeat is the same configuration")
		}
	}
}

func TestPlansAreTheSameEveryTime(t *testing.T) {
	r, _ := loadText(t, matrix)
	var want string
	for i := range 100 {
		plan, _, err := NewPlan(r)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, c := range plan.Sweeps[0].Cells {
			fmt.Fprintln(&b, c.ID, c.Digest, c.Fingerprint, c.Seed, c.Requests)
		}
		if i == 0 {
			want = b.String()
		}
		if b.String() != want {
			t.Fatal("another plan of the same recipe")
		}
	}
}

func TestIDsAreReadableAndSafe(t *testing.T) {
	s := &planText(t, matrix).Sweeps[0]
	safe := regexp.MustCompile(`^[A-Za-z0-9._-]{1,200}$`)
	seen := map[string]bool{}
	for _, c := range s.Cells {
		if !safe.MatchString(c.ID) || seen[strings.ToLower(c.ID)] {
			t.Errorf("%q", c.ID)
		}
		seen[strings.ToLower(c.ID)] = true
	}
	if id := s.Cells[0].ID; !regexp.MustCompile(`^a\.big\.ctx1024\.c1\.o-[0-9a-f]{8}$`).MatchString(id) {
		t.Errorf("%q", id)
	}
	two := &planText(t, matrix, `"org/model-8b"`, `["org/model-8b", "../../ü `+strings.Repeat("x", 300)+`"]`).Sweeps[0]
	for _, c := range two.Cells {
		if !safe.MatchString(c.ID) || strings.Contains(c.ID, "..") {
			t.Errorf("%q", c.ID)
		}
	}
}

// What shapes the measurement changes the digest; names, notes and prices do
// not. The fingerprint is about the replica only.
func TestIdentity(t *testing.T) {
	base := planText(t, matrix).Sweeps[0].Cells[0]
	for _, c := range []struct {
		name        string
		from, to    string
		digest      bool // changes
		fingerprint bool
	}{
		{"engine version", `version = "1"`, `version = "2"`, true, true},
		{"engine flags", `version = "1"`, "version = \"1\"\n  flags = { x = 1 }\n", true, true},
		{"gpu", `gpu        = "H"`, `gpu        = "HH"`, true, true},
		{"memory", `memory_gib = 80`, `memory_gib = 96`, true, true},
		{"model", `"org/model-8b"`, `"org/model-9b"`, true, true},
		{"endpoint", "http://10.0.0.1/v1", "http://10.0.0.9/v1", true, false},
		{"requests", "2 * cell.concurrency", "3 * cell.concurrency", true, false},
		{"warm-up", "warmup   = 1", "warmup   = 2", true, false},
		{"words", "words      = 8", "words      = 9", true, false},
		{"policy", `policy     = "strict"`, `policy     = "observe"`, true, false},
		{"max_tokens", "max_tokens = 64", "max_tokens = 65", true, false},
		{"temperature", "max_tokens = 64", "max_tokens = 64\n  temperature = 0.5", true, false},
		{"canaries", "max_tokens = 64", "max_tokens = 64\n  canaries = false", true, false},
		{"ignore_eos", "max_tokens = 64", "max_tokens = 64\n  ignore_eos = true", true, false},
		{"seed", "output      = output.o", "output      = output.o\n  seed = 4", true, false},
		{"price", `gpu        = "H"`, "gpu        = \"H\"\n  price_per_hour = 4", false, false},
		{"key's name", `gpu        = "H"`, "gpu        = \"H\"\n  api_key_env = \"K\"", false, false},
		{"labels", `version = "1"`, "version = \"1\"\n  labels = { note = \"x\" }\n", false, false},
		{"description", "output      = output.o", "output      = output.o\n  description = \"x\"", false, false},
		{"a comment", "output      = output.o", "output      = output.o # x", false, false},
	} {
		text := matrix
		if strings.Contains(c.to, "\n") && strings.HasPrefix(c.from, "version") {
			text = strings.Replace(text, `engine "a" { version = "1" }`, "engine \"a\" {\n  version = \"1\"\n}", 1)
		}
		got := planText(t, text, c.from, c.to).Sweeps[0].Cells[0]
		if (got.Digest != base.Digest) != c.digest {
			t.Errorf("%s: digest changed is %v", c.name, got.Digest != base.Digest)
		}
		if (got.Fingerprint != base.Fingerprint) != c.fingerprint {
			t.Errorf("%s: fingerprint changed is %v", c.name, got.Fingerprint != base.Fingerprint)
		}
	}
	renamed := strings.NewReplacer(`tier "big"`, `tier "huge"`, "tier.big", "tier.huge", `output "o"`, `output "p"`, "output.o", "output.p", `sweep "s"`, `sweep "z"`).Replace(matrix)
	if got := planText(t, renamed).Sweeps[0].Cells[0]; got.Digest != base.Digest || got.ID == base.ID {
		t.Errorf("renaming labels keeps the digest and changes the id: %s %s", got.ID, got.Digest)
	}
}

func TestDigestIsOverCanonicalJSON(t *testing.T) {
	a := digest(map[string]any{"b": json.Number("1"), "a": map[string]any{"y": "<&>", "x": nil}})
	// printf '{"a":{"x":null,"y":"<&>"},"b":1}' | sha256sum
	if a != "sha256:a353523d46fd6259098012e76b8459ab8890af24793639c259a70871dd593c0c" {
		t.Error(a)
	}
	if a != digest(map[string]any{"a": map[string]any{"x": nil, "y": "<&>"}, "b": json.Number("1")}) {
		t.Error("the order of keys matters")
	}
}

func TestSeeds(t *testing.T) {
	s := &planText(t, matrix).Sweeps[0]
	seen := map[int64]bool{}
	for _, c := range s.Cells {
		if c.Seed < 0 || c.Seed >= 1<<31 || c.SeedOrigin != "cell_digest_and_start" || seen[c.Seed] {
			t.Errorf("%s: seed %d from %s", c.ID, c.Seed, c.SeedOrigin)
		}
		seen[c.Seed] = true
	}
	// Two runs of a cell share no prompt, unless the recipe fixes the seed or the
	// seed draws the contexts.
	c, now := &s.Cells[0], time.Unix(1, 0)
	if a, b := c.salted(now), c.salted(now.Add(1)); a.Seed == b.Seed || a.Seed == c.Seed || a.Seed < 0 || a.ID != c.ID || a.Seed != c.salted(now).Seed {
		t.Errorf("seeds %d, %d of %d", a.Seed, b.Seed, c.Seed)
	}
	drawn := planText(t, matrix, "context     = [1024, 512]", "context     = \"sampled\"").Sweeps[0].Cells[0]
	if drawn.salted(now).Seed != drawn.Seed || drawn.SeedOrigin != "cell_digest" {
		t.Errorf("sampled contexts: %d from %s", drawn.Seed, drawn.SeedOrigin)
	}
	fixed := planText(t, matrix, "output      = output.o", "output      = output.o\n  seed = -3").Sweeps[0].Cells[0]
	if fixed.salted(now).Seed != -3 || fixed.Seed != -3 || fixed.SeedOrigin != "recipe" {
		t.Errorf("%d from %s", fixed.Seed, fixed.SeedOrigin)
	}
}

// A matrix over the cap is refused before it is built, with its size and what
// made it so, however large.
func TestCapIsHeldBeforeExpansion(t *testing.T) {
	r, diags := loadText(t, matrix, "[1024, 512]", "concat(range(100, 1100), range(2000, 3000))", "[4, 1, 2]", "range(1, 257)")
	if diags.HasErrors() {
		t.Fatal(describeDiags(t, diags))
	}
	if _, _, err := NewPlan(r); err == nil || !strings.Contains(err.Error(), "2048000 cells (model 1 × engine 2 × tier 2 × concurrency 256 × context 2000 × output 1)") || !strings.Contains(err.Error(), "max_cells") {
		t.Errorf("%v", err)
	}
	big := &recipe.Sweep{Name: "x", Repeat: 1000, MaxCells: 10}
	for range 7 {
		big.Axes = append(big.Axes, recipe.Axis{Name: "context", Values: make([]recipe.Value, 1000)})
	}
	if err := checkCap(big); err == nil || !strings.Contains(err.Error(), "more than 18446744073709551615 cells") {
		t.Errorf("%v", err)
	}
	raised := planText(t, matrix, "output      = output.o", "output      = output.o\n  max_cells = 24")
	if raised.Cells() != 20 {
		t.Errorf("%d cells", raised.Cells())
	}
}

func TestPlansThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		edits []string
		names []string
		want  string
	}{
		{"unknown sweep", nil, []string{"nightly"}, `no sweep "nightly"`},
		{"everything excluded", []string{"cell.tier.memory_gib < 30 && cell.concurrency > 2", "true"}, nil, "every point is excluded"},
		{"more tokens than a cell may have", []string{"[1024, 512]", "1048576", "2 * cell.concurrency", "1000"}, nil, "over the format's bound"},
		{"profile without the embedded engine", []string{`gpu        = "H"`, "gpu        = \"H\"\n  profile = \"small\""}, nil, "is for the embedded engine"},
		{"profile that is not there", []string{`engine "b" {}`, "engine \"b\" { kind = \"sim\" }\ntier \"x\" { profile = \"smal\" }", "[engine.a, engine.b]", "engine.b", "[tier.big, tier.little]", "tier.x"}, nil, "instant, large, small"},
	} {
		r, diags := loadText(t, matrix, c.edits...)
		if diags.HasErrors() {
			t.Fatalf("%s: %s", c.name, describeDiags(t, diags))
		}
		if _, _, err := NewPlan(r, c.names...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A kept expression that fails on some cell is found by planning, at its place.
func TestExpressionsThatFailOnLaterCells(t *testing.T) {
	r, diags := loadText(t, matrix, "2 * cell.concurrency", "cell.context < 1000 ? 0 : 2")
	if diags.HasErrors() {
		t.Fatal(describeDiags(t, diags))
	}
	_, diags, err := NewPlan(r)
	// Ten cells meet the fault; it is one fault, told with the values of the
	// first.
	if text := describeDiags(t, diags); err != nil || diags.Errors() != 1 || diags.List()[0].Line == 0 || !strings.Contains(text, "with cell.context as 512") {
		t.Errorf("%v %s", err, text)
	}
}

// What no engine could run is an error, what is surely unwanted a warning; each
// once, however many cells it is about.
func TestAdvice(t *testing.T) {
	window := []string{`"org/model-8b"`, "model.m", "sweep \"s\" {", "model \"m\" {\n  id = \"m\"\n  context_window = WINDOW\n}\nsweep \"s\" {"}
	with := func(size string, more ...string) []string {
		return append([]string{window[0], window[1], window[2], strings.Replace(window[3], "WINDOW", size, 1)}, more...)
	}
	for _, c := range []struct {
		name     string
		edits    []string
		errors   int
		warnings int
		says     string
	}{
		{"window without room", with("1000"), 1, 0, "leaves nothing for a prompt"},
		{"a prompt above the window", with("1100", "[1024, 512]", "[2048]", "max_tokens = 64", "max_tokens = 16"), 1, 0, "is above the window of model m, 1100"},
		{"a prompt that leaves no room for the answer", with("2048"), 0, 1, "context 1024 is cut to 960 for model m"},
		{"a prompt that just fits", with("2112"), 0, 0, ""},
		{"a ladder above the engine's sequences", []string{`engine "b" {}`, `engine "b" { flags = { max_num_seqs = 2 } }`}, 0, 1, "runs 2 sequences at once (max_num_seqs)"},
		{"strict words without room", []string{"words      = 8", "words      = 60"}, 0, 1, "raise max_tokens to 92"},
	} {
		r, diags := loadText(t, matrix, c.edits...)
		if diags.HasErrors() {
			t.Fatalf("%s: %s", c.name, describeDiags(t, diags))
		}
		_, diags, err := NewPlan(r)
		if text := describeDiags(t, diags); err != nil || diags.Errors() != c.errors || diags.Warnings() != c.warnings || !strings.Contains(strings.Join(strings.Fields(text), " "), c.says) {
			t.Errorf("%s: %v %s", c.name, err, text)
		}
	}
}

// Two names for one measurement are one cell, and the plan says so.
func TestTheSameMeasurementUnderTwoNames(t *testing.T) {
	s := &planText(t, matrix, "[tier.big, tier.little]", "[tier.big, tier.twin]", `engine "b" {}`,
		"engine \"b\" {}\ntier \"twin\" {\n  gpu = \"H\"\n  memory_gib = 80\n  base_url = \"http://10.0.0.1/v1\"\n}").Sweeps[0]
	if len(s.Cells) != 12 || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "12 points") {
		t.Errorf("%d cells, %q", len(s.Cells), s.Notes)
	}
}

func TestSampledContexts(t *testing.T) {
	s := &planText(t, matrix, "[1024, 512]", `"sampled"`, "2 * cell.concurrency", "50").Sweeps[0]
	c := s.Cells[0]
	contexts := c.contexts(nil)
	if len(contexts) != 50 || !strings.Contains(c.ID, "ctxsampled") || Axes(c.Point)["context"] != "sampled" {
		t.Errorf("%s: %v", c.ID, contexts)
	}
	window := 40_000
	for _, tokens := range c.contexts(&window) {
		if tokens > window-64-1024 {
			t.Errorf("%d tokens in a window of %d", tokens, window)
		}
	}
}

func TestSweepsByName(t *testing.T) {
	two := matrix + strings.Replace(matrix[strings.Index(matrix, "sweep"):], `sweep "s"`, `sweep "later"`, 1)
	r, diags := loadText(t, two)
	if diags.HasErrors() {
		t.Fatal(describeDiags(t, diags))
	}
	plan, _, err := NewPlan(r, "later")
	if err != nil || len(plan.Sweeps) != 1 || plan.Sweeps[0].Name != "later" {
		t.Fatalf("%v", err)
	}
	both, _, err := NewPlan(r, "later", "s")
	if err != nil || len(both.Sweeps) != 2 || both.Sweeps[0].Name != "s" {
		t.Error("sweeps are planned in source order")
	}
	if !strings.HasPrefix(plan.Sweeps[0].SourceRecipe, "r.sweep.hcl#later@sha256:") {
		t.Error(plan.Sweeps[0].SourceRecipe)
	}
}

func BenchmarkPlan(b *testing.B) {
	r, diags := loadText(b, matrix, "[1024, 512]", "range(100, 1100)", "[4, 1, 2]", "range(1, 26)", "output      = output.o", "output      = output.o\n  max_cells = 200000")
	if diags.HasErrors() {
		b.Fatal(describeDiags(b, diags))
	}
	b.ReportAllocs()
	for b.Loop() {
		plan, _, err := NewPlan(r)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(plan.Cells()), "cells")
	}
}

// A digest is that of the documented JSON, however it is put together.
func TestDigestsAreOfTheirParts(t *testing.T) {
	for _, text := range []string{matrix, own(ownAxes, "ladder = [1, 2]", "seed = 4\n connection = \"fresh\"")} {
		plan := planText(t, text)
		for i := range plan.Sweeps {
			s := &plan.Sweeps[i]
			for _, c := range s.Cells {
				if want := digest(measurement(s.Rules, c.Point, c.Requests, c.Arrivals)); c.Digest != want {
					t.Errorf("%s: %s, want %s", c.ID, c.Digest, want)
				}
				if want := digest(replica(c.Point)); c.Fingerprint != want {
					t.Errorf("%s: %s, want %s", c.ID, c.Fingerprint, want)
				}
			}
		}
	}
}

// Whatever text is given as a recipe, loading and planning it ends, with a plan
// or with words.
func FuzzPlan(f *testing.F) {
	f.Add(matrix)
	f.Add(own(ownAxes, "ladder = [1, 2]\n stop \"a\" { when = result.ttft_p95_ms > previous.ttft_p95_ms }", "order = [\"words\"]\n include \"x\" { seqs = 3 }"))
	f.Add(strings.Replace(matrix, "[1024, 512]", "range(1, 1000000)", 1))
	f.Add(strings.Replace(matrix, "[4, 1, 2]", "ladder(1, 256, 1.0001)", 1))
	f.Add("locals {\n a = local.b\n b = local.a\n}\n" + matrix)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 20_000 {
			t.Skip()
		}
		path := filepath.Join(t.TempDir(), "r.sweep.hcl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, diags := recipe.Load([]string{path}, recipe.Options{Metrics: artifact.MetricNames()})
		if diags.HasErrors() {
			for _, d := range diags.List() {
				if d.Summary == "" {
					t.Error("a diagnostic without words")
				}
			}
			return
		}
		plan, diags, err := NewPlan(r)
		if plan == nil && err == nil && !diags.HasErrors() {
			t.Error("no plan, and no word why")
		}
	})
}
