package artifact

// The format's fixed sentences, word for word.
const (
	timestampPrecision = "nanosecond-unix-fields; ISO labels are second precision"
	failurePolicy      = "failed or contract-invalid responses retain sanitized timing and metadata but are excluded from performance distributions"

	p99Minimum     = 100
	p99Estimate    = "tail-estimate"
	p99Descriptive = "descriptive-nearest-rank-only"
)

// timingMethodology says in every artifact how its figures are meant.
func timingMethodology() map[string]string {
	return map[string]string{
		"artifact_timestamps":      "time.time_ns Unix timestamps; independent artifacts may align them only when the operator supplied the same explicit clock_domain_id",
		"clock":                    "client time.perf_counter",
		"controlled_output":        "--response-words adherence is recorded; observe preserves historical behavior while strict rejects non-exact or truncated completions; visible response capture is capped at 8192 characters",
		"decode":                   "usage completion tokens after the first token divided by client-observed generation time; completion tokens may include reasoning tokens",
		"distributions":            "request-level mean, sample standard deviation, normal-approximation 95% confidence interval for the mean, min, p25, p50, p75, p90, p95, p99, and max using the nearest-rank percentile method",
		"effective_prefill":        "usage.prompt_tokens divided by client-observed time to first output; includes queueing, scheduling, prefill, and first-token work",
		"generation":               "client-observed E2E minus time to first output",
		"mean_inter_token_latency": "legacy key for a TPOT proxy: client-observed generation time divided by completion tokens after the first token; not raw per-token ITL",
		"p99":                      "numeric nearest-rank p99 is always retained for compatibility; it is descriptive only below 100 eligible samples",
		"request_canaries":         "when enabled, each response must begin with its own synthetic marker and contain no other ANVIL_REQ marker; bounded/truncated captures fail closed and are excluded from performance metrics",
		"time_to_first_output":     "request start through the first non-empty streamed reasoning or content delta",
		"tpot":                     "client-observed mean time per output token after the first output; identical to the legacy mean_inter_token_latency key",
		"ttft":                     "request start through the first non-empty streamed content delta",
	}
}
