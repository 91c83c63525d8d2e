package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anvilsweep/client"
	"anvilsweep/sweep/artifact"
)

// run is one artifact to make: values of TTFT and of the time after it, in
// milliseconds, one a request.
type run struct {
	tier        string
	context     int
	concurrency int
	ttft, rest  []float64
	change      func(*artifact.Input)
}

// documents writes artifacts and reads them.
func documents(t *testing.T, runs ...run) []*artifact.Document {
	t.Helper()
	dir := t.TempDir()
	for i, r := range runs {
		began := time.Date(2026, 9, 17, 17, 0, i, 0, time.UTC)
		in := artifact.Input{
			Started: began, Finished: began.Add(time.Second), Wall: time.Second, BaseURL: "http://127.0.0.1:8000/v1", Model: "m",
			Engine: "vllm-0.32.0", GPU: "g-" + r.tier, Tier: r.tier, Concurrency: max(1, r.concurrency), ContextTokens: max(512, r.context), MaxTokens: 64,
			PromptCacheMode: "unique", ControlledOutputPolicy: "observe", ThinkingMode: "default",
			Sweep: &artifact.Sweep{Name: "s", Axes: map[string]string{"tier": r.tier, "engine": "vllm"}, Engine: artifact.Engine{Name: "vllm", Kind: "vllm", Version: "0.32.0"}, Loop: "closed"},
		}
		for j := range r.ttft {
			first, tokens := ms(r.ttft[j]), int64(11)
			in.Results = append(in.Results, artifact.Result{Index: j, PlannedContextTokens: in.ContextTokens, Observation: &client.Observation{
				Start: began, Sent: 1, Received: true, FirstOutput: &first, FirstContent: &first, End: ms(r.ttft[j] + r.rest[j]), ContentChunks: 11,
				Usage: &client.Usage{PromptTokens: &tokens, CompletionTokens: &tokens}, FinishReasons: []string{"stop"}, Terminal: true,
			}})
		}
		if r.change != nil {
			r.change(&in)
		}
		a, err := artifact.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		data, err := a.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.json", i)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	docs, err := artifact.Collect([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func ms(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }

// repeats are runs of a cell whose times vary by 1 % around a factor.
func repeats(r *rand.Rand, n int, factor float64) []run {
	out := make([]run, n)
	for i := range out {
		for range 8 {
			noise := func(v float64) float64 { return v * factor * (1 + 0.01*r.NormFloat64()) }
			out[i].ttft, out[i].rest = append(out[i].ttft, noise(100)), append(out[i].rest, noise(500))
		}
		out[i].tier = "t"
	}
	return out
}

var latencies = []Metric{{"ttft_p50_ms", "lower"}, {"tpot_p50_ms", "lower"}, {"e2e_p50_ms", "lower"}}

func of(t *testing.T, o Options, sets ...[]*artifact.Document) *Result {
	t.Helper()
	names := []string{"a", "b", "c"}[:len(sets)]
	r, err := Of(names, sets, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Five repeats show 5 % under 1 % of noise, in the right direction.
func TestFivePercentAreSeen(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	base, slow := documents(t, repeats(r, 5, 1)...), documents(t, repeats(r, 5, 1.05)...)
	o := Options{Metrics: latencies, Threshold: DefaultThreshold}
	got := of(t, o, base, slow)
	for _, f := range got.Cells[0].Figures {
		if f.Verdict != Worse || math.Abs(*f.DeltaPct-5) > 1.5 || *f.LowPct > 5 || *f.HighPct < 5 || *f.P >= 0.01 || f.N != 5 || !strings.Contains(f.Test, "over runs") {
			t.Errorf("%+v", f)
		}
	}
	if got := of(t, o, slow, base); got.Count(Better) != 3 || got.Count(Worse) != 0 {
		t.Errorf("%+v", got.Cells)
	}
	// Below the threshold it is none.
	if got := of(t, Options{Metrics: latencies, Threshold: 10}, base, slow); got.Count(Same) != 3 {
		t.Errorf("%+v", got.Cells)
	}
}

// Without a change, 20 pairs of five repeats give one false alarm at most.
func TestFalseAlarms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	alarms := 0
	for range 20 {
		got := of(t, Options{Metrics: latencies, Threshold: DefaultThreshold}, documents(t, repeats(r, 5, 1)...), documents(t, repeats(r, 5, 1)...))
		if got.Count(Worse)+got.Count(Better) > 0 {
			alarms++
		}
	}
	if alarms > 1 {
		t.Errorf("%d of 20 pairs", alarms)
	}
}

func TestTooFewToTell(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	throughput := Options{Metrics: []Metric{{"throughput_tok_s", "higher"}, {"ttft_p95_ms", "lower"}, {"ttft_p50_ms", "lower"}}}
	got := of(t, throughput, documents(t, repeats(r, 1, 1)...), documents(t, repeats(r, 1, 2)...))
	f := got.Cells[0].Figures
	if f[0].Verdict != TooFew || f[1].Verdict != TooFew || f[1].LowPct != nil || !strings.Contains(f[0].Note, "repeat") {
		t.Errorf("%+v", f)
	}
	// A median of one run is held over its requests, and says so.
	if f[2].Verdict != Worse || f[2].N != 8 || !strings.Contains(f[2].Test, "over requests") || f[2].Note == "" {
		t.Errorf("%+v", f[2])
	}
	if got := of(t, throughput, documents(t, repeats(r, 3, 1)...), documents(t, repeats(r, 3, 2)...)); got.Cells[0].Figures[0].Verdict != TooFew {
		t.Error("three against three cannot show anything at 0.01")
	}
}

// What is not about the same is refused, by the field.
func TestWhatIsNotComparable(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	base := documents(t, repeats(r, 5, 1)...)
	for want, change := range map[string]func(*artifact.Input){
		"max_tokens 64 and 65":                    func(in *artifact.Input) { in.MaxTokens = 65 },
		`prompt_cache_mode "unique" and "shared"`: func(in *artifact.Input) { in.PromptCacheMode = "shared" },
		`controlled_output_policy "observe" and`:  func(in *artifact.Input) { in.ControlledOutputPolicy = "strict" },
		"request_canaries false and true":         func(in *artifact.Input) { in.RequestCanaries = true },
		"temperature 0 and 0.5":                   func(in *artifact.Input) { v := 0.5; in.Temperature = &v },
		"top_p none and 0.9":                      func(in *artifact.Input) { v := 0.9; in.TopP = &v },
		`thinking_mode "default" and "enabled"`:   func(in *artifact.Input) { in.ThinkingMode = "enabled" },
		`engine version "0.32.0" and "0.33.0"`:    func(in *artifact.Input) { in.Sweep.Engine.Version = "0.33.0" },
		`engine.flags.max_num_seqs none and 64`:   func(in *artifact.Input) { in.Sweep.Engine.Flags = map[string]any{"max_num_seqs": 64} },
		`loop "closed" and "open"`:                func(in *artifact.Input) { in.Sweep.Loop = "open" },
		`gpu "g-t" and "other"`:                   func(in *artifact.Input) { in.GPU = "other" },
		"requests 8 and 7":                        func(in *artifact.Input) { in.Results = in.Results[:7] },
		"1 of 8 requests failed": func(in *artifact.Input) {
			in.Results[0].Observation.Failure = &client.Failure{Kind: client.KindDial, Message: "x"}
		},
		"the candidate has no such cell":                func(in *artifact.Input) { in.Concurrency = 2 },
		"the control has no such cell":                  func(in *artifact.Input) { in.ContextTokens = 4096 },
		`measurement_protocol "capacity-v3" and "capac`: func(in *artifact.Input) { in.Results[0].Observation.ReasoningChunks = 1 },
	} {
		runs := repeats(r, 5, 1)
		for i := range runs {
			runs[i].change = change
		}
		got := of(t, Options{Metrics: latencies}, base, documents(t, runs...))
		var reasons []string
		for _, c := range got.Cells {
			reasons = append(reasons, c.Reasons...)
		}
		if text := strings.Join(reasons, "\n"); !strings.Contains(text, want) || got.Count(NotComparable) != len(got.Cells)*3 {
			t.Errorf("want %q, got %s", want, text)
		}
	}
	// Allowed, it is compared.
	runs := repeats(r, 5, 1)
	for i := range runs {
		runs[i].change = func(in *artifact.Input) { in.Sweep.Engine.Version = "0.33.0" }
	}
	if got := of(t, Options{Metrics: latencies, Allow: []string{"engine version"}}, base, documents(t, runs...)); got.Count(NotComparable) > 0 {
		t.Errorf("%+v", got.Cells)
	}
}

// Tiers of one set: the factor's own fields may differ, others may not.
func TestByAnAxis(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	small, large := repeats(r, 5, 1), repeats(r, 5, 0.5)
	for i := range large {
		large[i].tier = "large"
	}
	docs := documents(t, append(small, large...)...)
	got := of(t, Options{Metrics: latencies, Factor: "tier", Control: "t"}, docs)
	if got.Control.Name != "tier t" || got.Count(Better) != 3 || got.Against[0].Files != 5 {
		t.Errorf("%+v", got)
	}
	if _, err := Of([]string{"a"}, [][]*artifact.Document{docs}, Options{Factor: "colour"}); err == nil || !strings.Contains(err.Error(), "there are") {
		t.Error(err)
	}
	if _, err := Of([]string{"a"}, [][]*artifact.Document{docs}, Options{Factor: "tier", Control: "none"}); err == nil {
		t.Error("a control that is not there")
	}
}

// Values that are known by hand.
func TestShiftAndTest(t *testing.T) {
	pct, low, high, ok := shift([]float64{100, 100, 100}, []float64{110, 110, 110}, 0.05)
	if !ok || math.Abs(pct-10) > 1e-9 || math.Abs(low-10) > 1e-9 || math.Abs(high-10) > 1e-9 {
		t.Errorf("%v %v %v", pct, low, high)
	}
	if p := smallestP(5, 5); math.Abs(p-2.0/252) > 1e-12 {
		t.Errorf("%v", p)
	}
	p, ok := test([]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 0.01)
	if !ok || math.Abs(p-2.0/252) > 1e-9 {
		t.Errorf("p %v %v", p, ok)
	}
	if _, ok := test([]float64{1, 2, 3}, []float64{4, 5, 6}, 0.05); ok {
		t.Error("three against three: p is 0.1 at least")
	}
}

// Replicas without their aggregate are no runs of their cell.
func TestLoneReplicasAreNotCompared(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	part := repeats(r, 5, 1)
	for i := range part {
		part[i].change = func(in *artifact.Input) { in.Sweep.Replica = &artifact.Replica{Number: 1, Of: 2} }
	}
	got := of(t, Options{Metrics: latencies}, documents(t, repeats(r, 5, 1)...), documents(t, part...))
	if got.Count(NotComparable) != 3 || !strings.Contains(strings.Join(got.Cells[0].Reasons, "; "), "replica 1 of 2 without the others") {
		t.Errorf("%+v", got.Cells[0])
	}
}
