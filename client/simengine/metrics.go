package simengine

import (
	"fmt"

	"github.com/valyala/fasthttp"
)

// metrics is a page of Prometheus text under vLLM's names.
func (e *Engine) metrics(ctx *fasthttp.RequestCtx) {
	now, waiting := e.scheduler.now()
	use := 0.0
	if e.opts.Memory > 0 {
		use = float64(now.used) / float64(e.opts.Memory)
	}
	ctx.SetContentType("text/plain; version=0.0.4; charset=utf-8")
	for _, m := range []struct {
		name, kind, help string
		value            float64
	}{
		{"vllm:num_requests_running", "gauge", "Sequences that run.", float64(now.running)},
		{"vllm:num_requests_waiting", "gauge", "Sequences that wait.", float64(waiting)},
		{"vllm:kv_cache_usage_perc", "gauge", "Share of the KV cache in use; 0 without a limit.", use},
		{"vllm:prefix_cache_queries_total", "counter", "Prompt tokens looked up in the prefix cache.", float64(now.queries)},
		{"vllm:prefix_cache_hits_total", "counter", "Prompt tokens found in it.", float64(now.hits)},
		{"vllm:num_preemptions_total", "counter", "Sequences put back for want of memory.", float64(now.putBack)},
	} {
		fmt.Fprintf(ctx, "# HELP %s %s\n# TYPE %s %s\n%s{engine=\"0\"} %g\n", m.name, m.help, m.name, m.kind, m.name, m.value)
	}
}
