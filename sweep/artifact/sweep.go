package artifact

import (
	"anvilsweep/client"
	"anvilsweep/sweep/metrics"
)

// CellSchema names the layout of the sweep object.
const CellSchema = "anvilsweep.cell/v1"

// Sweep is everything the format has no key for. Figures that were not
// measured are null, never 0. docs/artifact.md documents each field.
type Sweep struct {
	Schema            string            `json:"schema"`
	Program           Program           `json:"program"`
	Name              string            `json:"sweep"`
	CellID            string            `json:"cell_id"`
	CellDigest        string            `json:"cell_digest"`
	CellDigestRule    string            `json:"cell_digest_rule"`
	ConfigurationRule string            `json:"configuration_rule"`
	Axes              map[string]string `json:"axes"`
	Repeat            int               `json:"repeat"`
	Replica           *Replica          `json:"replica"` // of a cell that several servers shared
	State             string            `json:"state"`   // "complete", "interrupted" by the user, or "cut" by a rule
	StateReason       string            `json:"state_reason"`
	Loop              string            `json:"loop"`       // "closed" or "open"
	Connection        string            `json:"connection"` // "reuse" or "fresh"
	Trace             *string           `json:"trace"`      // name of the raw trace beside the artifact
	SeedOrigin        string            `json:"seed_origin"`
	Engine            Engine            `json:"engine"`
	Model             Model             `json:"model"`
	Tier              *Tier             `json:"tier"`
	Endpoint          Endpoint          `json:"endpoint"`
	RequestOptions    RequestOptions    `json:"request_options"`
	Warmup            Warmup            `json:"warmup"`
	Identity          []Flag            `json:"-"`        // in what the server is not the recipe's; they become flags
	Arrivals          *Arrivals         `json:"arrivals"` // of an open loop
	Server            *Server           `json:"server"`   // what the engine's metrics page told
	GPU               *GPU              `json:"gpu"`      // what the GPUs' readings told

	// What follows is computed by Build, over all requests.
	Attempted           int            `json:"attempted_requests"`
	RequestsPerS        *float64       `json:"requests_per_s"`
	AttemptsPerS        *float64       `json:"attempted_requests_per_s"`
	SuccessRate         *float64       `json:"success_rate"`
	CanaryPassRate      *float64       `json:"canary_pass_rate"`
	AdherenceRate       *float64       `json:"adherence_rate"`
	FailureKinds        map[string]int `json:"failure_kinds"`
	PromptSize          PromptSize     `json:"prompt_size"`
	InterChunk          Spread         `json:"inter_chunk_ms"`
	TokensPerChunkMean  *float64       `json:"tokens_per_chunk_mean"`
	CachedTokensTotal   *int64         `json:"prompt_tokens_cached_total"`
	CacheHitRate        *float64       `json:"cache_hit_rate"`
	Steady              Steady         `json:"steady"`
	RequestObservations []RequestFacts `json:"requests"`
	Client              ClientFacts    `json:"client"`
	Flags               []Flag         `json:"flags"`
}

// Flag says that a cell's figures are not what they should be, though its
// requests succeeded.
type Flag struct {
	Name   string `json:"flag"`
	Reason string `json:"reason"`
}

// Flags of a cell.
const (
	FlagClientLimited = "client_limited" // the client may have bent the figures
	FlagCacheHits     = "cache_hits"     // unique prompts were answered from the cache
	FlagPromptSize    = "prompt_size"    // prompts sized by tokens are not of the size planned
	FlagNoSlot        = "no_free_slot"   // arrivals waited for a slot, which latencies from the start leave out
	FlagIdentity      = "identity"       // the server is another than the recipe's
	FlagNotAdmitted   = "not_admitted"   // the engine ran fewer requests at once than were in flight
	FlagPreempted     = "preempted"      // the engine put requests back
)

// Spread is a distribution, in milliseconds. All but samples is null where
// there is no sample.
type Spread struct {
	Samples int      `json:"samples"`
	Mean    *float64 `json:"mean"`
	Stddev  *float64 `json:"stddev"`
	Min     *float64 `json:"min"`
	P50     *float64 `json:"p50"`
	P90     *float64 `json:"p90"`
	P95     *float64 `json:"p95"`
	P99     *float64 `json:"p99"`
	Max     *float64 `json:"max"`
}

// NewSpread keeps the statistics that a spread shows.
func NewSpread(d metrics.Distribution) Spread {
	return Spread{Samples: d.Samples, Mean: d.Mean, Stddev: d.Stddev, Min: d.Min, P50: d.P50, P90: d.P90, P95: d.P95, P99: d.P99, Max: d.Max}
}

// Replica says which of a cell's servers the artifact is of.
type Replica struct {
	Number int `json:"number"` // from 1
	Of     int `json:"of"`
}

// Program is what made the artifact.
type Program struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Engine is the engine as the recipe declares it.
type Engine struct {
	Name    string         `json:"name"`
	Kind    string         `json:"kind"`
	Version string         `json:"version"`
	Image   string         `json:"image"`
	Flags   map[string]any `json:"flags"`
}

// Model is the model as the recipe declares it.
type Model struct {
	Name          string `json:"name"`
	ID            string `json:"id"`
	Revision      string `json:"revision"`
	Quantization  string `json:"quantization"`
	ContextWindow *int   `json:"context_window"`
}

// Tier is the tier as the recipe declares it.
type Tier struct {
	Name         string   `json:"name"`
	GPU          string   `json:"gpu"`
	Count        int      `json:"count"`
	MemoryGiB    *float64 `json:"memory_gib"`
	PricePerHour *float64 `json:"price_per_hour"`
	Currency     string   `json:"currency"`
	Profile      string   `json:"profile"`
}

// Endpoint is what the server said of itself.
type Endpoint struct {
	ReportedModels []string `json:"reported_models"`
	ModelsError    *string  `json:"models_error"` // why the server listed none
	OwnedBy        *string  `json:"owned_by"`
	MaxModelLen    *int     `json:"max_model_len"`
	Simulated      bool     `json:"simulated"`
	Reported       Reported `json:"reported"`
	Proxy          *string  `json:"proxy"`       // host:port of the proxy in between
	UnixSocket     *string  `json:"unix_socket"` // where it was reached instead of base_url's host
	TLSInsecure    bool     `json:"tls_insecure"`
}

// RequestOptions are body fields beyond the format's.
type RequestOptions struct {
	MinTokens *int  `json:"min_tokens"`
	IgnoreEOS *bool `json:"ignore_eos"`
}

// Warmup counts the requests sent before the measured ones.
type Warmup struct {
	Requests     int            `json:"requests"`
	Completed    int            `json:"completed"`
	Failed       int            `json:"failed"`
	FailureKinds map[string]int `json:"failure_kinds"`
}

// PromptSize holds planned against real prompt tokens over successful rows
// whose prompt the server counted.
type PromptSize struct {
	Sizing       string   `json:"sizing"`          // "chars" or "tokens"
	CountedBy    *string  `json:"counted_by"`      // how prompts sized by tokens were counted: "tokenize" or "usage"
	Counted      int      `json:"counted_prompts"` // and how many were, before the cell
	Overhead     *int     `json:"template_tokens"` // what the chat template adds, where prompts were counted without it
	Planned      int64    `json:"planned_tokens_total"`
	Real         *int64   `json:"prompt_tokens_total"`
	ErrorPctMean *float64 `json:"error_pct_mean"`
}

// RequestFacts is what a request did beside its row.
type RequestFacts struct {
	RequestIndex     int      `json:"request_index"`
	StartOffsetMS    *float64 `json:"start_offset_ms"`
	ConnectMS        *float64 `json:"connect_ms"`
	ConnectionReused bool     `json:"connection_reused"`
	SentBytes        int64    `json:"sent_bytes"`
	ReceivedBytes    int64    `json:"received_bytes"`
	CachedTokens     *int64   `json:"cached_tokens"`
	FinishReasons    []string `json:"finish_reasons"`
	Warnings         []string `json:"warnings"`
	FailureKind      *string  `json:"failure_kind"`
	HTTPStatus       *int     `json:"http_status"`
	RetryAfter       *string  `json:"retry_after"`
	FirstToolMS      *float64 `json:"time_to_first_tool_ms"`
	DueOffsetMS      *float64 `json:"due_offset_ms"`
	NoFreeSlot       bool     `json:"no_free_slot"`
	ToolChunks       int      `json:"tool_chunks"`
}

// ClientFacts is what the client did to make the measurement, and how far it
// may have bent it.
type ClientFacts struct {
	GoVersion                string     `json:"go_version"`
	OS                       string     `json:"os"`
	Arch                     string     `json:"arch"`
	MaxProcs                 int        `json:"max_procs"`
	ConnectionsOpened        int        `json:"connections_opened"`
	ConnectionsReused        int        `json:"connections_reused"`
	Connect                  *Connected `json:"connect_ms"`
	EffectiveConcurrencyMean *float64   `json:"effective_concurrency_mean"`
	StartSkewMS              *float64   `json:"start_skew_ms"`
	Watch
}

// Watch is what the client saw of itself while it measured.
type Watch struct {
	Arrivals   string   `json:"arrivals"` // "kernel": when the system took bytes in; "read": when we read them
	ReadLag    *Lag     `json:"read_lag_ms"`
	HandleLag  *Lag     `json:"handle_lag_ms"`
	TimerLag   *Lag     `json:"timer_lag_ms"`
	Turnaround *Lag     `json:"turnaround_ms"`
	SendLag    *Lag     `json:"send_lag_ms"`
	CPUShare   *float64 `json:"cpu_share"`
	GCPauses   int      `json:"gc_pauses"`
	GCPauseMS  float64  `json:"gc_pause_total_ms"`
	GCLongest  float64  `json:"gc_pause_max_ms"`
}

// Lag is how late something was, in milliseconds; quantiles within 7 %.
type Lag struct {
	Samples int64   `json:"samples"`
	Mean    float64 `json:"mean"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	Max     float64 `json:"max"`
}

// NewLag sums a lag up; nil where nothing was counted.
func NewLag(l *client.Lag) *Lag {
	if l.Count() == 0 {
		return nil
	}
	return &Lag{l.Count(), ms(l.Mean()), ms(l.Quantile(50)), ms(l.Quantile(99)), ms(l.Max())}
}

// Connected is how long opening connections took, in milliseconds.
type Connected struct {
	Samples int     `json:"samples"`
	Mean    float64 `json:"mean"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	Max     float64 `json:"max"`
}
