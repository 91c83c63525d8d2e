package artifact

import (
	"encoding/json"
	"slices"
	"strings"

	"anvilsweep/sweep/metrics"
)

// metric is a number of the metrics object.
func (d *Document) metric(name string) (float64, bool) {
	v, state := d.lookup(name)
	return v, state == present
}

func (d *Document) lookup(name string) (float64, figureState) {
	if d.figures != nil {
		return d.figures.lookup(name)
	}
	v, there := d.wire.Metrics[name]
	if !there {
		return 0, absent
	}
	if n, ok := v.(json.Number); ok {
		if f, err := n.Float64(); err == nil {
			return f, present
		}
	}
	if v == nil {
		return 0, null
	}
	return 0, absent
}

// older maps a metric of the newest generation to the name older ones give the
// same figure.
func older(name string) string {
	for _, family := range []string{"tpot", "mean_time_per_output_token"} {
		if rest, ok := strings.CutPrefix(name, family+"_"); ok {
			return "mean_inter_token_latency_ms_" + strings.TrimSuffix(rest, "_ms")
		}
	}
	return name
}

// sweepFigures are the figures that stand in our own part of an artifact.
var sweepFigures = map[string]func(*Sweep) *float64{
	"success_rate":               func(s *Sweep) *float64 { return s.SuccessRate },
	"canary_pass_rate":           func(s *Sweep) *float64 { return s.CanaryPassRate },
	"adherence_rate":             func(s *Sweep) *float64 { return s.AdherenceRate },
	"prompt_size_error_pct":      func(s *Sweep) *float64 { return s.PromptSize.ErrorPctMean },
	"inter_chunk_p50_ms":         func(s *Sweep) *float64 { return s.InterChunk.P50 },
	"inter_chunk_p99_ms":         func(s *Sweep) *float64 { return s.InterChunk.P99 },
	"tokens_per_chunk_mean":      func(s *Sweep) *float64 { return s.TokensPerChunkMean },
	"cache_hit_rate":             func(s *Sweep) *float64 { return s.CacheHitRate },
	"steady_throughput_tok_s":    func(s *Sweep) *float64 { return s.Steady.Throughput },
	"steady_ttft_p50_ms":         func(s *Sweep) *float64 { return s.Steady.TTFT.P50 },
	"steady_ttft_p95_ms":         func(s *Sweep) *float64 { return s.Steady.TTFT.P95 },
	"steady_tpot_p50_ms":         func(s *Sweep) *float64 { return s.Steady.TPOT.P50 },
	"steady_tpot_p95_ms":         func(s *Sweep) *float64 { return s.Steady.TPOT.P95 },
	"requested_rate_per_s":       arrival(func(a *Arrivals) *float64 { return a.Requested }),
	"achieved_rate_per_s":        arrival(func(a *Arrivals) *float64 { return a.Achieved }),
	"delay_p95_ms":               arrival(func(a *Arrivals) *float64 { return a.Delay.P95 }),
	"ttft_from_due_p50_ms":       arrival(func(a *Arrivals) *float64 { return a.TTFT.P50 }),
	"ttft_from_due_p95_ms":       arrival(func(a *Arrivals) *float64 { return a.TTFT.P95 }),
	"ttft_from_due_p99_ms":       arrival(func(a *Arrivals) *float64 { return a.TTFT.P99 }),
	"e2e_from_due_p50_ms":        arrival(func(a *Arrivals) *float64 { return a.E2E.P50 }),
	"e2e_from_due_p95_ms":        arrival(func(a *Arrivals) *float64 { return a.E2E.P95 }),
	"running_requests_mean":      server(func(s *Server) *float64 { return s.Running.mean() }),
	"waiting_requests_mean":      server(func(s *Server) *float64 { return s.Waiting.mean() }),
	"kv_cache_use_max":           server(func(s *Server) *float64 { return s.KVUse.max() }),
	"prefix_cache_hit_rate":      server(func(s *Server) *float64 { return s.HitRate }),
	"preemptions":                server(func(s *Server) *float64 { return s.Preempted }),
	"power_mean_w":               readings(func(g *GPU) *float64 { return g.PowerMean }),
	"energy_kwh_per_mtok_output": readings(func(g *GPU) *float64 { return g.PerMtok }),
}

func arrival(of func(*Arrivals) *float64) func(*Sweep) *float64 {
	return func(s *Sweep) *float64 {
		if s.Arrivals == nil {
			return nil
		}
		return of(s.Arrivals)
	}
}

func server(of func(*Server) *float64) func(*Sweep) *float64 {
	return func(s *Sweep) *float64 {
		if s.Server == nil {
			return nil
		}
		return of(s.Server)
	}
}

func readings(of func(*GPU) *float64) func(*Sweep) *float64 {
	return func(s *Sweep) *float64 {
		if s.GPU == nil {
			return nil
		}
		return of(s.GPU)
	}
}

func (g *Gauge) mean() *float64 {
	if g == nil {
		return nil
	}
	return &g.Mean
}

func (g *Gauge) max() *float64 {
	if g == nil {
		return nil
	}
	return &g.Max
}

// FigureNames lists every figure of an artifact, sorted: the numbers of metrics
// and those of our own part.
func FigureNames() []string {
	names := MetricNames()
	for name := range sweepFigures {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Figure is one figure of a fresh artifact; nil where there is none.
func (a *Artifact) Figure(name string) *float64 {
	if of, ours := sweepFigures[name]; ours {
		if a.Sweep == nil {
			return nil
		}
		return of(a.Sweep)
	}
	if v, ok := a.Metrics.Float(name); ok {
		return &v
	}
	return nil
}

// Metric is one figure by the name that the newest generation gives it. An
// older file's figure comes from the key it has, or from its rows where it has
// rows. Without a value the note says why; a throughput of a run with failures
// is withheld.
func (d *Document) Metric(name string) (value *float64, note string) {
	if of, ours := sweepFigures[name]; ours {
		if d.Sweep == nil {
			return nil, "not in the artifact"
		}
		if v := of(d.Sweep); v != nil {
			return v, ""
		}
		return nil, "not measured"
	}
	if name == "throughput_tok_s" && d.withholdsThroughput() {
		return nil, "throughput is withheld, requests failed"
	}
	for _, key := range []string{name, older(name)} {
		switch v, state := d.lookup(key); state {
		case present:
			return &v, ""
		case null:
			return nil, "no samples"
		}
	}
	if d.Rows == nil {
		return nil, "not in the file, and no rows to compute it from"
	}
	if d.computed == nil {
		d.computed = population{rows: d.Rows, wallMS: d.wall(), eligible: d.Failed == 0}.compute()
	}
	if v, ok := d.computed.Float(name); ok {
		return &v, ""
	}
	return nil, "no samples"
}

func (d *Document) wall() float64 {
	if d.WallMS == nil {
		return 0
	}
	return *d.WallMS
}

// Descriptive reports whether a percentile rests on fewer samples than the
// format recommends for a p99.
func (d *Document) Descriptive(name string) bool {
	return d.samples(name) < p99Minimum
}

// samples is how many values a family's figure rests on.
func (d *Document) samples(name string) int {
	for _, f := range families {
		if !strings.HasPrefix(name, f.name+"_") {
			continue
		}
		if n, ok := d.metric(f.name + "_samples"); ok {
			return int(n)
		}
		if d.Rows != nil {
			return f.distribution(d.Rows).Samples
		}
	}
	return d.Completed
}

// Distribution is a family's thirteen statistics, from the file where it has
// them and else from its rows.
func (d *Document) Distribution(family string) metrics.Distribution {
	var out metrics.Distribution
	for _, f := range families {
		if f.name != family {
			continue
		}
		if d.Rows != nil {
			return f.distribution(d.Rows)
		}
		out.Samples = d.samples(f.name + "_p50" + f.unit)
		for _, s := range []struct {
			name string
			to   **float64
		}{{"p50", &out.P50}, {"p95", &out.P95}} {
			if v, ok := d.metric(f.name + "_" + s.name + f.unit); ok {
				*s.to = &v
			}
		}
	}
	return out
}

// Values are a family's values, one a successful request that has one; nil
// where the file has no rows.
func (d *Document) Values(family string) []float64 {
	var out []float64
	for _, f := range families {
		if f.name != family {
			continue
		}
		for i := range d.Rows {
			if v := f.of(&d.Rows[i]); v != nil {
				out = append(out, *v)
			}
		}
	}
	return out
}

// Families lists the families of per-request figures with the suffix that
// their keys take.
func Families() [][2]string {
	out := make([][2]string, len(families))
	for i, f := range families {
		out[i] = [2]string{f.name, f.unit}
	}
	return out
}

// FailureList is the file's failures as they stand.
func (d *Document) FailureList() []map[string]any { return d.wire.Failures }
