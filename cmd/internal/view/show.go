package view

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/metrics"
)

// Show prints one artifact for a person.
func Show(w io.Writer, d *artifact.Document) error {
	s := shown{w}
	s.pair("artifact", d.Path)
	s.pair("run", d.RunID)
	s.pair("format", d.Generation+" "+d.Protocol)
	s.pair("model", d.Model)
	s.pair("engine", d.Engine)
	s.pair("gpu", d.GPU)
	s.pair("tier", d.Tier)
	s.pair("endpoint", d.BaseURL)
	s.pair("recipe", d.SourceRecipe)
	s.pair("manifest", d.ManifestPath)
	s.pair("fingerprint", d.ConfigurationFingerprint)
	s.load(d)
	if d.Sweep != nil {
		s.sweep(d.Sweep)
	}
	fmt.Fprintln(w)
	if err := s.distributions(d); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, name := range []string{"throughput_tok_s", "output_tokens", "prompt_tokens", "content_chunks", "reasoning_chunks", "prefix_cache_hit_avg"} {
		v, note := d.Metric(name)
		if v == nil {
			s.pair(name, "— ("+note+")")
			continue
		}
		s.pair(name, metrics.Human(*v))
	}
	if err := s.failures(d); err != nil {
		return err
	}
	for _, l := range d.Limitations {
		s.pair("limitation", l)
	}
	return nil
}

type shown struct{ w io.Writer }

func (s shown) pair(name, value string) {
	if strings.TrimSpace(value) != "" {
		fmt.Fprintf(s.w, "%-22s %s\n", name, line(value))
	}
}

func (s shown) load(d *artifact.Document) {
	load := fmt.Sprintf("%d requests, %d in flight, context %s", d.Requests, d.Concurrency, contextText(d.ContextTokens))
	if d.ResponseWords != nil && *d.ResponseWords > 0 {
		load += fmt.Sprintf(", %d words %s", *d.ResponseWords, d.Policy)
	}
	if d.CacheMode != "" {
		load += ", " + d.CacheMode + " prompts"
	}
	s.pair("load", fmt.Sprintf("%s, max_tokens %d", load, d.MaxTokens))
	s.pair("result", fmt.Sprintf("%d completed, %d failed", d.Completed, d.Failed))
	if d.WallMS != nil {
		s.pair("wall_clock_ms", metrics.Human(*d.WallMS))
	}
}

func (s shown) sweep(a *artifact.Sweep) {
	s.pair("cell", a.CellID)
	s.pair("digest", a.CellDigest)
	s.pair("state", strings.TrimSpace(a.State+" "+a.StateReason))
	if a.Endpoint.Simulated {
		s.pair("simulated", "yes: the figures are a simulation's")
	}
	if a.Warmup.Requests > 0 {
		s.pair("warm-up", fmt.Sprintf("%d requests, %d failed, not in the figures", a.Warmup.Requests, a.Warmup.Failed))
	}
	for _, f := range []struct {
		name string
		v    *float64
		unit string
	}{
		{"requests_per_s", a.RequestsPerS, ""},
		{"prompt size error", a.PromptSize.ErrorPctMean, " % of the planned context, on average"},
		{"tokens per chunk", a.TokensPerChunkMean, ""},
		{"cache hit rate", a.CacheHitRate, ""},
		{"effective concurrency", a.Client.EffectiveConcurrencyMean, " in flight, time-weighted"},
	} {
		if f.v != nil {
			s.pair(f.name, metrics.Human(*f.v)+f.unit)
		}
	}
	for _, f := range a.Flags {
		s.pair(f.Name, f.Reason)
	}
	if g := a.InterChunk; g.Samples > 0 {
		s.pair("inter-chunk ms", fmt.Sprintf("p50 %s, p99 %s, max %s over %d gaps between chunks, which are not tokens", metrics.Human(*g.P50), metrics.Human(*g.P99), metrics.Human(*g.Max), g.Samples))
	}
	for _, l := range []struct {
		name, what string
		lag        *artifact.Lag
	}{
		{"read lag ms", "late our reads were; taken out of every time", a.Client.ReadLag},
		{"handling ms", "until a read's events were handled", a.Client.HandleLag},
		{"timer lag ms", "late a timer woke us", a.Client.TimerLag},
		{"turnaround ms", "from one request's end to the next one's start", a.Client.Turnaround},
	} {
		if l.lag != nil {
			s.pair(l.name, fmt.Sprintf("p50 %s, p99 %s, max %s: %s", metrics.Human(l.lag.P50), metrics.Human(l.lag.P99), metrics.Human(l.lag.Max), l.what))
		}
	}
	if share := a.Client.CPUShare; share != nil {
		s.pair("client CPU", fmt.Sprintf("%s %% of %d processors; %d GC pauses, %s ms in all, %s ms the longest", metrics.Human(100**share), a.Client.MaxProcs, a.Client.GCPauses, metrics.Human(a.Client.GCPauseMS), metrics.Human(a.Client.GCLongest)))
	}
	if a.Trace != nil {
		s.pair("raw trace", *a.Trace)
	}
	if c := a.Client.Connect; c != nil {
		s.pair("connect_ms", fmt.Sprintf("p50 %s, max %s over %d connections; %d requests reused one", metrics.Human(c.P50), metrics.Human(c.Max), c.Samples, a.Client.ConnectionsReused))
	}
}

// distributions prints the families without those that repeat another's
// numbers.
func (s shown) distributions(d *artifact.Document) error {
	g := Grid{Header: []string{"per request", "n", "mean", "stddev", "min", "p50", "p90", "p95", "p99", "max"}, Names: 1}
	marked := false
	for _, f := range artifact.Families() {
		if f[0] == "mean_time_per_output_token" || f[0] == "mean_inter_token_latency_ms" {
			continue
		}
		dist := d.Distribution(f[0])
		row := []string{f[0] + f[1], fmt.Sprint(dist.Samples)}
		for i, v := range []*float64{dist.Mean, dist.Stddev, dist.Min, dist.P50, dist.P90, dist.P95, dist.P99, dist.Max} {
			text := "—"
			if v != nil {
				text = metrics.Human(*v)
				if i == 6 && d.Descriptive(f[0]+"_p99"+f[1]) {
					text, marked = "~"+text, true
				}
			}
			row = append(row, text)
		}
		g.Rows = append(g.Rows, row)
	}
	if err := g.Write(s.w, false); err != nil {
		return err
	}
	if marked {
		fmt.Fprintln(s.w, "~ p99 of fewer than 100 samples, descriptive only")
	}
	return nil
}

func (s shown) failures(d *artifact.Document) error {
	failures := d.FailureList()
	if len(failures) == 0 {
		return nil
	}
	const most = 20
	fmt.Fprintf(s.w, "\n%s:\n", plural(len(failures), "failure"))
	g := Grid{Header: []string{"request", "class", "type", "message"}, Names: 4}
	for i, f := range failures {
		if i == most {
			break
		}
		row := make([]string, 4)
		for j, name := range []string{"request_index", "failure_class", "error_type", "error_message"} {
			if v, ok := f[name]; ok {
				row[j] = shorten(line(fmt.Sprint(v)), 90)
			}
		}
		g.Rows = append(g.Rows, row)
	}
	if err := g.Write(s.w, false); err != nil {
		return err
	}
	if len(failures) > most {
		fmt.Fprintf(s.w, "and %d more in the file\n", len(failures)-most)
	}
	if d.Sweep != nil {
		kinds := make([]string, 0, len(d.Sweep.FailureKinds))
		for kind, n := range d.Sweep.FailureKinds {
			kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
		}
		slices.Sort(kinds)
		s.pair("failure kinds", strings.Join(kinds, ", "))
	}
	return nil
}

func contextText(tokens *int) string {
	if tokens == nil {
		return "sampled"
	}
	return strconv.Itoa(*tokens)
}
