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

// Names lists every metric a table can show, sorted.
func Names() []string {
	names := append(artifact.FigureNames(), CostMetric, RequestRateMetric, GoodputMetric, AttainedMetric)
	slices.Sort(names)
	return names
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
	for _, prefix := range []string{"throughput_tok_s", "decode_tok_s", "effective_prefill_tok_s", RequestRateMetric, GoodputMetric, AttainedMetric, "steady_throughput_tok_s", "success_rate", "achieved_rate_per_s"} {
		if strings.HasPrefix(name, prefix) {
			return "higher"
		}
	}
	for _, prefix := range []string{"ttft_", "time_to_first_output_", "tpot_", "mean_time_per_output_token_", "mean_inter_token_latency_ms_", "e2e_", "generation_", "inter_chunk_", "steady_t", "delay_", "energy_", CostMetric} {
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
