package artifact

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"anvilsweep/client"
)

// Input is everything an artifact is made of, in plain values. An empty string
// is null where the format allows it.
type Input struct {
	Started, Finished time.Time     // wall clock around the pool
	Wall              time.Duration // the same, monotonic

	BaseURL, Model           string
	Engine, GPU, Tier        string
	Manifest, SourceRecipe   string
	ClockDomainID            string
	ConfigurationFingerprint string

	Concurrency            int
	ContextTokens          int // nominal; 0: sampled, which the format writes as null
	ContextSeed            int64
	MaxContextTokens       *int
	MaxTokens              int
	ResponseWords          int
	PromptCacheMode        string
	SharedPrefixTokens     int
	RequestCanaries        bool
	ControlledOutputPolicy string
	Temperature, TopP      *float64 // nil: not requested
	ThinkingMode           string
	ReasoningEffort        string
	PromptSetID            string
	CachePolicy            string

	Results []Result // one a request, in any order
	Sweep   *Sweep   // what the caller knows; Build adds the figures
}

// Result is what became of one request.
type Result struct {
	Index                int
	PlannedContextTokens int
	Observation          *client.Observation // nil where nothing was sent
	PromptError          string              // the prompt could not be made
	NotSent              string              // the run ended before the request's turn
	Canary               *Canary             // nil where canaries are off or no stream was read
	Words                *ControlledOutput   // nil where no words were asked for or no stream was read
	Elapsed              time.Duration       // from before the prompt was built
	Due                  *time.Time          // when an open loop wanted it sent; nil: a closed loop
	NoSlot               bool                // it was due while all requests that may be in flight were
}

// Succeeded reports whether the request is a success by the format's rules.
func (r *Result) Succeeded() bool {
	_, failure, _ := judge(r)
	return failure == nil
}

// Output token sources.
const (
	SourceUsage   = "usage"
	SourceChunks  = "content_chunks"
	SourceUnknown = "unknown"
)

const messageLimit = 2048

// Build makes the artifact. Failed requests never enter a success figure and
// never vanish: every result is a row or a failure.
func Build(in Input) (*Artifact, error) {
	if len(in.Results) == 0 {
		return nil, fmt.Errorf("an artifact of no requests")
	}
	results := slices.Clone(in.Results)
	slices.SortFunc(results, func(a, b Result) int { return cmp.Compare(a.Index, b.Index) })
	a := &Artifact{
		Schema: Schema, RunID: "benchmark-" + in.Started.UTC().Format("20060102T150405Z"),
		StartedAt: iso(in.Started), FinishedAt: iso(in.Finished),
		StartedAtUnixNS: in.Started.UnixNano(), FinishedAtUnixNS: in.Finished.UnixNano(),
		TimestampPrecision: timestampPrecision, WallClockMS: ms(in.Wall),
		ClockDomainID: maybe(in.ClockDomainID), ConfigurationFingerprint: maybe(in.ConfigurationFingerprint),
		BaseURL: in.BaseURL, Model: in.Model, Engine: maybe(in.Engine), GPU: maybe(in.GPU), Tier: maybe(in.Tier),
		Manifest: maybe(in.Manifest), SourceRecipe: maybe(in.SourceRecipe),
		Requests: len(results), Concurrency: in.Concurrency, ContextSeed: in.ContextSeed, ContextDistribution: map[string]int{},
		MaxContextTokens: in.MaxContextTokens, MaxTokens: in.MaxTokens, ResponseWords: in.ResponseWords,
		PromptCacheMode: in.PromptCacheMode, SharedPrefixTokens: in.SharedPrefixTokens,
		RequestCanaries: in.RequestCanaries, ControlledOutputPolicy: in.ControlledOutputPolicy,
		Sampling: sampling(in.Temperature, in.TopP), TimingMethodology: timingMethodology(),
		ServeFlags: ServeFlags{
			NoThinking: in.ThinkingMode == "disabled", ThinkingMode: cmp.Or(in.ThinkingMode, "default"), ReasoningEffort: maybe(in.ReasoningEffort),
		},
		Failures: []Failure{}, RequestTimings: []Row{},
		PromptSetID: in.PromptSetID, CachePolicy: in.CachePolicy, Sweep: in.Sweep,
	}
	if in.ContextTokens > 0 {
		a.ContextTokens = &in.ContextTokens
	}
	kinds := make([]string, len(results)) // of failure, "" for a success
	for i := range results {
		r := &results[i]
		a.ContextDistribution[strconv.Itoa(r.PlannedContextTokens)]++
		row, failure, kind := judge(r)
		if failure == nil {
			a.RequestTimings = append(a.RequestTimings, *row)
		} else {
			a.Failures = append(a.Failures, *failure)
			kinds[i] = kind
		}
		if failure == nil || failure.ResponseReceived {
			a.ResponsesReceived++
		}
	}
	a.Completed, a.Failed = len(a.RequestTimings), len(a.Failures)
	a.PerformanceEligible = a.Failed == 0
	a.Metrics = population{a.RequestTimings, a.WallClockMS, a.PerformanceEligible, hits(results, kinds)}.compute()
	a.MeasurementProtocol = "capacity-v3"
	if chunks, _ := a.Metrics.Float("reasoning_chunks"); chunks > 0 {
		a.MeasurementProtocol = "capacity-v4-reasoning"
	}
	a.MetricPopulation = describePopulation(a.Requests, a.Completed, a.Metrics)
	if a.Sweep != nil {
		a.Sweep.fill(a, results, kinds)
	}
	return a, nil
}

// hits is, for each success whose cache hits the server told, the share of its
// prompt that was cached.
func hits(results []Result, kinds []string) []float64 {
	var out []float64
	for i := range results {
		if o := results[i].Observation; kinds[i] == "" && o.Usage != nil {
			if u := o.Usage; u.CachedTokens != nil && u.PromptTokens != nil && *u.PromptTokens > 0 {
				out = append(out, float64(*u.CachedTokens)/float64(*u.PromptTokens))
			}
		}
	}
	return out
}

func describePopulation(attempted, completed int, m Metrics) MetricPopulation {
	interpret := func(samples int) string {
		if samples >= p99Minimum {
			return p99Estimate
		}
		return p99Descriptive
	}
	p := MetricPopulation{
		Attempted: attempted, Successful: completed, Eligible: completed, Excluded: attempted - completed,
		ThroughputEligible: m["throughput_performance_eligible"] == true,
		P99Minimum:         p99Minimum, P99Interpretation: interpret(completed),
		P99Samples: map[string]int{}, P99Interpretations: map[string]string{}, FailurePolicy: failurePolicy,
	}
	for _, name := range []string{"ttft", "e2e", "effective_prefill_tok_s", "decode_tok_s", "tpot"} {
		samples, _ := m.Float(name + "_samples")
		p.P99Samples[name] = int(samples)
		p.P99Interpretations[name] = interpret(int(samples))
	}
	return p
}

func sampling(temperature, topP *float64) Sampling {
	effective := 0.0
	if temperature != nil {
		effective = *temperature
	}
	return Sampling{
		Temperature: SamplingValue{Requested: temperature, Effective: &effective, Sent: true},
		TopP:        SamplingValue{Requested: topP, Effective: topP, Sent: topP != nil},
	}
}

// judge finds what a result is: a row, or a failure of the first class that
// fits, with its kind.
func judge(r *Result) (*Row, *Failure, string) {
	o := r.Observation
	switch {
	case r.NotSent != "":
		return nil, failure(r, ClassRunner, "CancelledError", r.NotSent), "not_sent"
	case o == nil:
		return nil, failure(r, ClassRequest, "ValueError", r.PromptError), "prompt"
	case o.Failure != nil:
		class := ClassRequest
		if o.Received {
			class = ClassStream
		}
		return nil, failure(r, class, errorType(o), o.Failure.Message), string(o.Failure.Kind)
	}
	row, fault := timing(r)
	switch {
	case fault != "":
		return nil, failure(r, ClassStream, "ValueError", fault), "timing"
	case r.Canary != nil && !r.Canary.Passed:
		return nil, failure(r, ClassCanary, "ValueError", canaryFault(r.Canary)), "canary"
	case r.Words != nil && !r.Words.Passed:
		return nil, failure(r, ClassControlled, "ValueError", wordsFault(r.Words)), "controlled_output"
	}
	return row, nil, ""
}

func canaryFault(c *Canary) string {
	switch {
	case c.ForeignMarkerCount > 0:
		return fmt.Sprintf("the response holds %d markers of other requests: responses were mixed up", c.ForeignMarkerCount)
	case !c.MarkerAtStart:
		return "the response does not begin with its marker " + c.Marker
	}
	return "the response was cut before its end could be seen"
}

func wordsFault(w *ControlledOutput) string {
	if w.ExactAdherence == nil {
		return fmt.Sprintf("the response was cut; %d of %d words seen", w.ObservedCodeWords, w.RequestedWords)
	}
	return fmt.Sprintf("asked for %d words, got %d and %d others", w.RequestedWords, w.ObservedCodeWords, w.ObservedExtraWords)
}

// errorType is the Python class that programs which read the format expect.
func errorType(o *client.Observation) string {
	switch o.Failure.Kind {
	case client.KindDial, client.KindDNS, client.KindTLS, client.KindProxy:
		return "URLError"
	case client.KindTimeoutConnect, client.KindTimeoutFirstByte, client.KindTimeoutOutput, client.KindTimeoutIdle, client.KindTimeoutTotal:
		return "TimeoutError"
	case client.KindHTTPStatus:
		return "HTTPError"
	case client.KindServerError:
		return "RuntimeError"
	case client.KindCancelled:
		return "CancelledError"
	case client.KindConnStale:
		return "RemoteDisconnected"
	case client.KindProtocol:
		return "HTTPException"
	case client.KindTruncated:
		if !o.Received {
			return "IncompleteRead"
		}
	}
	return "ValueError"
}

func failure(r *Result, class, errorType, message string) *Failure {
	f := &Failure{RequestIndex: r.Index, Class: class, ErrorType: errorType, ErrorMessage: message}
	if message == "" {
		f.ErrorMessage = "<empty exception message>"
	}
	if utf8.RuneCountInString(message) > messageLimit {
		f.ErrorMessage, f.ErrorMessageTruncated = string([]rune(message)[:messageLimit]), true
	}
	if class != ClassRunner {
		planned, elapsed := r.PlannedContextTokens, ms(r.Elapsed)
		f.PlannedContextTokens, f.ElapsedMS = &planned, &elapsed
	}
	if o := r.Observation; o != nil && o.Received {
		f.ResponseReceived = true
		f.Response = &FailedResponse{Metadata: metadata(o), Canary: r.Canary, ControlledOutput: r.Words}
		if row, fault := timing(r); fault == "" || row.TTFT == nil {
			f.Response.Timing = row
		}
	}
	return f
}

func metadata(o *client.Observation) ResponseMetadata {
	m := ResponseMetadata{
		OutputTokenSource: source(o), ContentChunks: o.ContentChunks, ReasoningChunks: o.ReasoningChunks,
		FinishReasons: o.FinishReasons, TerminalObserved: o.Terminal, Truncated: o.Truncated, Usage: map[string]int64{},
	}
	if u := o.Usage; u != nil {
		for name, n := range map[string]*int64{"prompt_tokens": u.PromptTokens, "completion_tokens": u.CompletionTokens, "total_tokens": u.TotalTokens} {
			if n != nil {
				m.Usage[name] = *n
			}
		}
	}
	return m
}

// source says where the output token count comes from. Chunks are not tokens:
// without usage the count stays null.
func source(o *client.Observation) string {
	switch {
	case o.Usage != nil && o.Usage.CompletionTokens != nil:
		return SourceUsage
	case o.ContentChunks > 0:
		return SourceChunks
	}
	return SourceUnknown
}

// timing makes a row, and says what is not sane about its times. A row of a
// response without visible content has no TTFT.
func timing(r *Result) (*Row, string) {
	o := r.Observation
	row := &Row{
		RequestIndex: r.Index, PlannedContextTokens: r.PlannedContextTokens, OutputTokenSource: source(o),
		ContentChunks: o.ContentChunks, ReasoningChunks: o.ReasoningChunks, Truncated: o.Truncated,
		Canary: r.Canary, ControlledOutput: r.Words, E2E: ptr(ms(o.End)),
	}
	if o.Usage != nil {
		row.PromptTokens, row.OutputTokens = o.Usage.PromptTokens, o.Usage.CompletionTokens
	}
	if o.FirstOutput != nil {
		row.TimeToFirstOutput = ptr(ms(*o.FirstOutput))
	}
	if o.FirstContent != nil {
		row.TTFT = ptr(ms(*o.FirstContent))
	}
	*row = row.derive()
	switch {
	case o.FirstContent == nil:
		return row, "no visible content"
	case *o.FirstOutput < 0 || *o.FirstOutput > *o.FirstContent || *o.FirstContent > o.End:
		return row, fmt.Sprintf("the times are not in order: TTFO %v, TTFT %v, E2E %v", *o.FirstOutput, *o.FirstContent, o.End)
	}
	return row, ""
}

// derive fills what a row's own times and counts make, in the format's
// arithmetic: on milliseconds, in this order, so that any reader gets the same
// bits. Effective prefill is prompt tokens over the time to the first output;
// decode is output tokens after the first over the generation time, and TPOT
// its inverse. Null where a division has no meaning.
func (r Row) derive() Row {
	r.Generation, r.VisibleGeneration = nil, nil
	r.EffectivePrefillTokS, r.DecodeTokS, r.TPOT = nil, nil, nil
	first := r.TimeToFirstOutput
	if first == nil {
		first = r.TTFT // the first generations took the first content for the first output
	}
	if r.TTFT != nil {
		r.VisibleGeneration = ptr(*r.E2E - *r.TTFT)
	}
	if first != nil {
		r.Generation = ptr(*r.E2E - *first)
		if r.PromptTokens != nil && *first > 0 {
			r.EffectivePrefillTokS = ptr(float64(*r.PromptTokens) / (*first / 1000))
		}
		if r.OutputTokens != nil && *r.OutputTokens > 1 && *r.Generation > 0 {
			after := float64(*r.OutputTokens - 1)
			r.DecodeTokS, r.TPOT = ptr(after/(*r.Generation/1000)), ptr(*r.Generation/after)
		}
	}
	r.MeanTimePerOutput, r.MeanInterTokenLatency = r.TPOT, r.TPOT
	return r
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func iso(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func ptr(v float64) *float64 { return &v }

func maybe(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
