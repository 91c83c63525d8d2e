package artifact

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The checkers below are what programs that read the format demand, each
// written from its acceptance list and from nothing of ours. A checker returns
// what it refuses.

type object = map[string]any

func numberOf(o object, name string) (float64, bool) {
	n, ok := o[name].(json.Number)
	if !ok {
		return 0, false
	}
	v, err := n.Float64()
	return v, err == nil && !math.IsInf(v, 0)
}

func integer(o object, name string) (int, bool) {
	n, ok := o[name].(json.Number)
	if !ok {
		return 0, false
	}
	v, err := strconv.Atoi(string(n))
	return v, err == nil
}

func nullable(o object, name string) bool { v, there := o[name]; return there && v == nil }

// refusals collects points that do not hold.
type refusals []string

func (r *refusals) hold(ok bool, point string) {
	if !ok {
		*r = append(*r, point)
	}
}

// combiner is what the tool that adds replicas up accepts.
func combiner(a object) refusals {
	var r refusals
	r.hold(a["schema"] == "anvil-serving.benchmark/v1", "schema")
	n, ok := integer(a, "requests")
	r.hold(ok && n >= 1, "requests")
	c, ok := integer(a, "concurrency")
	r.hold(ok && c >= 1, "concurrency")
	failed, ok := integer(a, "failed")
	completed, ok2 := integer(a, "completed")
	r.hold(ok && failed == 0 && ok2 && completed == n, "failed and completed")
	r.hold(a["performance_eligible"] == true || nullable(a, "performance_eligible"), "performance_eligible")
	wall, ok := numberOf(a, "wall_clock_ms")
	r.hold(ok && wall > 0, "wall_clock_ms")
	for _, name := range []string{"context_tokens", "max_context_tokens", "max_tokens", "response_words"} {
		v, ok := integer(a, name)
		r.hold(nullable(a, name) || ok && v >= 0, name)
	}
	_, ok = integer(a, "context_seed")
	r.hold(ok || nullable(a, "context_seed"), "context_seed")
	r.hold(a["prompt_cache_mode"] == "shared" || a["prompt_cache_mode"] == "unique", "prompt_cache_mode")
	canaries, ok := a["request_canaries"].(bool)
	r.hold(ok, "request_canaries")
	policy, _ := a["controlled_output_policy"].(string)
	r.hold(nullable(a, "controlled_output_policy") || policy == "observe" || policy == "strict", "controlled_output_policy")
	for _, name := range []string{"engine", "model"} {
		s, ok := a[name].(string)
		r.hold(ok && s != "", name)
	}
	_, isText := a["source_recipe"].(string)
	r.hold(isText || nullable(a, "source_recipe"), "source_recipe")
	_, ok = a["serve_flags"].(object)
	r.hold(ok, "serve_flags")
	rows, _ := a["request_timings"].([]any)
	r.hold(len(rows) == completed, "one row a completed request")
	words, _ := integer(a, "response_words")
	sum := 0
	for i, v := range rows {
		row := v.(object)
		index, ok := integer(row, "request_index")
		r.hold(ok && index == i, "request_index 0 to n-1")
		prompt, ok := integer(row, "prompt_tokens")
		r.hold(ok && prompt >= 0, "prompt_tokens")
		out, ok := integer(row, "output_tokens")
		r.hold(ok && out >= 1, "output_tokens")
		sum += out
		r.hold(row["output_token_source"] == "usage" || nullable(row, "output_token_source"), "output_token_source")
		first, ok1 := numberOf(row, "time_to_first_output_ms")
		ttft, ok2 := numberOf(row, "ttft_ms")
		e2e, ok3 := numberOf(row, "e2e_ms")
		r.hold(ok1 && ok2 && ok3 && first <= ttft && ttft <= e2e, "TTFO, TTFT, E2E in order")
		for _, name := range []string{"generation_ms", "visible_generation_ms", "effective_prefill_tok_s", "decode_tok_s", "tpot_ms", "mean_time_per_output_token_ms", "mean_inter_token_latency_ms"} {
			v, ok := numberOf(row, name)
			r.hold(row[name] == nil || ok && v >= 0, name)
		}
		canary, has := row["request_canary"].(object)
		r.hold(has == canaries, "a canary where canaries are on")
		if has {
			foreign, _ := integer(canary, "foreign_marker_count")
			r.hold(canary["passed"] == true && canary["marker_at_start"] == true && foreign == 0 && canary["capture_complete"] == true, "canary passed")
		}
		control, has := row["controlled_output"].(object)
		r.hold(has == (words > 0 && policy != ""), "controlled output where words and policy are")
		if has {
			code, _ := integer(control, "observed_code_words")
			extra, _ := integer(control, "observed_extra_words")
			exact := code == words && extra == 0
			r.hold(control["exact_adherence"] == exact, "adherence from the counts")
			r.hold(control["passed"] == (policy == "observe" || exact), "passed from the policy")
		}
	}
	m, ok := a["metrics"].(object)
	r.hold(ok, "metrics")
	total, ok := integer(m, "output_tokens")
	r.hold(ok && total == sum, "metrics.output_tokens is the rows' sum")
	if m["throughput_tok_s"] != nil {
		_, ok := numberOf(m, "throughput_tok_s")
		r.hold(ok, "throughput_tok_s")
	}
	return r
}

// pair is what the combiner demands of two replicas together.
func pair(a, b object) refusals {
	var r refusals
	for _, name := range []string{"measurement_protocol", "engine", "context_tokens", "max_context_tokens", "max_tokens", "response_words", "prompt_cache_mode",
		"request_canaries", "controlled_output_policy", "context_seed", "shared_prefix_tokens", "configuration_fingerprint", "model", "source_recipe"} {
		r.hold(fmt.Sprint(a[name]) == fmt.Sprint(b[name]), name+" equal")
	}
	r.hold(fmt.Sprint(a["serve_flags"]) == fmt.Sprint(b["serve_flags"]), "serve_flags equal")
	id := func(o object) string { return fmt.Sprint(o["run_id"], o["model"], o["base_url"], o["gpu"]) }
	r.hold(id(a) != id(b), "distinct replicas")
	return r
}

// exactTimeline is when two replicas' clocks may be laid over each other.
func exactTimeline(a, b object) bool {
	ns := func(o object, name string) int64 {
		n, _ := o[name].(json.Number)
		v, err := strconv.ParseInt(string(n), 10, 64)
		if err != nil {
			return -1
		}
		return v
	}
	for _, o := range []object{a, b} {
		wall, _ := numberOf(o, "wall_clock_ms")
		start, finish := ns(o, "started_at_unix_ns"), ns(o, "finished_at_unix_ns")
		label := func(v int64) string { return time.Unix(v/1e9, 0).UTC().Format("2006-01-02T15:04:05Z") }
		if start < 0 || finish < 0 || o["started_at"] != label(start) || o["finished_at"] != label(finish) ||
			math.Abs(float64(finish-start)/1e6-wall) > math.Max(5, 1e-4*wall) {
			return false
		}
	}
	domain, _ := a["clock_domain_id"].(string)
	return domain != "" && a["clock_domain_id"] == b["clock_domain_id"] &&
		ns(a, "started_at_unix_ns") < ns(b, "finished_at_unix_ns") && ns(b, "started_at_unix_ns") < ns(a, "finished_at_unix_ns")
}

// catalog is what the report's catalog accepts.
func catalog(data []byte, a object) refusals {
	var r refusals
	r.hold(len(data) <= 8<<20, "at most 8 MiB")
	for _, name := range []string{"model", "gpu", "engine", "measurement_protocol"} {
		s, ok := a[name].(string)
		r.hold(ok && s != "" && len([]rune(s)) <= 2000, name)
	}
	r.hold(regexp.MustCompile(`^vllm(-\d+\.\d+\.\d+.*)?$`).MatchString(fmt.Sprint(a["engine"])), "the recipe's engine, with its version")
	for _, name := range []string{"concurrency", "max_tokens", "response_words", "shared_prefix_tokens"} {
		_, ok := integer(a, name)
		r.hold(ok, name)
	}
	for _, name := range []string{"request_canaries"} {
		_, ok := a[name].(bool)
		r.hold(ok, name)
	}
	context, ok := integer(a, "context_tokens")
	most, ok2 := integer(a, "max_context_tokens")
	r.hold(nullable(a, "max_context_tokens") || ok && ok2 && context <= most, "context within the window")
	done, ok1 := integer(a, "completed")
	failed, ok2 := integer(a, "failed")
	n, ok3 := integer(a, "requests")
	r.hold(ok1 && ok2 && ok3 && done+failed == n, "completed and failed make requests")
	flags, ok := a["serve_flags"].(object)
	r.hold(ok, "serve_flags")
	for name, v := range flags {
		_, nested := v.(object)
		r.hold(!nested && len(fmt.Sprint(v)) <= 100, "serve_flags."+name+" is a short scalar")
	}
	m := a["metrics"].(object)
	for _, f := range []struct{ name, unit string }{{"ttft", "_ms"}, {"e2e", "_ms"}, {"tpot", "_ms"}, {"decode_tok_s", ""}, {"effective_prefill_tok_s", ""}} {
		last := 0.0
		for _, q := range []string{"min", "p25", "p50", "p75", "p90", "p95", "p99", "max"} {
			v, ok := numberOf(m, f.name+"_"+q+f.unit)
			r.hold(ok && v >= last, f.name+" quantiles ascend")
			last = v
		}
		mean, _ := numberOf(m, f.name+"_mean"+f.unit)
		low, _ := numberOf(m, f.name+"_min"+f.unit)
		r.hold(mean >= low && mean <= last, f.name+" mean within range")
	}
	v, ok := numberOf(m, "throughput_tok_s")
	r.hold(ok && v >= 0, "throughput_tok_s")
	return r
}

// evidence is what evidence list and show, and the dashboard, accept; the
// comparison demands a prompt set and a cache policy on top.
func evidence(data []byte, a object) refusals {
	var r refusals
	r.hold(len(data) <= 32<<20, "at most 32 MiB")
	m := a["metrics"].(object)
	for _, name := range []string{"requests", "completed", "concurrency", "context_tokens", "max_context_tokens", "max_tokens"} {
		v, ok := integer(a, name)
		_, there := a[name]
		r.hold(!there || ok && v > 0, name+" is a positive number where it is there")
	}
	for _, name := range []string{"ttft_p50_ms", "e2e_p50_ms", "output_tokens", "throughput_tok_s"} {
		_, ok := numberOf(m, name)
		_, there := m[name]
		r.hold(!there || ok, name+" is a number where it is there")
	}
	mode := a["serve_flags"].(object)["thinking_mode"]
	r.hold(slices.Contains([]any{"default", "enabled", "disabled", "unsupported"}, mode), "thinking_mode")
	set, _ := a["prompt_set_id"].(string)
	cache, _ := a["cache_policy"].(string)
	r.hold(set != "", "prompt_set_id for a comparison")
	r.hold(cache != "", "cache_policy for a comparison")
	return r
}

func TestReadersAcceptOurArtifacts(t *testing.T) {
	a := example(t)
	data, err := a.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	o := tree(t, a)
	for name, refused := range map[string]refusals{"combiner": combiner(o), "catalog": catalog(data, o), "evidence": evidence(data, o)} {
		for _, point := range refused {
			t.Errorf("%s refuses: %s", name, point)
		}
	}
}

// The seed is a run of the format's own writer: the checkers take it, all but
// what it was known to lack.
func TestReadersAcceptTheSeed(t *testing.T) {
	d := seed(t)
	if refused := combiner(d.tree); len(refused) > 0 {
		t.Errorf("combiner: %v", refused)
	}
	if refused := catalog(d.data, d.tree); len(refused) > 0 {
		t.Errorf("catalog: %v", refused)
	}
	if refused := evidence(d.data, d.tree); fmt.Sprint(refused) != "[prompt_set_id for a comparison cache_policy for a comparison]" {
		t.Errorf("evidence: %v", refused)
	}
}

func TestTwoReplicasCombine(t *testing.T) {
	other := func(change func(*Input)) object {
		in := input()
		in.BaseURL = "http://127.0.0.1:8001/v1"
		in.Started, in.Finished = in.Started.Add(200*time.Millisecond), in.Finished.Add(200*time.Millisecond)
		if change != nil {
			change(&in)
		}
		return tree(t, build(t, in))
	}
	a := tree(t, example(t))
	if refused := pair(a, other(nil)); len(refused) > 0 {
		t.Errorf("%v", refused)
	}
	if !exactTimeline(a, other(nil)) {
		t.Error("the timeline of two replicas under one clock is exact")
	}
	if exactTimeline(a, other(func(in *Input) { in.ClockDomainID = "elsewhere" })) || exactTimeline(a, other(func(in *Input) { in.ClockDomainID = "" })) {
		t.Error("two clocks are taken for one")
	}
	if exactTimeline(a, other(func(in *Input) { in.Started, in.Finished = in.Started.Add(time.Hour), in.Finished.Add(time.Hour) })) {
		t.Error("runs an hour apart overlap")
	}
	for point, change := range map[string]func(*Input){
		"max_tokens equal": func(in *Input) { in.MaxTokens = 65 }, "engine equal": func(in *Input) { in.Engine = "vllm-0.33.0" },
		"context_seed equal": func(in *Input) { in.ContextSeed = 8 }, "serve_flags equal": func(in *Input) { in.ReasoningEffort = "low" },
		"configuration_fingerprint equal": func(in *Input) { in.ConfigurationFingerprint = "sha256:" + strings.Repeat("f", 64) },
		"distinct replicas": func(in *Input) {
			in.BaseURL = "http://127.0.0.1:8000/v1"
			in.Started = began
			in.Finished = began.Add(in.Wall)
		},
	} {
		if refused := pair(a, other(change)); !slices.Contains(refused, point) {
			t.Errorf("%s: %v", point, refused)
		}
	}
}

// A checker that refuses nothing would accept anything.
func TestCheckersRefuse(t *testing.T) {
	data, err := example(t).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	num := func(s string) any { return json.Number(s) }
	for _, c := range []struct {
		point  string
		change func(o object)
		check  func(o object) refusals
	}{
		{"schema", func(o object) { o["schema"] = "x" }, combiner},
		{"failed and completed", func(o object) { o["failed"] = num("1") }, combiner},
		{"wall_clock_ms", func(o object) { o["wall_clock_ms"] = num("0") }, combiner},
		{"engine", func(o object) { o["engine"] = nil }, combiner},
		{"request_index 0 to n-1", func(o object) { o["request_timings"].([]any)[1].(object)["request_index"] = num("0") }, combiner},
		{"TTFO, TTFT, E2E in order", func(o object) { o["request_timings"].([]any)[1].(object)["ttft_ms"] = num("1e6") }, combiner},
		{"output_tokens", func(o object) { o["request_timings"].([]any)[1].(object)["output_tokens"] = nil }, combiner},
		{"canary passed", func(o object) {
			o["request_timings"].([]any)[0].(object)["request_canary"].(object)["foreign_marker_count"] = num("1")
		}, combiner},
		{"adherence from the counts", func(o object) {
			o["request_timings"].([]any)[0].(object)["controlled_output"].(object)["observed_extra_words"] = num("1")
		}, combiner},
		{"metrics.output_tokens is the rows' sum", func(o object) { o["metrics"].(object)["output_tokens"] = num("31") }, combiner},
		{"gpu", func(o object) { o["gpu"] = nil }, func(o object) refusals { return catalog(data, o) }},
		{"context within the window", func(o object) { o["context_tokens"] = num("99999") }, func(o object) refusals { return catalog(data, o) }},
		{"ttft quantiles ascend", func(o object) { o["metrics"].(object)["ttft_p50_ms"] = num("1e9") }, func(o object) refusals { return catalog(data, o) }},
		{"thinking_mode", func(o object) { o["serve_flags"].(object)["thinking_mode"] = "deep" }, func(o object) refusals { return evidence(data, o) }},
		{"cache_policy for a comparison", func(o object) { delete(o, "cache_policy") }, func(o object) refusals { return evidence(data, o) }},
	} {
		o := tree(t, example(t))
		c.change(o)
		if refused := c.check(o); !slices.Contains(refused, c.point) {
			t.Errorf("%s: %v", c.point, refused)
		}
	}
}
