package sweep

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anvilsweep/client/simengine"
	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// A point that cannot be worth its time ends early, marked, and the sweep goes
// on.
func TestCellsThatAreCut(t *testing.T) {
	for name, c := range map[string]struct {
		fault        func(n int, _ string) string
		extra, says  string
		state        artifact.State
		sent, atMost int
	}{
		"all requests fail":     {func(int, string) string { return "status:500" }, "", "abort: 16 of the first 16 requests failed", artifact.StateFailed, 16, 20},
		"too many fail":         {func(n int, _ string) string { return []string{"", "status:500"}[n%2] }, "abort {\n after = 8\n error_rate = 0.5\n }", "requests failed", artifact.StateDegraded, 8, 14},
		"every one at the cap":  {nil, "abort {\n after = 5\n at_max_tokens = true\n }", "abort: each of the first 5 responses ran into max_tokens", artifact.StateDegraded, 5, 8},
		"the cell's time is up": {func(n int, _ string) string { return []string{"", "stall"}[n/10] }, "cell_budget { minutes = 0.01 }", "cell_budget: 0.01 minutes are over", artifact.StateDegraded, 10, 20},
		"the cell's cost is up": {func(n int, _ string) string { return []string{"", "stall"}[n/10] }, "cell_budget { cost = 0.01 }", "cell_budget: 0.01 USD are spent", artifact.StateDegraded, 10, 20},
	} {
		t.Run(name, func(t *testing.T) {
			e := sim(t, "instant", c.fault)
			text := strings.NewReplacer(
				"ladder   = [1, 3]\n  requests = 6", "ladder = [1]\n requests = 200",
				"words = 4, policy = \"strict\", max_tokens = 64", "words = 40, max_tokens = 16",
				"base_url", "price_per_hour = 60\n currency = \"USD\"\n base_url",
			).Replace(atAddress(e.BaseURL(), c.extra))
			dir := t.TempDir()
			began := time.Now()
			report := run(t, runner(t, dir, text))
			m, _ := read(t, dir)
			cell := m.Cells[0]
			if report.States[c.state] != 1 || !strings.Contains(cell.Reason, c.says) || time.Since(began) > 20*time.Second {
				t.Fatalf("%+v: %s", report, cell.Reason)
			}
			d := all(t, dir)[0]
			notSent := d.Sweep.FailureKinds["not_sent"]
			if sent := 200 - notSent; sent < c.sent || sent > c.atMost || d.Sweep.State != "cut" || !strings.Contains(d.Sweep.StateReason, c.says) {
				t.Errorf("%d sent, %s: %s", sent, d.Sweep.State, d.Sweep.StateReason)
			}
		})
	}
}

func TestCellsOverTheirBudgetAreNotBegun(t *testing.T) {
	e := sim(t, "instant", nil)
	for extra, says := range map[string]string{
		"cell_budget { requests = 5 }":        "cell_budget: its 6 requests are over 5",
		"cell_budget { prompt_tokens = 3000}": "cell_budget: its 3072 prompt tokens are over 3000",
	} {
		dir := t.TempDir()
		report := run(t, runner(t, dir, atAddress(e.BaseURL(), extra)))
		m, _ := read(t, dir)
		if report.States[artifact.StateSkipped] != 2 || m.Cells[0].Reason != says {
			t.Errorf("%s: %+v %s", extra, report, m.Cells[0].Reason)
		}
	}
}

// between is the pauses of a run.
func TestCooldown(t *testing.T) {
	e := sim(t, "instant", nil)
	began := time.Now()
	run(t, runner(t, t.TempDir(), atAddress(e.BaseURL(), `cooldown = "300ms"`)))
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("%v for two cells with a pause of 300 ms between", took)
	}
}

// other is a server of that model and version, which is no simulation.
func other(t *testing.T, model, page, body string) string {
	t.Helper()
	e := sim(t, "instant", nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			fmt.Fprintf(w, `{"data":[{"id":%q,"owned_by":"vllm"}]}`, model)
		case page:
			fmt.Fprint(w, body)
		case "/v1/chat/completions":
			http.Redirect(w, r, e.BaseURL()+"/chat/completions", http.StatusTemporaryRedirect) // never followed
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// A server that is another one than the recipe's is not measured, and never
// under the recipe's name.
func TestIdentityBeforeMeasurement(t *testing.T) {
	for name, c := range map[string]struct {
		kind, version, model, page, body string
		refused                          string
	}{
		"as declared":          {"vllm", "0.32.0", "m", "/version", `{"version":"0.32.0"}`, ""},
		"a build of it":        {"vllm", "0.32.0", "m", "/version", `{"version":"v0.32.0+cu128"}`, ""},
		"the line declared":    {"vllm", "0.32", "m", "/version", `{"version":"0.32.4"}`, ""},
		"another version":      {"vllm", "0.32.0", "m", "/version", `{"version":"0.31.2"}`, "the server says 0.31.2"},
		"0.3 is not 0.32":      {"vllm", "0.3", "m", "/version", `{"version":"0.32.0"}`, "the server says 0.32.0"},
		"another model":        {"vllm", "0.32.0", "n", "/version", `{"version":"0.32.0"}`, "the recipe's model is m, and the server lists n"},
		"says nothing":         {"vllm", "0.32.0", "m", "/x", ``, ""},
		"no JSON":              {"vllm", "0.32.0", "m", "/version", `<html>`, ""},
		"sglang":               {"sglang", "0.5.1", "m", "/get_server_info", `{"version":"0.4.0","model_path":"/models/m"}`, "the server says 0.4.0"},
		"llama.cpp":            {"llamacpp", "b4567", "m", "/props", `{"build_info":"b4567-abc","model_path":"m.gguf"}`, ""},
		"ollama":               {"ollama", "0.12", "m", "/api/version", `{"version":"0.11.2"}`, "the server says 0.11.2"},
		"a kind without pages": {"openai", "1", "m", "/version", `{"version":"2"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			url := other(t, c.model, c.page, c.body)
			engine := fmt.Sprintf("engine \"vllm\" {\n kind = %q\n version = %q\n}", c.kind, c.version)
			text := strings.Replace(atAddress(url, ""), `engine "vllm" { version = "0.32.0" }`, engine, 1)
			dir := t.TempDir()
			run(t, runner(t, dir, text))
			d := all(t, dir)[0]
			kinds := d.Sweep.FailureKinds
			if (kinds["identity"] == 6) != (c.refused != "") {
				t.Fatalf("%v, %v", kinds, d.FailureList()[0])
			}
			if message := fmt.Sprint(d.FailureList()[0]["error_message"]); c.refused != "" && !strings.Contains(message, c.refused) {
				t.Error(message)
			}
			if c.refused == "" {
				return
			}
			// Allowed, it is measured, flagged, and under its own version.
			allowed := strings.Replace(text, "version = ", "identity = \"record\"\n version = ", 1)
			dir = t.TempDir()
			run(t, runner(t, dir, allowed))
			d = all(t, dir)[0]
			if d.Sweep.FailureKinds["identity"] > 0 || len(d.Sweep.Flags) == 0 || d.Sweep.Flags[0].Name != artifact.FlagIdentity {
				t.Errorf("%v %v", d.Sweep.FailureKinds, d.Sweep.Flags)
			}
			if said := d.Sweep.Endpoint.Reported.Version; said != nil && !strings.HasSuffix(d.Engine, *said) {
				t.Errorf("engine %q, and the server says %s", d.Engine, *said)
			}
		})
	}
}

// Two embedded replicas: a common start, an artifact each with one clock and
// one fingerprint, and an aggregate that rules look at and that comes out the
// same again.
func TestReplicas(t *testing.T) {
	dir := t.TempDir()
	text := `
engine "sim" {}
tier "pair" {
  profile  = "instant"
  replicas = 2
}
concurrency "c" {
  ladder   = [2, 3]
  requests = 60
}
sweep "s" {
  model       = "m"
  engine      = engine.sim
  tier        = tier.pair
  context     = 512
  concurrency = concurrency.c
  output      = { words = 4, policy = "strict", max_tokens = 64 }
  gate "both" { assert = result.output_tokens == 600 }
}
`
	report := run(t, runner(t, dir, text))
	if !report.OK() || len(report.Gates) != 2 || report.Gates[0].Verdict != recipe.Yes {
		t.Fatalf("%+v", report)
	}
	m, docs := read(t, dir)
	if files := m.Cells[0].Artifacts; len(files) != 3 || !strings.HasSuffix(files[2].Path, ".aggregate.json") || files[0].Attempt != 1 {
		t.Fatalf("%+v", files)
	}
	joined := docs[4] // two times two
	if joined == nil || joined.Kind != artifact.KindAggregate || joined.Requests != 120 || len(joined.Rows) != 120 {
		t.Fatalf("%+v", joined)
	}
	data, err := os.ReadFile(joined.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"synchronization": "exact"`, `"status": "declared-matching-fingerprint"`, `"throughput_estimate_kind": "exact"`, `"replica_count": 2`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the aggregate lacks %s", want)
		}
	}
	// The second time nothing is run; one byte of one replica, and the cell is.
	if again := run(t, runner(t, dir, text)); again.Kept != 2 {
		t.Errorf("%+v", again)
	}
	replica := filepath.Join(dir, filepath.FromSlash(m.Cells[0].Artifacts[1].Path))
	if err := os.WriteFile(replica, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := run(t, runner(t, dir, text)); again.Kept != 1 || !again.OK() {
		t.Errorf("%+v", again)
	}
}

// A replica that fails keeps the cell from being taken as a whole.
func TestAReplicaThatFails(t *testing.T) {
	good, bad := sim(t, "instant", nil), sim(t, "instant", func(n int, _ string) string { return []string{"", "status:500"}[n%2] })
	dir := t.TempDir()
	text := strings.Replace(atAddress(good.BaseURL(), ""), "base_url", fmt.Sprintf("replicas = [%q]\n base_url", bad.BaseURL()), 1)
	report := run(t, runner(t, dir, text))
	m, _ := read(t, dir)
	if report.States[artifact.StateDegraded] != 2 || len(m.Cells[0].Artifacts) != 2 || !strings.Contains(m.Cells[0].Reason, "3 of 12 requests failed") {
		t.Errorf("%+v %+v", report, m.Cells[0])
	}
}

// The engine's own page: how many it ran of those in flight, and what it put
// back.
func TestMetricsPage(t *testing.T) {
	e := simWith(t, simengine.Options{Memory: 900, Profile: simengine.Profile{Name: "p", MaxModelLen: 4096, MaxSeqs: 2, PrefillTokS: 1e6, PrefillChunk: 4096, DecodeStep: 4 * time.Millisecond, PrefixBlock: 16, CacheTokens: 1 << 16}})
	text := strings.NewReplacer(
		`version = "0.32.0"`, `metrics {
  interval = "100ms"
  also     = ["vllm:num_requests_running"]
}`,
		"[1, 3]", "[6]", "requests = 6", "requests = 24", `words = 4, policy = "strict", max_tokens = 64`, "words = 60, max_tokens = 80",
	).Replace(atAddress(e.BaseURL(), ""))
	text = strings.Replace(text, `engine "vllm" { metrics`, "engine \"vllm\" {\n metrics", 1)
	text = strings.Replace(text, "\n} }", "\n }\n}", 1)
	dir := t.TempDir()
	if report := run(t, runner(t, dir, text)); !report.OK() {
		t.Fatalf("%+v", report)
	}
	s := all(t, dir)[0].Sweep
	p := s.Server
	if p == nil || p.Samples < 4 || p.Failed > 0 || p.Running == nil || p.Running.Max != 2 || p.Waiting.Max < 2 || p.KVUse.Max <= 0 || p.KVUse.Max > 1 {
		t.Fatalf("%+v", p)
	}
	if *p.Queries <= 0 || p.HitRate == nil || p.Names["running"] != "vllm:num_requests_running" || p.Others["vllm:num_requests_running"].Max != 2 {
		t.Errorf("%+v", p)
	}
	flags := fmt.Sprint(s.Flags)
	if !strings.Contains(flags, "6 requests were in flight, the engine ran at most 2") {
		t.Error(flags)
	}
}

func TestAMetricsPageThatIsNone(t *testing.T) {
	p, err := readPage([]byte("# TYPE a gauge\na{tp_rank=\"0\",w=\"x\"} 2\na{tp_rank=\"1\",w=\"x\"} 2\na{tp_rank=\"0\",w=\"y\"} 3\nb NaN\n"))
	if err != nil || p["a"].sum != 5 || p["a"].top != 3 {
		t.Errorf("parts of one worker count once: %+v %v", p, err)
	}
	if _, there := p["b"]; there {
		t.Error("NaN is no reading")
	}
	for _, text := range []string{"<html>", "a{", "a 1 2 3 4\n"} {
		if _, err := readPage([]byte(text)); err == nil {
			t.Errorf("%q is taken for a page", text)
		}
	}
	e := sim(t, "instant", nil)
	dir := t.TempDir()
	text := strings.Replace(atAddress(e.BaseURL(), ""), `version = "0.32.0"`, `metrics { path = "/nothing" }`, 1)
	text = strings.Replace(text, `engine "vllm" { metrics { path = "/nothing" } }`, "engine \"vllm\" {\n metrics { path = \"/nothing\" }\n}", 1)
	if report := run(t, runner(t, dir, text)); !report.OK() {
		t.Fatalf("a page that is not there fails no cell: %+v", report)
	}
	if p := all(t, dir)[0].Sweep.Server; p.Samples != 0 || p.Failed == 0 || p.Reason == nil || p.Running != nil {
		t.Errorf("%+v", p)
	}
}

// The declared factor is the only difference, or the plan is refused with the
// others.
func TestMatchedPairs(t *testing.T) {
	text := func(flags, context, extra string) string {
		return `
engine "vllm" {
  version = axis.draft == 0 ? "0.32.0" : "` + extra + `"
  flags   = ` + flags + `
}
tier "t" { base_url = axis.draft == 0 ? "http://127.0.0.1:8000/v1" : "http://127.0.0.1:8001/v1" }
sweep "s" {
  model  = "m"
  engine = engine.vllm
  tier   = tier.t
  axis "draft" { values = [0, 3] }
  context     = [512, 1024]
  concurrency = 1
  output      = { max_tokens = 64 }
  matched "speculative" {
    axis      = "draft"
    control   = 0
    candidate = 3
    factor    = "engine.flags.draft"
  }
  ` + context + `
}
`
	}
	planText(t, text(`{ draft = axis.draft, seqs = 64 }`, "", "0.32.0"))
	for want, recipeText := range map[string]string{
		`they differ in engine.flags.seqs too: 64 and 192`:         text(`{ draft = axis.draft, seqs = 64 + axis.draft * 128 / 3 }`, "", "0.32.0"),
		`they differ in engine.version too: "0.32.0" and "0.33.0"`: text(`{ draft = axis.draft }`, "", "0.33.0"),
		`has no candidate`: text(`{ draft = axis.draft }`, "exclude \"x\" { when = axis.draft == 3 && cell.context == 1024 }", "0.32.0"),
	} {
		r, diags := loadText(t, recipeText)
		if diags.HasErrors() {
			t.Fatal(describeDiags(t, diags))
		}
		_, diags, err := NewPlan(r)
		if got := strings.Join(strings.Fields(describeDiags(t, diags)), " "); err != nil || !diags.HasErrors() || !strings.Contains(got, want) {
			t.Errorf("want %q: %v %s", want, err, got)
		}
	}
}

// Two sweeps on one endpoint measure each other.
func TestEndpointLocks(t *testing.T) {
	e := sim(t, "instant", nil)
	locks := t.TempDir()
	first := runner(t, t.TempDir(), atAddress(e.BaseURL(), ""))
	first.Locks = locks
	if err := first.Open(); err != nil {
		t.Fatal(err)
	}
	second := runner(t, t.TempDir(), atAddress(e.BaseURL(), ""))
	second.Locks = locks
	err := second.Open()
	if err == nil || !strings.Contains(err.Error(), "is in use by another sweep: process "+fmt.Sprint(os.Getpid())) {
		t.Fatalf("%v", err)
	}
	if report := run(t, third(t, first)); !report.OK() {
		t.Errorf("%+v", report)
	}
	// Given back, and what the file says is stale then and does not matter.
	if report := run(t, second); !report.OK() {
		t.Errorf("%+v", report)
	}
}

// third ends a runner that was opened only, and is one elsewhere.
func third(t *testing.T, r *Runner) *Runner {
	t.Helper()
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.unlock(); err != nil {
		t.Fatal(err)
	}
	return r
}

// A replica that went well beside one that did not is not its cell: no gate, no
// baseline and no comparison takes it for one.
func TestALoneReplicaIsNotItsCell(t *testing.T) {
	good, bad := sim(t, "instant", nil), sim(t, "instant", func(int, string) string { return "status:500" })
	// The good one is the last, so that taking the last file for the cell shows.
	text := strings.Replace(atAddress(bad.BaseURL(), "gate \"fast\" { assert = result.ttft_p50_ms < 100000 }"), "base_url", fmt.Sprintf("replicas = [%q]\n base_url", good.BaseURL()), 1)
	dir := t.TempDir()
	r := runner(t, dir, text)
	report := run(t, r)
	for _, g := range report.Gates {
		if g.Verdict != recipe.Undecided {
			t.Errorf("during the run, gate %q says %v of a cell without an aggregate", g.Gate, g.Verdict)
		}
	}
	if b, err := ReadBaseline([]string{dir}); err == nil {
		t.Errorf("a baseline of %d cells, none of which was measured whole", len(b))
	}
	gates, err := HoldGates(r.Plan, dir, nil)
	if err != nil || len(gates) != 2 || gates[0].Verdict != recipe.Undecided || gates[1].Verdict != recipe.Undecided {
		t.Errorf("afterwards as during the run: %+v %v", gates, err)
	}
}
