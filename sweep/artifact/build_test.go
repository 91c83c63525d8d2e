package artifact

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"anvilsweep/client"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// tree is an artifact as a reader gets it.
func tree(t *testing.T, a *Artifact) map[string]any {
	t.Helper()
	data, err := a.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	v, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func TestGoldenArtifact(t *testing.T) {
	a := example(t)
	a.Sweep.Client.GoVersion, a.Sweep.Client.OS, a.Sweep.Client.Arch, a.Sweep.Client.MaxProcs = "go", "os", "arch", 2
	got, err := a.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/example.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/example.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the artifact differs from testdata/example.json:\n%s", got)
	}
}

func TestEachClassOfFailure(t *testing.T) {
	a := build(t, failing())
	if a.Requests != 7 || a.Completed != 1 || a.Failed != 6 || a.Completed+a.Failed != a.Requests || len(a.RequestTimings) != 1 || a.RequestTimings[0].RequestIndex != 6 {
		t.Fatalf("%d of %d, %d failed", a.Completed, a.Requests, a.Failed)
	}
	for i, want := range []struct {
		class, errorType string
		received         bool
	}{
		{ClassRequest, "HTTPError", false}, {ClassStream, "ValueError", true}, {ClassCanary, "ValueError", true},
		{ClassControlled, "ValueError", true}, {ClassRequest, "ValueError", false}, {ClassRunner, "CancelledError", false},
	} {
		f := a.Failures[i]
		if f.RequestIndex != i || f.Class != want.class || f.ErrorType != want.errorType || f.ResponseReceived != want.received || f.ErrorMessage == "" {
			t.Errorf("failure %d: %+v", i, f)
		}
	}
	failures := tree(t, a)["failures"].([]any)
	keysOf := func(i int) string { return strings.Join(keys(failures[i].(map[string]any)), " ") }
	const always = "elapsed_ms error_message error_message_truncated error_type failure_class performance_eligible planned_context_tokens request_index response_received"
	if keysOf(0) != always {
		t.Errorf("%s", keysOf(0))
	}
	if keysOf(5) != strings.Replace(strings.Replace(always, "elapsed_ms ", "", 1), "planned_context_tokens ", "", 1) {
		t.Errorf("a runner_error has neither plan nor time: %s", keysOf(5))
	}
	none := failures[1].(map[string]any)
	row := none["response_timing"].(map[string]any)
	if row["ttft_ms"] != nil || row["time_to_first_output_ms"] != json.Number("40.0") || none["response_metadata"].(map[string]any)["reasoning_chunks"] != json.Number("30") ||
		none["request_canary"] == nil || none["controlled_output"] == nil {
		t.Errorf("what there was of a response without content is kept: %v", none)
	}
	if a.ResponsesReceived != 1+3 {
		t.Errorf("responses_received %d", a.ResponsesReceived)
	}
	if a.PerformanceEligible || a.Metrics["throughput_tok_s"] != nil || a.Metrics["throughput_performance_eligible"] != false || a.MetricPopulation.Excluded != 6 {
		t.Error("a cell with failures claims a throughput")
	}
	if n, _ := a.Metrics.Float("ttft_samples"); n != 1 {
		t.Errorf("%v TTFT samples of one success", n)
	}
	// The format's own rates leave failures out; ours do not.
	if rate, _ := a.Metrics.Float("controlled_output_exact_adherence_rate"); a.Metrics["controlled_output_exact_adherence_rate"] != nil && rate != 1 {
		t.Errorf("%v", rate)
	}
	s := a.Sweep
	if *s.SuccessRate != 1./7 || *s.CanaryPassRate != 1./7 || *s.AdherenceRate != 1./7 || s.Attempted != 7 {
		t.Errorf("%v %v %v", *s.SuccessRate, *s.CanaryPassRate, *s.AdherenceRate)
	}
	for _, kind := range []string{"http_status", "no_output", "canary", "controlled_output", "prompt", "not_sent"} {
		if s.FailureKinds[kind] != 1 {
			t.Errorf("failure kinds %v", s.FailureKinds)
		}
	}
	if f := s.RequestObservations[0]; *f.HTTPStatus != 503 || *f.RetryAfter != "2" || *f.FailureKind != "http_status" {
		t.Errorf("%+v", f)
	}
}

// A cell without a success has no figure at all, and can be written.
func TestNoSuccessIsNullNeverZero(t *testing.T) {
	in := input()
	for i := range in.Results {
		in.Results[i].Observation = &client.Observation{Start: began, Failure: &client.Failure{Kind: client.KindDial, Message: "connection refused"}}
		in.Results[i].Canary, in.Results[i].Words = nil, nil
	}
	a := build(t, in)
	for _, name := range MetricNames() {
		switch a.Metrics[name] {
		case nil, int64(0):
		default:
			t.Errorf("%s is %v", name, a.Metrics[name])
		}
		if strings.Contains(name, "_p50") && a.Metrics[name] != nil {
			t.Errorf("%s is %v", name, a.Metrics[name])
		}
	}
	if a.Metrics["output_tokens"] != int64(0) || a.Metrics["prompt_tokens"] != nil || a.Metrics["throughput_tok_s"] != nil {
		t.Errorf("%v %v", a.Metrics["output_tokens"], a.Metrics["prompt_tokens"])
	}
	if _, err := a.Bytes(); err != nil {
		t.Error(err)
	}
	if a.Failures[0].ErrorType != "URLError" {
		t.Error(a.Failures[0].ErrorType)
	}
}

func TestFewTokens(t *testing.T) {
	for n, wantTPOT := range map[int64]bool{0: false, 1: false, 2: true} {
		in := input()
		for i := range in.Results {
			in.Results[i].Observation.Usage.CompletionTokens = tokens(n)
		}
		a := build(t, in)
		if (a.RequestTimings[0].TPOT != nil) != wantTPOT || (a.RequestTimings[0].DecodeTokS != nil) != wantTPOT || a.Completed != 4 {
			t.Errorf("%d tokens: TPOT %v, %d completed", n, a.RequestTimings[0].TPOT, a.Completed)
		}
		if got, _ := a.Metrics.Float("tpot_samples"); (got > 0) != wantTPOT {
			t.Errorf("%v TPOT samples", got)
		}
	}
}

// Chunks are not tokens: without usage there is no token figure.
func TestNoUsageMeansNoTokens(t *testing.T) {
	in := input()
	for i := range in.Results {
		in.Results[i].Observation.Usage = nil
	}
	a := build(t, in)
	row := a.RequestTimings[0]
	if row.OutputTokens != nil || row.PromptTokens != nil || row.OutputTokenSource != SourceChunks || row.TPOT != nil {
		t.Errorf("%+v", row)
	}
	if a.Metrics["output_tokens"] != nil || a.Metrics["throughput_tok_s"] != nil || a.MetricPopulation.ThroughputEligible || a.Metrics["content_chunks_s"] != 20/1.5 {
		t.Errorf("%v %v", a.Metrics["output_tokens"], a.Metrics["content_chunks_s"])
	}
	if a.Sweep.TokensPerChunkMean != nil || a.Sweep.PromptSize.Real != nil || a.Sweep.CacheHitRate != nil || a.Metrics["prefix_cache_hit_avg"] != nil {
		t.Error("a figure out of nothing")
	}
	// One request without usage is enough to withhold the sum.
	in = input()
	in.Results[2].Observation.Usage = nil
	if a := build(t, in); a.Metrics["output_tokens"] != nil || a.Metrics["prompt_token_samples"] != int64(3) {
		t.Error("a sum of some requests is given out as that of all")
	}
}

// Several tokens a chunk: TPOT comes from usage.
func TestTokensPerChunk(t *testing.T) {
	in := input()
	for i := range in.Results {
		o := in.Results[i].Observation
		o.ReasoningChunks, o.ContentChunks = 0, 10
		o.FirstOutput, o.FirstContent, o.End = span(10), span(10), 400*time.Millisecond
		o.Usage.CompletionTokens = tokens(40)
	}
	a := build(t, in)
	if *a.Sweep.TokensPerChunkMean != 4 || *a.RequestTimings[0].TPOT != 10 || a.MeasurementProtocol != "capacity-v3" {
		t.Errorf("%v %v %s", *a.Sweep.TokensPerChunkMean, *a.RequestTimings[0].TPOT, a.MeasurementProtocol)
	}
}

func TestProtocolSaysReasoning(t *testing.T) {
	if p := example(t).MeasurementProtocol; p != "capacity-v4-reasoning" {
		t.Error(p)
	}
}

func TestThroughputIsOutputTokensOverWallTime(t *testing.T) {
	a := example(t)
	if got, _ := a.Metrics.Float("throughput_tok_s"); got != 32/1.5 {
		t.Errorf("%v", got)
	}
	if *a.Sweep.RequestsPerS != 4/1.5 || math.Abs(*a.Sweep.Client.EffectiveConcurrencyMean-(400+407+414+421)/1500.) > 1e-12 {
		t.Errorf("%v %v", *a.Sweep.RequestsPerS, *a.Sweep.Client.EffectiveConcurrencyMean)
	}
}

func TestTimesThatAreNotInOrderAreNoRow(t *testing.T) {
	in := input()
	in.Results[1].Observation.End = 90 * time.Millisecond // before its TTFT
	a := build(t, in)
	if a.Completed != 3 || a.Failures[0].Class != ClassStream || !strings.Contains(a.Failures[0].ErrorMessage, "not in order") || a.Sweep.FailureKinds["timing"] != 1 {
		t.Errorf("%+v", a.Failures)
	}
}

func TestMessagesAreBoundedAndNeverEmpty(t *testing.T) {
	in := input()
	for i, text := range []string{strings.Repeat("é", 3000), ""} {
		in.Results[i].Observation = &client.Observation{Start: began, Failure: &client.Failure{Kind: client.KindProtocol, Message: text}}
	}
	a := build(t, in)
	if f := a.Failures[0]; len([]rune(f.ErrorMessage)) != 2048 || !f.ErrorMessageTruncated {
		t.Error("a message of 3000 characters was kept whole")
	}
	if f := a.Failures[1]; f.ErrorMessage != "<empty exception message>" || f.ErrorMessageTruncated {
		t.Errorf("%+v", f)
	}
}

func TestSamplingBlock(t *testing.T) {
	in := input()
	if s := build(t, in).Sampling; s.Temperature.Requested != nil || *s.Temperature.Effective != 0 || !s.Temperature.Sent || s.TopP.Sent || s.TopP.Effective != nil {
		t.Errorf("%+v", s)
	}
	half, nine := 0.5, 0.9
	in.Temperature, in.TopP = &half, &nine
	if s := build(t, in).Sampling; *s.Temperature.Requested != 0.5 || *s.Temperature.Effective != 0.5 || !s.TopP.Sent || *s.TopP.Effective != 0.9 {
		t.Errorf("%+v", s)
	}
}

func TestP99NeedsAHundred(t *testing.T) {
	for n, want := range map[int]string{99: p99Descriptive, 100: p99Estimate} {
		in := input()
		one := in.Results[0]
		in.Results = nil
		for i := range n {
			one.Index = i
			in.Results = append(in.Results, one)
		}
		p := build(t, in).MetricPopulation
		if p.P99Interpretation != want || p.P99Interpretations["ttft"] != want || p.P99Samples["tpot"] != n {
			t.Errorf("%d samples: %+v", n, p)
		}
	}
}

func TestSampledContextIsNull(t *testing.T) {
	in := input()
	in.ContextTokens = 0
	in.Results[0].PlannedContextTokens = 16000
	a := build(t, in)
	if a.ContextTokens != nil || a.ContextDistribution["16000"] != 1 || a.ContextDistribution["512"] != 3 {
		t.Errorf("%v %v", a.ContextTokens, a.ContextDistribution)
	}
	if _, err := Build(Input{}); err == nil {
		t.Error("an artifact of no requests")
	}
}

func TestErrorTypesThatReadersKnow(t *testing.T) {
	for kind, want := range map[client.Kind]string{
		client.KindDial: "URLError", client.KindDNS: "URLError", client.KindTLS: "URLError",
		client.KindTimeoutConnect: "TimeoutError", client.KindTimeoutFirstByte: "TimeoutError", client.KindTimeoutIdle: "TimeoutError", client.KindTimeoutTotal: "TimeoutError",
		client.KindHTTPStatus: "HTTPError", client.KindServerError: "RuntimeError", client.KindCancelled: "CancelledError", client.KindConnStale: "RemoteDisconnected",
		client.KindProtocol: "HTTPException", client.KindTruncated: "IncompleteRead", client.KindNotEventStream: "ValueError", client.KindNotStreaming: "ValueError",
		client.KindEmptyStream: "ValueError", client.KindEventTooLarge: "ValueError",
	} {
		in := input()
		in.Results[0].Observation = &client.Observation{Start: began, Failure: &client.Failure{Kind: kind, Message: "x"}}
		if f := build(t, in).Failures[0]; f.ErrorType != want || f.Class != ClassRequest {
			t.Errorf("%s: %s %s", kind, f.Class, f.ErrorType)
		}
	}
}
