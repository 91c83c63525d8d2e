package sweep

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"anvilsweep/client"
	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// Figures of a metrics page, by the names that a recipe gives them.
const (
	figureRunning = "running"
	figureWaiting = "waiting"
	figureKVUse   = "kv_cache_use"
	figureQueries = "prefix_cache_queries"
	figureHits    = "prefix_cache_hits"
	figurePreempt = "preemptions"
)

// pageNames are the metrics that engines give their figures, newest first. The
// parser keeps a counter's _total.
var pageNames = map[string][]string{
	figureRunning: {"vllm:num_requests_running", "sglang:num_running_reqs", "llamacpp:requests_processing"},
	figureWaiting: {"vllm:num_requests_waiting", "sglang:num_queue_reqs", "llamacpp:requests_deferred"},
	figureKVUse:   {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage", "llamacpp:kv_cache_usage_ratio"},
	figureQueries: {"vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total", "sglang:prompt_tokens_total"},
	figureHits:    {"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total", "sglang:cached_tokens_total"},
	figurePreempt: {"vllm:num_preemptions_total", "sglang:num_retracted_requests_total"},
}

// page is one reading of a metrics page, by metric.
type page map[string]pageValue

// pageValue is a metric over its labels: a count adds up over an engine's
// workers, a share is that of the fullest.
type pageValue struct{ sum, top float64 }

// parsePage reads Prometheus text.
func parsePage(text []byte) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewReader(text))
}

// rankLabels number the parts of one worker, which all tell the same.
var rankLabels = []string{"tp_rank", "pp_rank", "moe_ep_rank"}

// readPage takes gauges, counters and untyped metrics.
func readPage(text []byte) (page, error) {
	families, err := parsePage(text)
	if err != nil {
		return nil, err
	}
	out := page{}
	for name, family := range families {
		workers := map[string]float64{}
		for _, m := range family.Metric {
			v, ok := number(m)
			if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			worker := ""
			for _, label := range m.Label {
				if !slices.Contains(rankLabels, label.GetName()) {
					worker += label.GetName() + "=" + label.GetValue() + "\x00"
				}
			}
			if seen, ok := workers[worker]; !ok || v > seen {
				workers[worker] = v
			}
		}
		if len(workers) == 0 {
			continue
		}
		value := pageValue{top: math.Inf(-1)}
		for _, worker := range slices.Sorted(maps.Keys(workers)) {
			value.sum += workers[worker]
			value.top = max(value.top, workers[worker])
		}
		out[name] = value
	}
	return out, nil
}

func number(m *dto.Metric) (float64, bool) {
	switch {
	case m.Gauge != nil:
		return m.Gauge.GetValue(), true
	case m.Counter != nil:
		return m.Counter.GetValue(), true
	case m.Untyped != nil:
		return m.Untyped.GetValue(), true
	}
	return 0, false
}

// pageWatch samples an engine's metrics page while a cell is measured.
type pageWatch struct {
	client   *client.Client
	metrics  recipe.Metrics
	pages    []page
	out      artifact.Server
	stop     context.CancelFunc
	finished chan struct{}
}

// watchPage takes the first sample before it returns, so that counters are
// known from before the cell; nil where the engine has no metrics page.
func watchPage(ctx context.Context, cl *client.Client, m *recipe.Metrics) *pageWatch {
	if m == nil {
		return nil
	}
	w := &pageWatch{client: cl, metrics: *m, finished: make(chan struct{})}
	w.out = artifact.Server{Path: m.Path, IntervalMS: float64(m.Interval.Milliseconds()), Others: map[string]artifact.Counter{}, Names: map[string]string{}}
	w.sample(ctx)
	ctx, w.stop = context.WithCancel(ctx)
	go func() {
		defer close(w.finished)
		every(ctx, m.Interval, func() { w.sample(ctx) })
	}()
	return w
}

// every calls at each interval until the context ends.
func every(ctx context.Context, interval time.Duration, call func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			call()
		}
	}
}

func (w *pageWatch) sample(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	// A page that does not come is a sample lost, not a cell held up.
	ctx, cancel := context.WithTimeoutCause(ctx, max(w.metrics.Interval, time.Second), fmt.Errorf("no metrics page within %s", max(w.metrics.Interval, time.Second)))
	defer cancel()
	failed := func(why string) {
		w.out.Failed++
		w.out.Reason = &why
	}
	text, failure := w.client.Get(ctx, w.metrics.Path, "asking for the metrics page")
	if failure != nil {
		if w.stop == nil || ctx.Err() == nil || context.Cause(ctx) != context.Canceled {
			failed(failure.Error())
		}
		return
	}
	p, err := readPage(text)
	if err != nil {
		failed(w.metrics.Path + " is no Prometheus text: " + err.Error())
		return
	}
	w.pages = append(w.pages, p)
	w.out.Samples++
}

// end takes the last sample and sums up.
func (w *pageWatch) end(ctx context.Context) *artifact.Server {
	if w == nil {
		return nil
	}
	w.stop()
	<-w.finished
	w.sample(ctx)
	out := &w.out
	out.Running, out.Waiting, out.KVUse = w.gauge(figureRunning), w.gauge(figureWaiting), w.gauge(figureKVUse)
	out.Queries, out.Hits, out.Preempted = w.grown(figureQueries), w.grown(figureHits), w.grown(figurePreempt)
	for _, name := range w.metrics.Also {
		if values := w.values(name); len(values) > 0 {
			mean, most := meanMax(values)
			out.Others[name] = artifact.Counter{First: values[0], Last: values[len(values)-1], Mean: mean, Max: most}
		}
	}
	return out
}

// name is the metric of the page that has a figure.
func (w *pageWatch) name(figure string) string {
	names := pageNames[figure]
	if own := w.metrics.Names[figure]; own != "" {
		names = []string{own}
	}
	for _, name := range names {
		if slices.ContainsFunc(w.pages, func(p page) bool { _, ok := p[name]; return ok }) {
			w.out.Names[figure] = name
			return name
		}
	}
	return ""
}

func (w *pageWatch) pagesWith(name string) (out []pageValue) {
	for _, p := range w.pages {
		if v, ok := p[name]; ok {
			out = append(out, v)
		}
	}
	return out
}

func (w *pageWatch) values(name string) (out []float64) {
	for _, v := range w.pagesWith(name) {
		out = append(out, v.sum)
	}
	return out
}

// gauge sums a reading up over the samples inside the cell: the first is from
// before it and the last from after it.
func (w *pageWatch) gauge(figure string) *artifact.Gauge {
	name := w.name(figure)
	values := w.values(name)
	if figure == figureKVUse {
		for i := range values {
			values[i] = w.pagesWith(name)[i].top
		}
	}
	if len(values) > 2 {
		values = values[1 : len(values)-1]
	}
	if len(values) == 0 {
		return nil
	}
	mean, most := meanMax(values)
	return &artifact.Gauge{Mean: mean, Max: most}
}

// grown is by how much a counter grew; nil where it is not there, or went back
// because the engine was started anew.
func (w *pageWatch) grown(figure string) *float64 {
	values := w.values(w.name(figure))
	if len(values) < 2 || values[len(values)-1] < values[0] {
		return nil
	}
	d := values[len(values)-1] - values[0]
	return &d
}

func meanMax(values []float64) (mean, most float64) {
	most = values[0]
	for _, v := range values {
		mean += v / float64(len(values))
		most = max(most, v)
	}
	return mean, most
}
