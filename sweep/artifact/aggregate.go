package artifact

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// AggregateSchema names the format that joins artifacts of synchronised
// replicas: independent servers of one configuration, driven at one time.
const AggregateSchema = "anvil-serving.capacity-aggregate/v1"

// Aggregate is what the replicas did together. Its keys are the format's; sweep
// is ours.
type Aggregate struct {
	Schema                 string           `json:"schema"`
	MeasurementProtocol    string           `json:"measurement_protocol"`
	Topology               string           `json:"topology"`
	StartedAt              string           `json:"started_at"`
	FinishedAt             string           `json:"finished_at"`
	WallClockMS            float64          `json:"wall_clock_ms"`
	WallLower              float64          `json:"wall_clock_ms_lower_bound"`
	WallUpper              float64          `json:"wall_clock_ms_upper_bound"`
	Timeline               Timeline         `json:"timeline"`
	Synchronization        string           `json:"synchronization"`
	ReplicaIdentity        ReplicaIdentity  `json:"replica_identity"`
	RunIdentity            RunIdentity      `json:"run_identity"`
	Validation             Validation       `json:"validation_provenance"`
	ReplicaCount           int              `json:"replica_count"`
	Requests               int              `json:"requests"`
	Completed              int              `json:"completed"`
	Failed                 int              `json:"failed"`
	PerformanceEligible    bool             `json:"performance_eligible"`
	Concurrency            int              `json:"concurrency"`
	ContextTokens          any              `json:"context_tokens"`
	ContextSeed            any              `json:"context_seed"`
	MaxContextTokens       any              `json:"max_context_tokens"`
	MaxTokens              any              `json:"max_tokens"`
	ResponseWords          any              `json:"response_words"`
	PromptCacheMode        any              `json:"prompt_cache_mode"`
	SharedPrefixTokens     *int             `json:"shared_prefix_tokens"`
	SharedPrefix           SharedPrefix     `json:"shared_prefix_identity"`
	RequestCanaries        any              `json:"request_canaries"`
	ControlledOutputPolicy any              `json:"controlled_output_policy"`
	MetricPopulation       map[string]any   `json:"metric_population"`
	Replicas               []AggregateInput `json:"replicas"`
	RequestTimings         []AggregateRow   `json:"request_timings"`
	Metrics                Metrics          `json:"metrics"`

	Model  any    `json:"model"`
	Engine any    `json:"engine"`
	Sweep  *Sweep `json:"sweep"` // identity of the cell, where all inputs are of one
}

// Timeline is how far the replicas ran at one time.
type Timeline struct {
	Alignment     string  `json:"alignment"` // "exact" or "legacy-whole-second"
	ClockDomainID *string `json:"clock_domain_id"`
	WallLower     float64 `json:"wall_clock_ms_lower_bound"`
	WallUpper     float64 `json:"wall_clock_ms_upper_bound"`
	StartSkewMS   any     `json:"start_skew_ms"` // null where clocks are whole seconds
	FinishSkewMS  any     `json:"finish_skew_ms"`
	Limitation    *string `json:"limitation"`
}

// ReplicaIdentity says on what word the replicas are of one configuration.
type ReplicaIdentity struct {
	Status      string  `json:"status"` // "declared-matching-fingerprint" or "legacy-unverified"
	Fingerprint *string `json:"configuration_fingerprint"`
	Limitation  *string `json:"limitation"`
}

// RunIdentity says by what the runs are told apart.
type RunIdentity struct {
	Status        string   `json:"status"` // "distinct-composite-identities" or "legacy-missing-run-id"
	Fields        []string `json:"fields"`
	MissingRunIDs int      `json:"missing_run_ids"`
}

// Validation says how far responses were held to what was asked for.
type Validation struct {
	Canaries   string  `json:"request_canary_semantics"`
	Adherence  string  `json:"controlled_output_adherence"`
	Limitation *string `json:"limitation"`
}

// SharedPrefix is the prefix that the prompts had in common.
type SharedPrefix struct {
	Tokens *int   `json:"effective_tokens"`
	Status string `json:"status"` // "ignored-for-unique-cache", "declared" or "legacy-unknown"
}

// AggregateInput is one replica's artifact.
type AggregateInput struct {
	Replica       int    `json:"replica"`  // from 1
	Artifact      string `json:"artifact"` // relative to the aggregate
	SHA256        string `json:"sha256"`
	BaseURL       any    `json:"base_url"`
	RunID         any    `json:"run_id"`
	Model         any    `json:"model"`
	GPU           any    `json:"gpu"`
	SourceRecipe  any    `json:"source_recipe"`
	Requests      int    `json:"requests"`
	Concurrency   int    `json:"concurrency"`
	WallClockMS   any    `json:"wall_clock_ms"`
	ThroughputTok any    `json:"throughput_tok_s"`
}

// AggregateRow is a request's row with the replica that it was sent to. Indexes
// go through all replicas.
type AggregateRow struct {
	Row
	Replica             int `json:"replica"`
	ReplicaRequestIndex int `json:"replica_request_index"`
}

// Combine joins artifacts of synchronised replicas, in the order given; paths
// in the result are relative to base. Its figures are over all requests;
// throughput divides by the longest that the whole can have taken, so that it
// is a lower bound where the clocks do not say exactly. An error names the file
// and what keeps it out.
func Combine(docs []*Document, base string) (*Aggregate, error) {
	if len(docs) < 2 {
		return nil, fmt.Errorf("an aggregate is of two artifacts or more, not of %d", len(docs))
	}
	for _, d := range docs {
		if err := combinable(d); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Path, err)
		}
	}
	first := docs[0]
	if err := matching(docs); err != nil {
		return nil, err
	}
	identity, err := identityOf(docs)
	if err != nil {
		return nil, err
	}
	run, err := distinct(docs)
	if err != nil {
		return nil, err
	}
	timeline, err := timelineOf(docs)
	if err != nil {
		return nil, err
	}
	a := &Aggregate{
		Schema: AggregateSchema, MeasurementProtocol: "capacity-v3-synchronized-independent-replicas", Topology: "data-parallel-independent-replicas",
		StartedAt: text(first.wire.StartedAt), FinishedAt: text(first.wire.FinishedAt),
		WallClockMS: timeline.WallUpper, WallLower: timeline.WallLower, WallUpper: timeline.WallUpper,
		Timeline: timeline, Synchronization: timeline.Alignment, ReplicaIdentity: identity, RunIdentity: run, Validation: validationOf(docs),
		ReplicaCount: len(docs), PerformanceEligible: true, SharedPrefix: prefixOf(first),
		ContextTokens: first.tree["context_tokens"], ContextSeed: first.tree["context_seed"], MaxContextTokens: first.tree["max_context_tokens"],
		MaxTokens: first.tree["max_tokens"], ResponseWords: first.tree["response_words"], PromptCacheMode: first.tree["prompt_cache_mode"],
		RequestCanaries: first.tree["request_canaries"], ControlledOutputPolicy: first.tree["controlled_output_policy"],
		Model: first.tree["model"], Engine: first.tree["engine"], RequestTimings: []AggregateRow{},
	}
	a.SharedPrefixTokens = a.SharedPrefix.Tokens
	var rows []Row
	for i, d := range docs {
		rel, err := filepath.Rel(base, d.Path)
		if err != nil || strings.HasPrefix(filepath.ToSlash(rel), "../") {
			return nil, fmt.Errorf("%s: an input lies in the aggregate's folder or below it, so that both can be kept together", d.Path)
		}
		for _, row := range d.Rows {
			out := AggregateRow{Row: row, Replica: i + 1, ReplicaRequestIndex: row.RequestIndex}
			out.RequestIndex += a.Requests
			a.RequestTimings = append(a.RequestTimings, out)
			rows = append(rows, out.Row)
		}
		a.Requests, a.Completed, a.Concurrency = a.Requests+d.Requests, a.Completed+d.Completed, a.Concurrency+d.Concurrency
		throughput, _ := d.tree["metrics"].(map[string]any)
		a.Replicas = append(a.Replicas, AggregateInput{
			Replica: i + 1, Artifact: filepath.ToSlash(rel), SHA256: d.SHA256, BaseURL: d.tree["base_url"], RunID: d.tree["run_id"],
			Model: d.tree["model"], GPU: d.tree["gpu"], SourceRecipe: d.tree["source_recipe"], Requests: d.Requests, Concurrency: d.Concurrency,
			WallClockMS: d.tree["wall_clock_ms"], ThroughputTok: throughput["throughput_tok_s"],
		})
	}
	a.Metrics = population{rows: rows, wallMS: timeline.WallUpper, eligible: true}.compute()
	delete(a.Metrics, "prefix_cache_hit_avg") // rows do not hold it
	a.bounds()
	interpretation := p99Descriptive
	if len(rows) >= p99Minimum {
		interpretation = p99Estimate
	}
	a.MetricPopulation = map[string]any{
		"successful_requests": len(rows), "excluded_requests": 0, "p99_minimum_recommended_samples": p99Minimum, "p99_interpretation": interpretation,
	}
	a.Sweep = sharedSweep(docs)
	return a, nil
}

// bounds gives the throughput that the bounds of the wall time allow.
func (a *Aggregate) bounds() {
	lower, ok := a.Metrics.Float("throughput_tok_s")
	if !ok {
		return
	}
	tokens, _ := a.Metrics.Float("output_tokens")
	upper, kind := tokens/(a.WallLower/1000), "exact"
	if upper != lower {
		kind = "conservative-lower-bound"
	}
	a.Metrics["throughput_tok_s_lower_bound"], a.Metrics["throughput_tok_s_upper_bound"] = lower, upper
	a.Metrics["throughput_estimate_kind"] = kind
}

// sharedSweep is the identity of the cell whose replicas these are; nil where
// they are not of one cell.
func sharedSweep(docs []*Document) *Sweep {
	first := docs[0].Sweep
	if first == nil {
		return nil
	}
	out := Sweep{
		Schema: first.Schema, Program: first.Program, Name: first.Name, CellID: first.CellID, CellDigest: first.CellDigest,
		CellDigestRule: first.CellDigestRule, ConfigurationRule: first.ConfigurationRule, Axes: first.Axes, Repeat: first.Repeat,
		State: "complete", Loop: first.Loop, Connection: first.Connection, SeedOrigin: first.SeedOrigin,
		Engine: first.Engine, Model: first.Model, Tier: first.Tier, Endpoint: Endpoint{ReportedModels: []string{}, Simulated: first.Endpoint.Simulated},
		PromptSize: PromptSize{Sizing: first.PromptSize.Sizing}, FailureKinds: map[string]int{}, RequestObservations: []RequestFacts{}, Flags: []Flag{},
	}
	for i, d := range docs {
		if d.Sweep == nil || d.Sweep.CellDigest != first.CellDigest {
			return nil
		}
		out.Attempted += d.Requests
		for _, f := range d.Sweep.Flags {
			f.Reason = fmt.Sprintf("replica %d: %s", i+1, f.Reason)
			out.Flags = append(out.Flags, f)
		}
	}
	out.SuccessRate = ptr(1)
	return &out
}

// readAggregate reads an aggregate as a document whose figures are those of
// all its replicas.
func (d *Document) readAggregate() {
	d.readArtifact()
	if d.Kind != KindBenchmark {
		return
	}
	d.Kind, d.Generation, d.Limitations = KindAggregate, "", nil
	replicas, _ := d.tree["replicas"].([]any)
	var gpus []string
	for _, r := range replicas {
		in, _ := r.(map[string]any)
		sum, _ := in["sha256"].(string)
		d.Members = append(d.Members, sum)
		if gpu, ok := in["gpu"].(string); ok && !slices.Contains(gpus, gpu) {
			gpus = append(gpus, gpu)
		}
		if model, ok := in["model"].(string); ok && d.Model == "" {
			d.Model = model
		}
		if source, ok := in["source_recipe"].(string); ok && d.SourceRecipe == "" {
			d.SourceRecipe = source
		}
	}
	d.GPU = fmt.Sprintf("%d× %s", len(replicas), strings.Join(gpus, ", "))
	if s := d.Sweep; s != nil && s.Tier != nil {
		d.Tier = s.Tier.Name
	}
	if id, ok := d.tree["replica_identity"].(map[string]any); ok {
		d.ConfigurationFingerprint, _ = id["configuration_fingerprint"].(string)
	}
}
