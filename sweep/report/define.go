package report

import (
	"strings"

	"anvilsweep/sweep/summary"
)

// definitions say how a figure comes about, by the beginning of its name; the
// first that fits counts. The formulas are the artifact format's.
var definitions = []struct{ prefix, text string }{
	{summary.TotalCostMetric, "price of the tier per hour / 3600 / (prompt and output tokens per second of wall time) × 10⁶, in the tier's currency"},
	{summary.CostMetric, "price of the tier per hour / 3600 / throughput_tok_s × 10⁶, in the tier's currency per million output tokens"},
	{summary.PerGPUMetric, "throughput_tok_s divided by the GPUs of the tier"},
	{summary.RequestRateMetric, "completed requests divided by the pool's wall time"},
	{summary.GoodputMetric, "requests that met the SLO divided by the pool's wall time; a failed request met nothing"},
	{summary.AttainedMetric, "requests that met the SLO divided by all that were attempted"},
	{"ttft_from_due", "TTFT counted from the moment the request was due, waiting for a free slot included; ms"},
	{"e2e_from_due", "E2E counted from the moment the request was due; ms"},
	{"ttft_", "TTFT: from the request's start to the first non-empty visible content, a statistic over successful requests; ms"},
	{"time_to_first_output_", "TTFO: from the request's start to the first content or reasoning; ms"},
	{"tpot_", "TPOT: generation time / (output tokens − 1) of each successful request with two tokens or more; a mean per request, not a gap between tokens; ms"},
	{"e2e_", "E2E: from the request's start to the end of the response; ms"},
	{"generation_", "E2E − TTFO; ms"},
	{"decode_tok_s", "(output tokens − 1) / generation time of each request: the speed one user sees; tokens per second"},
	{"effective_prefill_tok_s", "prompt tokens / TTFO, queueing included; tokens per second"},
	{"throughput_tok_s", "output tokens of all requests / the pool's wall time; withheld unless every request succeeded; tokens per second"},
	{"success_rate", "completed requests / attempted ones"},
	{"energy_kwh_per_mtok_output", "energy that the GPUs' readings sum to, per million output tokens; kWh"},
	{"power_mean_w", "mean of the GPUs' power readings, summed over GPUs; W"},
	{"cache_hit_rate", "prompt tokens that the server answered from its cache / prompt tokens"},
	{"prompt_size_error_pct", "real prompt tokens against planned ones, mean over requests; percent"},
}

func define(metric string) string {
	for _, d := range definitions {
		if strings.HasPrefix(metric, d.prefix) {
			return d.text
		}
	}
	return ""
}
