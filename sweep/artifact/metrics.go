package artifact

import (
	"slices"

	"anvilsweep/sweep/metrics"
)

// Metrics is the artifact's metrics object: 159 keys, of which 143 are the
// statistics of eleven families. A figure is a float64 or int64, or nil where
// there is nothing to tell.
type Metrics map[string]any

// Float is a metric as a number; false where it is null or not there.
func (m Metrics) Float(name string) (float64, bool) {
	switch v := m[name].(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	}
	return 0, false
}

// family is a population of per-request values with thirteen statistics.
type family struct {
	name string
	unit string // suffix of the keys of all statistics but samples
	of   func(*Row) *float64
}

var families = []family{
	{"time_to_first_output", "_ms", func(r *Row) *float64 { return r.TimeToFirstOutput }},
	{"ttft", "_ms", func(r *Row) *float64 { return r.TTFT }},
	{"generation", "_ms", func(r *Row) *float64 { return r.Generation }},
	{"e2e", "_ms", func(r *Row) *float64 { return r.E2E }},
	{"mean_time_per_output_token", "_ms", func(r *Row) *float64 { return r.MeanTimePerOutput }},
	{"tpot", "_ms", func(r *Row) *float64 { return r.TPOT }},
	{"effective_prefill_tok_s", "", func(r *Row) *float64 { return r.EffectivePrefillTokS }},
	{"decode_tok_s", "", func(r *Row) *float64 { return r.DecodeTokS }},
	{"mean_inter_token_latency_ms", "", func(r *Row) *float64 { return r.MeanInterTokenLatency }},
	{"prompt_tokens", "", func(r *Row) *float64 { return asFloat(r.PromptTokens) }},
	{"completion_tokens", "", func(r *Row) *float64 { return asFloat(r.OutputTokens) }},
}

func asFloat(n *int64) *float64 {
	if n == nil {
		return nil
	}
	v := float64(*n)
	return &v
}

// statistics lists a distribution's statistics with the names they have in
// keys; samples is apart, it never takes the unit.
func statistics(d metrics.Distribution) []struct {
	name  string
	value *float64
} {
	return []struct {
		name  string
		value *float64
	}{
		{"mean", d.Mean}, {"stddev", d.Stddev}, {"mean_ci95_low", d.CI95Low}, {"mean_ci95_high", d.CI95High}, {"min", d.Min},
		{"p25", d.P25}, {"p50", d.P50}, {"p75", d.P75}, {"p90", d.P90}, {"p95", d.P95}, {"p99", d.P99}, {"max", d.Max},
	}
}

// distribution of a family over rows.
func (f family) distribution(rows []Row) metrics.Distribution {
	values := make([]float64, 0, len(rows))
	for i := range rows {
		if v := f.of(&rows[i]); v != nil {
			values = append(values, *v)
		}
	}
	return metrics.Describe(values)
}

// plainKeys are the metrics beside the families.
var plainKeys = []string{
	"prompt_tokens", "prompt_token_samples", "output_tokens", "content_chunks", "reasoning_chunks", "content_chunks_s",
	"output_token_sources", "throughput_tok_s", "throughput_performance_eligible", "prefix_cache_hit_avg",
	"request_canary_samples", "request_canary_passed", "controlled_output_samples", "controlled_output_exact_adherence",
	"controlled_output_unobservable", "controlled_output_exact_adherence_rate",
}

// MetricNames lists the keys of metrics that are numbers, sorted.
func MetricNames() []string {
	var names []string
	for _, f := range families {
		names = append(names, f.name+"_samples")
		for _, s := range statistics(metrics.Distribution{}) {
			names = append(names, f.name+"_"+s.name+f.unit)
		}
	}
	for _, key := range plainKeys {
		if key != "output_token_sources" && key != "throughput_performance_eligible" {
			names = append(names, key)
		}
	}
	slices.Sort(names)
	return names
}

// population is what metrics are computed from: successful rows, the pool's
// wall time, whether every request succeeded, and the cache hits that the
// server reported, as shares of the prompt.
type population struct {
	rows     []Row
	wallMS   float64
	eligible bool
	hits     []float64
}

// compute makes the metrics object. Formulas: the artifact contract, A5.
func (p population) compute() Metrics {
	m := Metrics{}
	for _, f := range families {
		d := f.distribution(p.rows)
		m[f.name+"_samples"] = int64(d.Samples)
		for _, s := range statistics(d) {
			m[f.name+"_"+s.name+f.unit] = orNull(s.value)
		}
	}
	p.tokens(m)
	p.checks(m)
	m["prefix_cache_hit_avg"] = nil
	if len(p.hits) > 0 {
		m["prefix_cache_hit_avg"] = metrics.Mean(p.hits)
	}
	return m
}

func (p population) tokens(m Metrics) {
	var prompt, output, samples, content, reasoning int64
	counted := true
	sources := map[string]int{}
	for i := range p.rows {
		r := &p.rows[i]
		if r.PromptTokens != nil {
			prompt += *r.PromptTokens
			samples++
		}
		if r.OutputTokens != nil {
			output += *r.OutputTokens
		}
		counted = counted && r.OutputTokenSource == SourceUsage
		sources[r.OutputTokenSource]++
		content += int64(r.ContentChunks)
		reasoning += int64(r.ReasoningChunks)
	}
	m["prompt_tokens"], m["output_tokens"] = nil, nil
	if samples > 0 {
		m["prompt_tokens"] = prompt
	}
	m["prompt_token_samples"] = samples
	m["content_chunks"], m["reasoning_chunks"] = content, reasoning
	m["content_chunks_s"] = nil
	if counted {
		m["output_tokens"] = output
	} else if p.wallMS > 0 {
		m["content_chunks_s"] = float64(content) / (p.wallMS / 1000)
	}
	m["output_token_sources"] = sources
	eligible := p.eligible && counted && p.wallMS > 0
	m["throughput_performance_eligible"] = eligible
	m["throughput_tok_s"] = nil
	if eligible {
		m["throughput_tok_s"] = float64(output) / (p.wallMS / 1000)
	}
}

// checks counts canaries and word counts over successful rows. A strict run
// that failed on them still shows a rate of 1 here; the rates over all
// requests are in sweep.
func (p population) checks(m Metrics) {
	var canaries, passed, words, exact, unobservable int64
	for i := range p.rows {
		if c := p.rows[i].Canary; c != nil {
			canaries++
			if c.Passed {
				passed++
			}
		}
		if w := p.rows[i].ControlledOutput; w != nil {
			words++
			switch {
			case w.ExactAdherence == nil:
				unobservable++
			case *w.ExactAdherence:
				exact++
			}
		}
	}
	m["request_canary_samples"], m["request_canary_passed"] = canaries, passed
	m["controlled_output_samples"], m["controlled_output_exact_adherence"] = words, exact
	m["controlled_output_unobservable"] = unobservable
	m["controlled_output_exact_adherence_rate"] = nil
	if seen := words - unobservable; seen > 0 {
		m["controlled_output_exact_adherence_rate"] = float64(exact) / float64(seen)
	}
}

func orNull(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}
