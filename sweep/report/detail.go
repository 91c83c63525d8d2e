package report

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"

	"anvilsweep/sweep/artifact"
)

// detail is all that the page tells of one run.
type detail struct {
	ID, Name, Brief string
	Bad             bool
	Facts           []fact
	Stats           [][]string // a family a line, after the headings
}

// families are those of a run's details.
var families = []struct{ name, title, unit string }{
	{"ttft", "TTFT", "_ms"}, {"time_to_first_output", "TTFO", "_ms"}, {"tpot", "TPOT", "_ms"}, {"e2e", "E2E", "_ms"},
	{"decode_tok_s", "decode tok/s", ""}, {"effective_prefill_tok_s", "prefill tok/s", ""}, {"prompt_tokens", "prompt tokens", ""}, {"completion_tokens", "output tokens", ""},
}

var statistics = []string{"mean", "min", "p50", "p90", "p95", "p99", "max"}

func (b *builder) detail(d *artifact.Document) detail {
	out := detail{ID: b.ids[d.Path], Name: nameOf(d), Bad: d.Failed > 0}
	context := "sampled contexts"
	if d.ContextTokens != nil {
		context = fmt.Sprintf("context %d", *d.ContextTokens)
	}
	out.Brief = fmt.Sprintf("%s on %s, %s, %d in flight: %d of %d requests", d.Model, laneOf(d), context, d.Concurrency, d.Completed, d.Requests)
	add := func(term, format string, args ...any) {
		if s := fmt.Sprintf(format, args...); s != "" {
			out.Facts = append(out.Facts, fact{term, s})
		}
	}
	if d.Failed > 0 {
		add("failed", "%d requests", d.Failed)
	}
	if !d.Started.IsZero() {
		add("started", "%s", d.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if d.WallMS != nil {
		add("wall time", "%s ms", human(d.WallMS))
	}
	for _, name := range []string{"throughput_tok_s", "success_rate", "canary_pass_rate", "adherence_rate", "cache_hit_rate", "prompt_size_error_pct"} {
		v, note := d.Metric(name)
		switch {
		case v != nil:
			add(name, "%s", human(v))
		case name == "throughput_tok_s":
			add(name, "— %s", note)
		}
	}
	if s := d.Sweep; s != nil {
		out.Bad = out.Bad || len(s.Flags) > 0
		b.ours(s, add)
	}
	for _, l := range d.Limitations {
		add("limitation", "%s", l)
	}
	add("generation", "%s", d.Generation)
	add("fingerprint", "%s", d.ConfigurationFingerprint)
	add("source recipe", "%s", d.SourceRecipe)
	add("file", "%s, SHA-256 %s", path.Base(d.Path), d.SHA256)
	out.Stats = stats(d)
	return out
}

// ours is what only artifacts of this program tell.
func (b *builder) ours(s *artifact.Sweep, add func(term, format string, args ...any)) {
	for _, f := range s.Flags {
		add("flag", "%s: %s", f.Name, f.Reason)
	}
	if s.State != "complete" {
		add("state", "%s", strings.TrimSpace(s.State+" "+s.StateReason))
	}
	add("load", "%s loop, %s connections", s.Loop, s.Connection)
	if s.Warmup.Requests > 0 {
		add("warm-up", "%d requests, %d failed, not in the figures", s.Warmup.Requests, s.Warmup.Failed)
	}
	if lag := s.Client.ReadLag; lag != nil {
		add("client's read lag", "p50 %s, p99 %s ms; arrivals timed by the %s", human(&lag.P50), human(&lag.P99), clock(s.Client.Arrivals))
	}
	if share := s.Client.CPUShare; share != nil {
		add("client's CPU", "%.0f %% of %d processors", 100**share, s.Client.MaxProcs)
	}
	if flags, err := json.Marshal(s.Engine.Flags); err == nil && len(s.Engine.Flags) > 0 {
		add("engine flags", "%s", flags)
	}
	add("engine", "%s", strings.Join(strings.Fields(s.Engine.Name+" "+s.Engine.Kind+" "+s.Engine.Version+" "+s.Engine.Image), " "))
	add("model", "%s", strings.Join(strings.Fields(s.Model.Name+" "+s.Model.ID+" "+s.Model.Revision+" "+s.Model.Quantization), " "))
	add("cell digest", "%s", s.CellDigest)
}

// clock is what timed the arrivals.
func clock(arrivals string) string {
	if arrivals == "kernel" {
		return "kernel"
	}
	return "client's reads"
}

// stats are a run's distributions.
func stats(d *artifact.Document) [][]string {
	out := [][]string{append([]string{"", "n"}, statistics...)}
	for _, f := range families {
		line := []string{f.title, "—"}
		if n, _ := d.Metric(f.name + "_samples"); n != nil {
			line[1] = strconv.Itoa(int(*n))
		}
		some := false
		for _, s := range statistics {
			v, _ := d.Metric(f.name + "_" + s + f.unit)
			some = some || v != nil
			line = append(line, human(v))
		}
		if some {
			out = append(out, line)
		}
	}
	if len(out) == 1 {
		return nil
	}
	return out
}

// provenance says where figures come from: the recipes and the configurations.
func (b *builder) provenance(docs []*artifact.Document) []*table {
	var out []*table
	recipes := &table{ID: "recipes", Caption: "Recipes", Head: []heading{{Text: "sweep"}, {Text: "recipe"}, {Text: "SHA-256"}, {Text: "variables"}, {Text: "run by"}}}
	for _, d := range docs {
		if d.Kind != artifact.KindManifest {
			continue
		}
		var sweeps, variables names
		for _, s := range d.Manifest.Sweeps {
			sweeps.add(s.Name)
		}
		for _, v := range d.Manifest.Recipe.Variables {
			variables.add(fmt.Sprintf("%s = %s (%s)", v.Name, v.Value, v.Origin))
		}
		for _, s := range d.Manifest.Recipe.Sources {
			recipes.Rows = append(recipes.Rows, []cell{{Text: sweeps.list(), Head: true}, text(s.Path), {Text: s.SHA256, Class: "hash"}, {Text: variables.list(), Class: "long"}, text(d.Manifest.Program)})
		}
	}
	if len(recipes.Rows) > 0 {
		out = append(out, recipes)
	}
	configurations := &table{ID: "configurations", Caption: "Configurations measured", Head: []heading{{Text: "fingerprint"}, {Text: "model"}, {Text: "engine"}, {Text: "tier"}, {Text: "gpu"}, {Text: "runs"}}}
	type key struct{ fingerprint, model, engine, tier, gpu string }
	counts := map[key]int{}
	var order []key
	for _, d := range b.runs {
		k := key{d.ConfigurationFingerprint, d.Model, d.Engine, d.Tier, d.GPU}
		if d.Sweep != nil {
			k.engine = strings.Join(strings.Fields(k.engine+" "+d.Sweep.Engine.Version), " ")
		}
		if counts[k] == 0 {
			order = append(order, k)
		}
		counts[k]++
	}
	for _, k := range order {
		configurations.Rows = append(configurations.Rows, []cell{{Text: k.fingerprint, Class: "hash"}, {Text: k.model, Head: true}, text(k.engine), text(k.tier), text(k.gpu), number(strconv.Itoa(counts[k]))})
	}
	configurations.Filter = len(order) > 8
	if len(order) > 0 {
		out = append(out, configurations)
	}
	return out
}
