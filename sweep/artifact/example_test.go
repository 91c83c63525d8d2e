package artifact

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"anvilsweep/client"
)

func span(v int) *time.Duration {
	d := time.Duration(v) * time.Millisecond
	return &d
}

func tokens(n int64) *int64 { return &n }

var began = time.Date(2026, 9, 17, 17, 21, 4, 243641356, time.UTC)

// seen is a request that went well, i milliseconds later than the first.
func seen(i int) *client.Observation {
	return &client.Observation{
		Start: began.Add(time.Duration(i) * time.Millisecond), Connect: 300 * time.Microsecond, Sent: 4000, BytesRead: 9000,
		FirstOutput: span(50 + i), FirstContent: span(120 + i), End: time.Duration(400+7*i) * time.Millisecond,
		ContentChunks: 5, ReasoningChunks: 3, Text: "x", Terminal: true, Received: true, FinishReasons: []string{"stop"},
		Usage: &client.Usage{PromptTokens: tokens(int64(300 + i)), CompletionTokens: tokens(8), TotalTokens: tokens(308), CachedTokens: tokens(16)},
	}
}

// input is a cell of four requests that all went well.
func input() Input {
	yes := true
	window, low := 8192, 4
	price, memory := 2.5, 80.0
	in := Input{
		Started: began, Finished: began.Add(1500 * time.Millisecond), Wall: 1500 * time.Millisecond,
		BaseURL: "http://127.0.0.1:8000/v1", Model: "modèl/🙂", Engine: "vllm-0.32.0", GPU: "NVIDIA H200", Tier: "h200",
		Manifest: "../../sweep.json", SourceRecipe: "r.sweep.hcl#s@sha256:00", ClockDomainID: "lab",
		ConfigurationFingerprint: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		Concurrency:              2, ContextTokens: 512, ContextSeed: 7, MaxContextTokens: &window, MaxTokens: 64, ResponseWords: 4,
		PromptCacheMode: "unique", RequestCanaries: true, ControlledOutputPolicy: "strict", ThinkingMode: "default",
		PromptSetID: "set", CachePolicy: "unique",
		Sweep: &Sweep{
			Program: Program{"anvilsweep", "0"}, Name: "s", CellID: "cell", CellDigest: "sha256:11", Axes: map[string]string{"tier": "h200"}, Repeat: 1,
			State: "complete", Loop: "closed", SeedOrigin: "recipe", Engine: Engine{Name: "vllm", Kind: "vllm", Flags: map[string]any{}},
			Tier:     &Tier{Name: "h200", Count: 1, MemoryGiB: &memory, PricePerHour: &price, Currency: "USD"},
			Endpoint: Endpoint{ReportedModels: []string{}}, RequestOptions: RequestOptions{MinTokens: &low},
			Warmup: Warmup{FailureKinds: map[string]int{}},
		},
	}
	for i := range 4 {
		marker := "ANVIL_REQ_7_0000" + string(rune('0'+i))
		in.Results = append(in.Results, Result{
			Index: i, PlannedContextTokens: 512, Observation: seen(i), Elapsed: 500 * time.Millisecond,
			Canary: &Canary{Marker: marker, MarkerAtStart: true, ObservedMarkerCount: 1, CaptureComplete: true, Passed: true},
			Words:  &ControlledOutput{Policy: "strict", RequestedWords: 4, ObservedCodeWords: 4, CaptureComplete: true, ExactAdherence: &yes, Passed: true},
		})
	}
	return in
}

func build(t *testing.T, in Input) *Artifact {
	t.Helper()
	a, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func example(t *testing.T) *Artifact { return build(t, input()) }

// failing is a cell with one failure of each class.
func failing() Input {
	in := input()
	no := false
	in.Results[0].Observation = &client.Observation{Start: began, End: 3 * time.Millisecond, Failure: &client.Failure{Kind: client.KindHTTPStatus, Message: "HTTP 503: busy", Status: 503, RetryAfter: "2"}}
	in.Results[0].Canary, in.Results[0].Words = nil, nil
	in.Results[1].Observation = &client.Observation{
		Start: began, Received: true, FirstOutput: span(40), End: 90 * time.Millisecond, ReasoningChunks: 30, FinishReasons: []string{"length"}, Terminal: true,
		Usage: &client.Usage{CompletionTokens: tokens(30)}, Failure: &client.Failure{Kind: client.KindNoOutput, Message: "no visible content"},
	}
	in.Results[1].Canary = &Canary{Marker: "ANVIL_REQ_7_00001", CaptureComplete: true}
	in.Results[1].Words = &ControlledOutput{Policy: "strict", RequestedWords: 4, CaptureComplete: true, ExactAdherence: &no}
	in.Results[2].Canary = &Canary{Marker: "ANVIL_REQ_7_00002", ObservedMarkerCount: 0, ForeignMarkerCount: 1, CaptureComplete: true}
	in.Results[3].Words = &ControlledOutput{Policy: "strict", RequestedWords: 4, ObservedCodeWords: 3, CaptureComplete: true, ExactAdherence: &no}
	in.Results = append(in.Results,
		Result{Index: 4, PlannedContextTokens: 512, PromptError: "context target is too small for the benchmark prompt envelope", Elapsed: time.Millisecond},
		Result{Index: 5, PlannedContextTokens: 512, NotSent: "not sent: interrupted"},
		Result{Index: 6, PlannedContextTokens: 512, Observation: seen(6)})
	return in
}

// saved writes the artifact where a document can be read from.
func saved(t *testing.T, a *Artifact) *Document {
	t.Helper()
	data, err := a.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.json")
	if err := errors.Join(WriteFile(path, data), os.Chmod(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	return readFile(path)
}
