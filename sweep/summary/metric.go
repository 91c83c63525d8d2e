package summary

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"anvilsweep/sweep/artifact"
)

// Metric is one figure a table can show.
type Metric struct {
	Name   string `json:"name"`
	Better string `json:"better"` // "higher", "lower" or "" where neither is
}

// Metrics that come from the document around an artifact's metrics.
const (
	// CostMetric is the tier's price per hour divided by the output tokens an
	// hour of the cell's throughput makes: price / 3600 / throughput_tok_s × 1e6.
	CostMetric = "cost_per_mtok_output"
	// TotalCostMetric is the same over prompt and output tokens together.
	TotalCostMetric = "cost_per_mtok_total"
	// PerGPUMetric is throughput_tok_s divided by the GPUs of the tier.
	PerGPUMetric = "throughput_tok_s_per_gpu"
	// RequestRateMetric is completed requests divided by the pool's wall time.
	RequestRateMetric = "requests_per_s"
	// GoodputMetric is the requests that met the SLO divided by the pool's wall
	// time, AttainedMetric their share of all that were attempted.
	GoodputMetric  = "goodput_per_s"
	AttainedMetric = "slo_met_share"
)

// DefaultMetrics are shown when none is named; cost joins them where a tier
// has a price, and goodput where an SLO was given.
var DefaultMetrics = []string{"ttft_p50_ms", "ttft_p95_ms", "tpot_p50_ms", "throughput_tok_s"}

// Sets are metrics that people ask for together, by the set's name.
var Sets = map[string][]string{
	"latency":     {"ttft_p50_ms", "ttft_p95_ms", "ttft_p99_ms", "time_to_first_output_p50_ms", "tpot_p50_ms", "tpot_p95_ms", "e2e_p50_ms", "e2e_p95_ms"},
	"throughput":  {"throughput_tok_s", PerGPUMetric, "decode_tok_s_p50", "effective_prefill_tok_s_p50", RequestRateMetric},
	"cost":        {CostMetric, TotalCostMetric, "energy_kwh_per_mtok_output"},
	"reliability": {"success_rate", "canary_pass_rate", "adherence_rate", "ttft_p99_ms", "e2e_max_ms"},
	"cache":       {"cache_hit_rate", "prefix_cache_hit_avg", "prefix_cache_hit_rate", "effective_prefill_tok_s_p50"},
}

// Names lists every metric a table can show, sorted.
func Names() []string {
	names := append(artifact.FigureNames(), CostMetric, TotalCostMetric, PerGPUMetric, RequestRateMetric, GoodputMetric, AttainedMetric)
	slices.Sort(names)
	return names
}

// LookUpAll finds metrics by their names and those of sets, each once.
func LookUpAll(names []string) ([]Metric, error) {
	var out []Metric
	for _, name := range names {
		members, set := Sets[name]
		if !set {
			members = []string{name}
		}
		for _, member := range members {
			m, err := LookUp(member)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out, nil
}

// LookUp finds a metric by name; the error suggests near ones.
func LookUp(name string) (Metric, error) {
	names := Names()
	if !slices.Contains(names, name) {
		return Metric{}, fmt.Errorf("no metric %q%s", name, suggest(name, names))
	}
	return Metric{Name: name, Better: better(name)}, nil
}

func better(name string) string {
	for _, spread := range []string{"_samples", "_stddev", "_ci95_"} {
		if strings.Contains(name, spread) {
			return ""
		}
	}
	for _, prefix := range []string{"throughput_tok_s", "decode_tok_s", "effective_prefill_tok_s", RequestRateMetric, GoodputMetric, AttainedMetric, "steady_throughput_tok_s", "success_rate", "canary_pass_rate", "adherence_rate", "controlled_output_exact_adherence_rate", "achieved_rate_per_s"} {
		if strings.HasPrefix(name, prefix) {
			return "higher"
		}
	}
	for _, prefix := range []string{"ttft_", "time_to_first_output_", "tpot_", "mean_time_per_output_token_", "mean_inter_token_latency_ms_", "e2e_", "generation_", "inter_chunk_", "steady_t", "delay_", "energy_", "cost_per_mtok_"} {
		if strings.HasPrefix(name, prefix) {
			return "lower"
		}
	}
	return ""
}

// suggest names the nearest metrics.
func suggest(name string, names []string) string {
	const shown = 3
	near := slices.Clone(names)
	distance := func(s string) int { return levenshtein.Distance(name, s, nil) }
	slices.SortStableFunc(near, func(a, b string) int { return distance(a) - distance(b) })
	if distance(near[0]) > len(name)/2 {
		return "; examples: " + strings.Join(DefaultMetrics, ", ")
	}
	return "; did you mean " + strings.Join(near[:shown], ", ") + "?"
}
