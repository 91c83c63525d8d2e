package artifact

// Schema names the format of an artifact.
const Schema = "anvil-serving.benchmark/v1"

// Artifact is one cell's result: the 41 keys of the format's newest
// generation, two that readers of the format demand, and ours under Sweep.
// docs/artifact.md says what each key means and in which unit.
type Artifact struct {
	Schema                   string            `json:"schema"`
	MeasurementProtocol      string            `json:"measurement_protocol"`
	RunID                    string            `json:"run_id"`
	StartedAt                string            `json:"started_at"`
	FinishedAt               string            `json:"finished_at"`
	StartedAtUnixNS          int64             `json:"started_at_unix_ns"`
	FinishedAtUnixNS         int64             `json:"finished_at_unix_ns"`
	TimestampPrecision       string            `json:"timestamp_precision"`
	ClockDomainID            *string           `json:"clock_domain_id"`
	ConfigurationFingerprint *string           `json:"configuration_fingerprint"`
	WallClockMS              float64           `json:"wall_clock_ms"`
	BaseURL                  string            `json:"base_url"`
	Model                    string            `json:"model"`
	Engine                   *string           `json:"engine"`
	GPU                      *string           `json:"gpu"`
	Tier                     *string           `json:"tier"`
	Manifest                 *string           `json:"manifest"`
	SourceRecipe             *string           `json:"source_recipe"`
	Requests                 int               `json:"requests"`
	Completed                int               `json:"completed"`
	Failed                   int               `json:"failed"`
	ResponsesReceived        int               `json:"responses_received"`
	Failures                 []Failure         `json:"failures"`
	Concurrency              int               `json:"concurrency"`
	ContextTokens            *int              `json:"context_tokens"`
	ContextSeed              int64             `json:"context_seed"`
	ContextDistribution      map[string]int    `json:"context_distribution"`
	MaxContextTokens         *int              `json:"max_context_tokens"`
	MaxTokens                int               `json:"max_tokens"`
	ResponseWords            int               `json:"response_words"`
	PromptCacheMode          string            `json:"prompt_cache_mode"`
	SharedPrefixTokens       int               `json:"shared_prefix_tokens"`
	RequestCanaries          bool              `json:"request_canaries"`
	ControlledOutputPolicy   string            `json:"controlled_output_policy"`
	Sampling                 Sampling          `json:"sampling"`
	PerformanceEligible      bool              `json:"performance_eligible"`
	MetricPopulation         MetricPopulation  `json:"metric_population"`
	ServeFlags               ServeFlags        `json:"serve_flags"`
	TimingMethodology        map[string]string `json:"timing_methodology"`
	RequestTimings           []Row             `json:"request_timings"`
	Metrics                  Metrics           `json:"metrics"`

	PromptSetID string `json:"prompt_set_id"`
	CachePolicy string `json:"cache_policy"`
	Sweep       *Sweep `json:"sweep"`
}

// Bytes is the artifact in the format's canonical bytes.
func (a *Artifact) Bytes() ([]byte, error) { return Encode(a) }

// Sampling says what was asked for and what was sent.
type Sampling struct {
	Temperature SamplingValue `json:"temperature"`
	TopP        SamplingValue `json:"top_p"`
}

// SamplingValue is one sampling parameter.
type SamplingValue struct {
	Requested *float64 `json:"requested"`
	Effective *float64 `json:"effective_request"`
	Sent      bool     `json:"sent"`
}

// MetricPopulation says which requests the figures are about.
type MetricPopulation struct {
	Attempted          int               `json:"attempted_requests"`
	Successful         int               `json:"successful_requests"`
	Eligible           int               `json:"performance_eligible_requests"`
	Excluded           int               `json:"excluded_requests"`
	ThroughputEligible bool              `json:"aggregate_throughput_eligible"`
	P99Minimum         int               `json:"p99_minimum_recommended_samples"`
	P99Interpretation  string            `json:"p99_interpretation"`
	P99Samples         map[string]int    `json:"p99_samples_by_metric"`
	P99Interpretations map[string]string `json:"p99_interpretation_by_metric"`
	FailurePolicy      string            `json:"failure_policy"`
}

// ServeFlags says how the model was asked to think.
type ServeFlags struct {
	SharedPrefixBurst bool    `json:"shared_prefix_burst"`
	NoThinking        bool    `json:"no_thinking"`
	ThinkingMode      string  `json:"thinking_mode"`
	ReasoningEffort   *string `json:"reasoning_effort"`
}

// Row is what one request measured. Times are milliseconds from the moment
// before the request was written. In request_timings every row is a success
// and has all times; the response_timing of a failure has what there was.
type Row struct {
	RequestIndex          int      `json:"request_index"`
	PlannedContextTokens  int      `json:"planned_context_tokens"`
	PromptTokens          *int64   `json:"prompt_tokens"`
	OutputTokens          *int64   `json:"output_tokens"`
	OutputTokenSource     string   `json:"output_token_source"`
	TimeToFirstOutput     *float64 `json:"time_to_first_output_ms"`
	TTFT                  *float64 `json:"ttft_ms"`
	Generation            *float64 `json:"generation_ms"`
	VisibleGeneration     *float64 `json:"visible_generation_ms"`
	E2E                   *float64 `json:"e2e_ms"`
	EffectivePrefillTokS  *float64 `json:"effective_prefill_tok_s"`
	DecodeTokS            *float64 `json:"decode_tok_s"`
	MeanInterTokenLatency *float64 `json:"mean_inter_token_latency_ms"`
	MeanTimePerOutput     *float64 `json:"mean_time_per_output_token_ms"`
	TPOT                  *float64 `json:"tpot_ms"`
	ContentChunks         int      `json:"content_chunks"`
	ReasoningChunks       int      `json:"reasoning_chunks"`
	Truncated             bool     `json:"visible_content_truncated"`

	Canary           *Canary           `json:"request_canary"`
	ControlledOutput *ControlledOutput `json:"controlled_output"`
}

// Canary says whether a response was the answer to its own request.
type Canary struct {
	Marker              string `json:"marker"`
	MarkerAtStart       bool   `json:"marker_at_start"`
	ObservedMarkerCount int    `json:"observed_marker_count"`
	ForeignMarkerCount  int    `json:"foreign_marker_count"`
	CaptureComplete     bool   `json:"capture_complete"`
	Passed              bool   `json:"passed"`
}

// ControlledOutput says whether a response had the length that was asked for.
type ControlledOutput struct {
	Policy             string `json:"policy"`
	RequestedWords     int    `json:"requested_words"`
	ObservedCodeWords  int    `json:"observed_code_words"`
	ObservedExtraWords int    `json:"observed_extra_words"`
	CaptureComplete    bool   `json:"capture_complete"`
	ExactAdherence     *bool  `json:"exact_adherence"`
	Passed             bool   `json:"passed"`
}

// Failure is one request that did not succeed. Fields that are nil are not
// written: the format tells shapes of failure apart by their keys.
type Failure struct {
	RequestIndex          int
	PlannedContextTokens  *int // nil for runner_error
	Class                 string
	ErrorType             string // a Python class name, which readers of the format know
	ErrorMessage          string
	ErrorMessageTruncated bool
	ResponseReceived      bool
	ElapsedMS             *float64 // nil for runner_error

	Response *FailedResponse // nil where no stream was read
}

// FailedResponse is what is kept of a stream that was read and did not pass.
type FailedResponse struct {
	Timing           *Row
	Metadata         ResponseMetadata
	Canary           *Canary
	ControlledOutput *ControlledOutput
}

// ResponseMetadata is a failed response without its text.
type ResponseMetadata struct {
	OutputTokenSource string           `json:"output_token_source"`
	ContentChunks     int              `json:"content_chunks"`
	ReasoningChunks   int              `json:"reasoning_chunks"`
	FinishReasons     []string         `json:"finish_reasons"`
	TerminalObserved  bool             `json:"stream_terminal_observed"`
	Truncated         bool             `json:"visible_content_truncated"`
	Usage             map[string]int64 `json:"usage"`
}

// Failure classes, in the order they are looked for.
const (
	ClassRequest    = "request_error"
	ClassStream     = "stream_validation_failed"
	ClassCanary     = "request_canary_failed"
	ClassControlled = "controlled_output_failed"
	ClassRunner     = "runner_error"
)

// fields is the failure as the format writes it.
func (f Failure) fields() map[string]any {
	out := map[string]any{
		"request_index": f.RequestIndex, "failure_class": f.Class, "error_type": f.ErrorType,
		"error_message": f.ErrorMessage, "error_message_truncated": f.ErrorMessageTruncated,
		"response_received": f.ResponseReceived, "performance_eligible": false,
	}
	if f.PlannedContextTokens != nil {
		out["planned_context_tokens"] = *f.PlannedContextTokens
	}
	if f.ElapsedMS != nil {
		out["elapsed_ms"] = *f.ElapsedMS
	}
	if r := f.Response; r != nil {
		out["response_timing"], out["response_metadata"] = r.Timing, r.Metadata
		if r.Canary != nil {
			out["request_canary"] = r.Canary
		}
		if r.ControlledOutput != nil {
			out["controlled_output"] = r.ControlledOutput
		}
	}
	return out
}
