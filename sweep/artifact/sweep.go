package artifact

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
	State             string            `json:"state"` // "complete" or "interrupted"
	StateReason       string            `json:"state_reason"`
	Loop              string            `json:"loop"` // "closed"
	SeedOrigin        string            `json:"seed_origin"`
	Engine            Engine            `json:"engine"`
	Model             Model             `json:"model"`
	Tier              *Tier             `json:"tier"`
	Endpoint          Endpoint          `json:"endpoint"`
	RequestOptions    RequestOptions    `json:"request_options"`
	Warmup            Warmup            `json:"warmup"`

	// What follows is computed by Build, over all requests.
	Attempted           int            `json:"attempted_requests"`
	RequestsPerS        *float64       `json:"requests_per_s"`
	AttemptsPerS        *float64       `json:"attempted_requests_per_s"`
	SuccessRate         *float64       `json:"success_rate"`
	CanaryPassRate      *float64       `json:"canary_pass_rate"`
	AdherenceRate       *float64       `json:"adherence_rate"`
	FailureKinds        map[string]int `json:"failure_kinds"`
	PromptSize          PromptSize     `json:"prompt_size"`
	TokensPerChunkMean  *float64       `json:"tokens_per_chunk_mean"`
	CachedTokensTotal   *int64         `json:"prompt_tokens_cached_total"`
	CacheHitRate        *float64       `json:"cache_hit_rate"`
	RequestObservations []RequestFacts `json:"requests"`
	Client              ClientFacts    `json:"client"`
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
	ToolChunks       int      `json:"tool_chunks"`
}

// ClientFacts is what the client did to make the measurement.
type ClientFacts struct {
	GoVersion                string     `json:"go_version"`
	OS                       string     `json:"os"`
	Arch                     string     `json:"arch"`
	MaxProcs                 int        `json:"max_procs"`
	ConnectionsOpened        int        `json:"connections_opened"`
	ConnectionsReused        int        `json:"connections_reused"`
	Connect                  *Connected `json:"connect_ms"`
	EffectiveConcurrencyMean *float64   `json:"effective_concurrency_mean"`
}

// Connected is how long opening connections took, in milliseconds.
type Connected struct {
	Samples int     `json:"samples"`
	Mean    float64 `json:"mean"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	Max     float64 `json:"max"`
}
