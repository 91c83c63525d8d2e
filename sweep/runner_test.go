package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"anvilsweep/client"
	"anvilsweep/client/simengine"
	"anvilsweep/sweep/artifact"
)

// TestMain is also an engine that crashes at its first request, for tests of
// engines that a run starts.
func TestMain(m *testing.M) {
	if address := os.Getenv("ANVILSWEEP_TEST_ENGINE"); address != "" {
		profile, err := simengine.ProfileByName("instant")
		if err != nil {
			panic(err)
		}
		e := simengine.New(simengine.Options{
			Profile: profile, Models: []string{"m"}, Loading: 100 * time.Millisecond,
			Fault: func(int, string) string { return "crash" },
			Crash: func() {
				fmt.Println("simulated crash: out of memory")
				os.Exit(9)
			},
		})
		if err := e.Listen(address); err != nil {
			panic(err)
		}
		select {}
	}
	goleak.VerifyTestMain(m)
}

// freePort is an address that nothing listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

// sim serves the embedded engine at an address, with a fault for each request.
func sim(t *testing.T, profile string, fault func(n int, model string) string) *simengine.Engine {
	t.Helper()
	p, err := simengine.ProfileByName(profile)
	if err != nil {
		t.Fatal(err)
	}
	e := simengine.New(simengine.Options{Profile: p, Fault: fault})
	if err := e.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// atAddress is a recipe of one tier at an address, with what more is given.
func atAddress(url, extra string) string {
	return fmt.Sprintf(`
engine "vllm" { version = "0.32.0" }
tier "t" {
  gpu      = "NVIDIA H200"
  base_url = %q
}
concurrency "c" {
  ladder   = [1, 3]
  requests = 6
}
sweep "s" {
  model       = "m"
  engine      = engine.vllm
  tier        = tier.t
  context     = 512
  concurrency = concurrency.c
  output      = { words = 4, policy = "strict", max_tokens = 64 }
  %s
}
`, url, extra)
}

func runner(t *testing.T, dir, text string) *Runner {
	t.Helper()
	return &Runner{
		Plan: planText(t, text), Dir: dir, Version: "test", Log: hclog.NewNullLogger(),
		Getenv: func(string) string { return "" },
	}
}

func run(t *testing.T, r *Runner) Report {
	t.Helper()
	report, err := start(r, context.Background(), context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func start(r *Runner, admit, flight context.Context) (Report, error) {
	if err := r.Open(); err != nil {
		return Report{}, err
	}
	return r.Run(admit, flight)
}

// read verifies everything in the folder and returns its artifacts by
// concurrency, the last attempt of each cell.
func read(t *testing.T, dir string) (artifact.Manifest, map[int]*artifact.Document) {
	t.Helper()
	docs, err := artifact.Collect([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var manifest artifact.Manifest
	byPath := map[string]*artifact.Document{}
	for _, d := range docs {
		if report := artifact.Verify(d); len(report.Faults) > 0 || report.Verdict() == "not an artifact" {
			t.Errorf("%s: %s: %v", d.Path, report.Verdict(), report.Faults)
		}
		byPath[d.Path] = d
		if d.Kind == artifact.KindManifest {
			manifest = *d.Manifest
		}
	}
	out := map[int]*artifact.Document{}
	for _, cell := range manifest.Cells {
		if n := len(cell.Artifacts); n > 0 {
			d := byPath[filepath.Join(dir, filepath.FromSlash(cell.Artifacts[n-1].Path))]
			if d == nil {
				t.Fatalf("the manifest names %s, which is not there", cell.Artifacts[n-1].Path)
			}
			out[d.Concurrency] = d
		}
	}
	leftovers, err := filepath.Glob(filepath.Join(dir, "*", "*", ".*.tmp"))
	if err != nil || len(leftovers) > 0 {
		t.Errorf("left behind: %v %v", leftovers, err)
	}
	return manifest, out
}

func TestARunLeavesLinkedArtifacts(t *testing.T) {
	e := sim(t, "instant", nil)
	dir := t.TempDir()
	r := runner(t, dir, atAddress(e.BaseURL(), "repeat = 1"))
	report := run(t, r)
	if !report.OK() || report.Cells != 2 {
		t.Fatalf("%+v", report)
	}
	manifest, docs := read(t, dir)
	if len(docs) != 2 || manifest.Program != "anvilsweep test" || len(manifest.Recipe.Sources) != 1 {
		t.Fatalf("%d artifacts, %+v", len(docs), manifest)
	}
	d := docs[3]
	if d.Tier != "t" || d.Requests != 6 || d.Completed != 6 || !strings.HasPrefix(d.SourceRecipe, "r.sweep.hcl#s@sha256:") || d.ManifestPath != "../../sweep.json" ||
		!strings.HasPrefix(d.ConfigurationFingerprint, "sha256:") || d.BaseURL != e.BaseURL() {
		t.Errorf("%+v", d)
	}
	// The server says that it is a simulation, so the artifact does, whatever
	// the recipe claims.
	if d.Engine != "sim-vllm-0.32.0" || d.GPU != "sim (NVIDIA H200)" || !d.Sweep.Endpoint.Simulated {
		t.Errorf("engine %q on %q", d.Engine, d.GPU)
	}
	if f := d.Sweep.Client; f.ConnectionsOpened != 3 || f.ConnectionsReused != 3 || f.Connect == nil || f.Connect.Samples != 3 {
		t.Errorf("three lanes keep their connections: %+v", f)
	}
	if *d.Sweep.CacheHitRate != 0 {
		t.Errorf("unique prompts hit the cache: %v", *d.Sweep.CacheHitRate)
	}
}

func TestASecondRunKeepsWhatIsDone(t *testing.T) {
	var seen atomic.Int64
	e := sim(t, "instant", func(int, string) string { seen.Add(1); return "" })
	dir := t.TempDir()
	text := atAddress(e.BaseURL(), "")
	run(t, runner(t, dir, text))
	before, docs := read(t, dir)
	again := run(t, runner(t, dir, text))
	if again.Kept != 2 || !again.OK() || seen.Load() != 12 {
		t.Errorf("%+v, %d requests", again, seen.Load())
	}
	// A damaged artifact is not kept: it is measured again, beside the old one.
	damaged := docs[1].Path
	if err := os.WriteFile(damaged, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	mended := run(t, runner(t, dir, text))
	if mended.Kept != 1 || seen.Load() != 18 {
		t.Errorf("%+v, %d requests", mended, seen.Load())
	}
	if data, err := os.ReadFile(damaged); err != nil || string(data) != "{}" {
		t.Error("the damaged file was written over")
	}
	if before.CreatedAt.IsZero() {
		t.Error("the manifest has no beginning")
	}
}

// A changed control is a new cell; what was measured before stays listed.
func TestAChangedRecipeKeepsTheOldCellsAsStale(t *testing.T) {
	e := sim(t, "instant", nil)
	dir := t.TempDir()
	run(t, runner(t, dir, atAddress(e.BaseURL(), "")))
	changed := strings.Replace(atAddress(e.BaseURL(), ""), "words = 4", "words = 5", 1)
	if report := run(t, runner(t, dir, changed)); report.Kept != 0 || !report.OK() {
		t.Errorf("%+v", report)
	}
	manifest, _ := read(t, dir)
	stale := 0
	for _, c := range manifest.Cells {
		if c.Stale {
			stale++
		}
	}
	if len(manifest.Cells) != 4 || stale != 2 {
		t.Errorf("%d cells, %d stale", len(manifest.Cells), stale)
	}
	copies, err := filepath.Glob(filepath.Join(dir, "recipe", "*", "r.sweep.hcl"))
	if err != nil || len(copies) != 2 {
		t.Errorf("both recipes are kept: %v", copies)
	}
	// Back to the first recipe: its cells are there.
	if report := run(t, runner(t, dir, atAddress(e.BaseURL(), ""))); report.Kept != 2 {
		t.Errorf("%+v", report)
	}
}

func TestFailuresAreCountedByTheirKind(t *testing.T) {
	for _, c := range []struct {
		fault string
		state artifact.State
		kind  string
		class string
	}{
		{"status:500", artifact.StateFailed, "http_status", "request_error"},
		{"status:401", artifact.StateFailed, "http_status", "request_error"},
		{"html", artifact.StateFailed, "not_event_stream", "request_error"},
		{"json", artifact.StateFailed, "server_error", "request_error"},
		{"empty", artifact.StateFailed, "empty_stream", "stream_validation_failed"},
		{"error", artifact.StateFailed, "server_error", "stream_validation_failed"},
		{"cut", artifact.StateFailed, "stream_truncated", "stream_validation_failed"},
		{"reset", artifact.StateFailed, "stream_truncated", "request_error"},
		{"wrong_canary", artifact.StateFailed, "canary", "request_canary_failed"},
		{"short_words", artifact.StateFailed, "controlled_output", "controlled_output_failed"},
		{"no_done", artifact.StateDone, "", ""},
		{"no_usage", artifact.StateDone, "", ""},
		{"every third", artifact.StateDegraded, "http_status", "request_error"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			e := sim(t, "instant", func(n int, _ string) string {
				if c.fault != "every third" {
					return c.fault
				}
				if n%3 == 0 {
					return "status:503"
				}
				return ""
			})
			dir := t.TempDir()
			report := run(t, runner(t, dir, atAddress(e.BaseURL(), "")))
			if report.States[c.state] != 2 {
				t.Fatalf("%+v", report)
			}
			manifest, docs := read(t, dir)
			d := docs[3]
			if c.kind == "" {
				if d.Failed != 0 {
					t.Errorf("%v", d.FailureList())
				}
				if v, _ := d.Metric("output_tokens"); (v == nil) != (c.fault == "no_usage") {
					t.Errorf("output tokens %v", v)
				}
				return
			}
			if d.Sweep.FailureKinds[c.kind] != d.Failed || d.Failed == 0 || d.FailureList()[0]["failure_class"] != c.class {
				t.Errorf("%v, %v", d.Sweep.FailureKinds, d.FailureList()[0]["failure_class"])
			}
			if v, note := d.Metric("throughput_tok_s"); v != nil || note == "" {
				t.Error("a throughput with failures")
			}
			if reason := manifest.Cells[1].Reason; !strings.Contains(reason, c.kind) {
				t.Errorf("reason %q", reason)
			}
		})
	}
}

// An endpoint that is not there fails its own cells at once; the others run.
func TestADeadEndpointFailsOnlyItsCells(t *testing.T) {
	e := sim(t, "instant", nil)
	gone := sim(t, "instant", nil)
	address := gone.BaseURL()
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := strings.Replace(atAddress(e.BaseURL(), ""), "tier        = tier.t", "tier        = [tier.down, tier.t]", 1) +
		fmt.Sprintf("tier \"down\" {\n  base_url = %q\n}\n", address)
	report := run(t, runner(t, dir, text))
	if report.States[artifact.StateFailed] != 2 || report.States[artifact.StateDone] != 2 {
		t.Fatalf("%+v", report)
	}
	manifest, _ := read(t, dir)
	if reason := manifest.Cells[0].Reason; !strings.Contains(reason, "dial 6") || !strings.Contains(reason, "endpoint is down") {
		t.Errorf("%q", reason)
	}
}

// counter is an observer that counts and can act on an event.
type counter struct {
	mu      sync.Mutex
	started []string
	done    int
	ended   []CellEnd
	act     func(done int)
}

func (c *counter) CellStarted(cell *Cell, _, _ int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = append(c.started, cell.ID)
}

func (c *counter) RequestDone(_ *Cell, _ bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	if c.act != nil {
		c.act(c.done)
	}
}

func (c *counter) CellEnded(_ *Cell, end CellEnd) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = append(c.ended, end)
}

// When admission ends, requests in flight finish, the rest of the cell is
// marked, later cells are not run, and all of it is written.
func TestInterruptionFinishesWhatIsInFlight(t *testing.T) {
	e := sim(t, "instant", nil)
	dir := t.TempDir()
	r := runner(t, dir, strings.Replace(atAddress(e.BaseURL(), ""), "requests = 6", "requests = 600", 1))
	admit, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	seen := &counter{act: func(done int) {
		if done == 20 {
			stop(errors.New("interrupted"))
		}
	}}
	r.Observer = seen
	report, err := start(r, admit, context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if report.States[artifact.StateInterrupted] != 1 || report.States[artifact.StateNotRun] != 1 {
		t.Fatalf("%+v", report)
	}
	manifest, docs := read(t, dir)
	d := docs[1]
	if d.Completed < 20 || d.Completed+d.Failed != 600 || d.Sweep.State != "interrupted" || d.Sweep.FailureKinds["not_sent"] != d.Failed {
		t.Errorf("%d completed, %d failed: %v", d.Completed, d.Failed, d.Sweep.FailureKinds)
	}
	if manifest.Cells[1].State != artifact.StateNotRun || !strings.Contains(manifest.Cells[1].Reason, "interrupted") {
		t.Errorf("%+v", manifest.Cells[1])
	}
	// Going on: the interrupted cell is run again, its first artifact stays.
	if report := run(t, runner(t, dir, strings.Replace(atAddress(e.BaseURL(), ""), "requests = 6", "requests = 600", 1))); !report.OK() {
		t.Errorf("%+v", report)
	}
	manifest, _ = read(t, dir)
	if files := manifest.Cells[0].Artifacts; len(files) != 2 || files[0].State != artifact.StateInterrupted || files[1].State != artifact.StateDone {
		t.Errorf("%+v", files)
	}
}

// When flight ends too, streams that stall are cut at once.
func TestCancellingCutsStreamsInFlight(t *testing.T) {
	e := sim(t, "instant", func(int, string) string { return "stall" })
	dir := t.TempDir()
	r := runner(t, dir, atAddress(e.BaseURL(), ""))
	flight, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	time.AfterFunc(200*time.Millisecond, func() { cancel(errors.New("interrupted")) })
	done := make(chan Report, 1)
	go func() {
		report, err := start(r, flight, flight)
		if err != nil {
			t.Error(err)
		}
		done <- report
	}()
	select {
	case report := <-done:
		if report.States[artifact.StateInterrupted] != 1 {
			t.Errorf("%+v", report)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the run did not end")
	}
	_, docs := read(t, dir)
	if k := docs[1].Sweep.FailureKinds; k["cancelled"] != 1 || k["not_sent"] != 5 {
		t.Errorf("%v", k)
	}
}

func TestWarmupIsCountedAndNotMeasured(t *testing.T) {
	var seen atomic.Int64
	e := sim(t, "instant", func(n int, _ string) string {
		seen.Add(1)
		if n == 1 {
			return "status:503" // the first warm-up request
		}
		return ""
	})
	dir := t.TempDir()
	report := run(t, runner(t, dir, strings.Replace(atAddress(e.BaseURL(), ""), "requests = 6", "requests = 6\n  warmup = 2", 1)))
	if !report.OK() || seen.Load() != 2*(6+2) {
		t.Fatalf("%+v, %d requests", report, seen.Load())
	}
	_, docs := read(t, dir)
	if w := docs[1].Sweep.Warmup; w.Requests != 2 || w.Completed != 1 || w.Failed != 1 || w.FailureKinds["http_status"] != 1 {
		t.Errorf("%+v", w)
	}
	if docs[1].Requests != 6 || docs[1].Completed != 6 || *docs[1].Sweep.CacheHitRate != 0 {
		t.Errorf("%+v", docs[1].Sweep)
	}
}

func TestTheEmbeddedEngineServesAllCellsOfATier(t *testing.T) {
	dir := t.TempDir()
	text := `
engine "sim" {}
tier "a" { profile = "instant" }
tier "b" {
  profile        = "instant"
  gpu            = "B"
  price_per_hour = 2
}
sweep "s" {
  model       = "m"
  engine      = engine.sim
  tier        = [tier.a, tier.b]
  context     = [128, 256]
  concurrency = [1, 2]
  output      = { max_tokens = 32 }
}
`
	report := run(t, runner(t, dir, text))
	if !report.OK() || report.Cells != 8 {
		t.Fatalf("%+v", report)
	}
	manifest, _ := read(t, dir)
	urls := map[string]map[string]bool{}
	for _, c := range manifest.Cells {
		data, err := os.ReadFile(filepath.Join(dir, c.Artifacts[0].Path))
		if err != nil {
			t.Fatal(err)
		}
		var a struct {
			BaseURL     string `json:"base_url"`
			Engine, GPU string
		}
		if err := json.Unmarshal(data, &a); err != nil {
			t.Fatal(err)
		}
		tier := c.Axes["tier"]
		if urls[tier] == nil {
			urls[tier] = map[string]bool{}
		}
		urls[tier][a.BaseURL] = true
		if want := map[string]string{"a": "sim-instant", "b": "sim (B)"}[tier]; a.Engine != "sim" || a.GPU != want {
			t.Errorf("engine %q on %q", a.Engine, a.GPU)
		}
	}
	if len(urls["a"]) != 1 || len(urls["b"]) != 1 {
		t.Errorf("one engine a tier: %v", urls)
	}
}

// The window that the server tells cuts the prompts, and one that leaves no
// room is a failure of the cell.
func TestTheServersWindowCutsPrompts(t *testing.T) {
	p, err := simengine.ProfileByName("instant")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		window, planned int
	}{{1500, 1500 - 64 - 1024}, {1000, 0}} {
		p.MaxModelLen = c.window
		e := simengine.New(simengine.Options{Profile: p})
		if err := e.Listen("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		run(t, runner(t, dir, atAddress(e.BaseURL(), "")))
		_, docs := read(t, dir)
		d := docs[1]
		if c.planned > 0 && (d.Failed > 0 || d.Rows[0].PlannedContextTokens != c.planned || *d.ContextTokens != 512) {
			t.Errorf("%+v", d.FailureList())
		}
		if c.planned == 0 && (d.Completed > 0 || d.Sweep.FailureKinds["prompt"] != 6) {
			t.Errorf("%v", d.Sweep.FailureKinds)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestKeysAreNamedAndMustBeThere(t *testing.T) {
	p, err := simengine.ProfileByName("instant")
	if err != nil {
		t.Fatal(err)
	}
	e := simengine.New(simengine.Options{Profile: p, APIKey: "sk-CANARY-9"})
	if err := e.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	text := strings.Replace(atAddress(e.BaseURL(), ""), "base_url =", "api_key_env = \"K\"\n  base_url =", 1)
	dir := t.TempDir()
	r := runner(t, dir, text)
	if err := r.Check(); err == nil || !strings.Contains(err.Error(), "K") {
		t.Errorf("%v", err)
	}
	r.Getenv = func(name string) string { return map[string]string{"K": "sk-CANARY-9"}[name] }
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	if report := run(t, r); !report.OK() {
		t.Fatalf("%+v", report)
	}
	err = filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), "CANARY") {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFoldersThatCannotBeUsed(t *testing.T) {
	e := sim(t, "instant", nil)
	text := atAddress(e.BaseURL(), "")
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other")
	if err := errors.Join(os.Mkdir(other, 0o755), os.WriteFile(filepath.Join(other, "sweep.json"), []byte(`{"schema":"x"}`), 0o644)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "not a directory", filepath.Join(file, "x"): "not a directory", other: "choose another output folder"} {
		if err := runner(t, path, text).Open(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(other, "sweep.json")); err != nil || string(data) != `{"schema":"x"}` {
		t.Error("a file that is not ours was written over")
	}
}

// A server that never answers a question for its models holds nothing up for
// long, and is asked once.
func TestAServerThatDoesNotListItsModels(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cl, err := client.New(client.Config{BaseURL: "http://" + l.Addr().String() + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	ep := &endpoint{client: cl, patience: 50 * time.Millisecond}
	if down := ep.probe(context.Background()); down != nil {
		t.Errorf("it is up: %v", down)
	}
	if !ep.probed || ep.noModels == nil || !strings.Contains(ep.noModels.Message, "no model list within 50ms") {
		t.Errorf("%+v", ep.noModels)
	}
}

func TestTwoRunsInOneFolder(t *testing.T) {
	e := sim(t, "instant", nil)
	dir := t.TempDir()
	first, second := runner(t, dir, atAddress(e.BaseURL(), "")), runner(t, dir, atAddress(e.BaseURL(), ""))
	if err := first.Open(); err != nil {
		t.Fatal(err)
	}
	if err := second.Open(); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Errorf("%v", err)
	}
	if _, err := first.Run(context.Background(), context.Background()); err != nil {
		t.Fatal(err)
	}
	if report := run(t, second); report.Kept != 2 {
		t.Errorf("%+v", report)
	}
}

func TestLeftoversOfAKilledRunAreSweptUp(t *testing.T) {
	e := sim(t, "instant", nil)
	dir := t.TempDir()
	left := filepath.Join(dir, "cells", "s", ".x.json.123.tmp")
	if err := errors.Join(os.MkdirAll(filepath.Dir(left), 0o755), os.WriteFile(left, []byte("{"), 0o644)); err != nil {
		t.Fatal(err)
	}
	run(t, runner(t, dir, atAddress(e.BaseURL(), "")))
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// A run that was killed between an artifact and its manifest: the artifact is
// taken in, not measured again.
func TestAnArtifactWithoutItsManifestIsAdopted(t *testing.T) {
	var seen atomic.Int64
	e := sim(t, "instant", func(int, string) string { seen.Add(1); return "" })
	dir := t.TempDir()
	text := atAddress(e.BaseURL(), "")
	run(t, runner(t, dir, text))
	for _, lost := range []string{"one cell", "everything"} {
		path := filepath.Join(dir, artifact.ManifestName)
		manifest, _ := read(t, dir)
		if lost == "one cell" {
			manifest.Cells[1].Artifacts, manifest.Cells[1].State = nil, artifact.StateNotRun
			data, err := artifact.Encode(manifest)
			if err := errors.Join(err, os.WriteFile(path, data, 0o644)); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if report := run(t, runner(t, dir, text)); report.Kept != 2 || seen.Load() != 12 {
			t.Errorf("%s: %+v, %d requests", lost, report, seen.Load())
		}
	}
	other := strings.Replace(text, "words = 4", "words = 6", 1)
	if err := os.Remove(filepath.Join(dir, artifact.ManifestName)); err != nil {
		t.Fatal(err)
	}
	run(t, runner(t, dir, other))
	if manifest, _ := read(t, dir); len(manifest.Cells) != 4 || !manifest.Cells[2].Stale || len(manifest.Cells[2].Artifacts) != 1 {
		t.Errorf("%+v", manifest.Cells)
	}
}

func TestTheObserverIsToldEverything(t *testing.T) {
	e := sim(t, "instant", nil)
	r := runner(t, t.TempDir(), atAddress(e.BaseURL(), ""))
	seen := &counter{}
	r.Observer = seen
	run(t, r)
	if len(seen.started) != 2 || seen.done != 12 || len(seen.ended) != 2 || seen.ended[0].State != artifact.StateDone || seen.ended[0].Artifacts == nil {
		t.Errorf("%+v", seen)
	}
}
