package artifact

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// rows holds each row's own arithmetic, and that indexes ascend and are whole.
func (v *verifier) rows() {
	n, last := 0, -1
	seen := map[int]bool{}
	for i := range v.d.Rows {
		row := &v.d.Rows[i]
		n += v.hold(row.RequestIndex > last, "row %d: request_index %d follows %d", i, row.RequestIndex, last)
		last = row.RequestIndex
		seen[last] = true
		n += v.row(row)
	}
	indexed := true
	for _, f := range v.w.Failures {
		index, ok := f["request_index"].(float64)
		indexed = indexed && ok
		if ok {
			n += v.hold(!seen[int(index)], "request %d both succeeded and failed", int(index))
			seen[int(index)] = true
		}
	}
	if v.d.Rows != nil && indexed {
		missing := 0
		for i := range v.d.Requests {
			if !seen[i] {
				missing++
			}
		}
		n += v.hold(missing == 0, "%d of %d request indexes are neither a row nor a failure", missing, v.d.Requests)
	}
	v.checked("row values", n)
}

func (v *verifier) row(row *Row) int {
	n := 0
	first := row.TimeToFirstOutput
	if first == nil {
		first = row.TTFT
	}
	if row.E2E == nil || first == nil || row.TTFT == nil {
		return v.hold(false, "request %d: a time is missing", row.RequestIndex)
	}
	n += v.hold(0 <= *first && *first <= *row.TTFT && *row.TTFT <= *row.E2E, "request %d: TTFO %v, TTFT %v, E2E %v are out of order", row.RequestIndex, *first, *row.TTFT, *row.E2E)
	want := row.derive()
	for _, c := range []struct {
		name      string
		got, want *float64
	}{
		{"generation_ms", row.Generation, want.Generation},
		{"visible_generation_ms", row.VisibleGeneration, want.VisibleGeneration},
		{"effective_prefill_tok_s", row.EffectivePrefillTokS, want.EffectivePrefillTokS},
		{"decode_tok_s", row.DecodeTokS, want.DecodeTokS},
		{"tpot_ms", row.TPOT, want.TPOT},
		{"mean_time_per_output_token_ms", row.MeanTimePerOutput, want.MeanTimePerOutput},
		{"mean_inter_token_latency_ms", row.MeanInterTokenLatency, want.MeanInterTokenLatency},
	} {
		if c.got != nil { // older generations have fewer
			n += v.hold(c.want != nil && *c.got == *c.want, "request %d: %s is %v, its times and counts make %s", row.RequestIndex, c.name, *c.got, show(c.want))
		}
	}
	return n
}

// rateTolerance: sums and quotients of the sweep object are held to nine
// digits, not to the bit.
const rateTolerance = 1e-9

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*math.Max(math.Abs(a), math.Abs(b))
}

func show(v *float64) string {
	if v == nil {
		return "nothing"
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

// metrics recomputes every figure of the metrics object that rows can tell.
func (v *verifier) metrics() {
	if v.d.Rows == nil {
		return
	}
	want := population{rows: v.d.Rows, wallMS: v.d.wall(), eligible: v.d.Failed == 0, hits: v.hits()}.compute()
	n := 0
	for _, f := range families {
		names := []string{f.name + "_samples"}
		for _, s := range statistics(f.distribution(nil)) {
			names = append(names, f.name+"_"+s.name+f.unit)
		}
		for _, name := range names {
			n += v.figure(name, want)
		}
	}
	v.checked("distribution values, bit for bit", n)
	n = 0
	for _, name := range plainKeys {
		switch {
		case strings.HasPrefix(name, "content_chunks") && v.d.Generation < "G3":
			v.limit("%s cannot be recomputed: rows do not hold chunks", name)
		case name == "throughput_tok_s":
			n += v.throughput(want)
		case name == "prefix_cache_hit_avg" && !v.hitsKnown():
			if _, told := v.d.metric(name); told {
				v.limit("prefix_cache_hit_avg cannot be recomputed: rows do not hold cached tokens")
			}
		default:
			n += v.figure(name, want)
		}
	}
	v.checked("sums, counts and rates", n)
	if v.d.Generation != "G6" {
		return
	}
	for _, name := range keys(want) {
		if _, there := v.w.Metrics[name]; !there {
			v.fault("metrics lacks %s", name)
		}
	}
}

// hitsKnown: only artifacts of ours keep cached tokens a request.
func (v *verifier) hitsKnown() bool { return v.d.Sweep != nil }

func (v *verifier) hits() []float64 {
	if !v.hitsKnown() {
		return nil
	}
	prompt := map[int]int64{}
	for i := range v.d.Rows {
		if p := v.d.Rows[i].PromptTokens; p != nil && *p > 0 {
			prompt[v.d.Rows[i].RequestIndex] = *p
		}
	}
	var out []float64
	for _, f := range v.d.Sweep.RequestObservations {
		if p, ok := prompt[f.RequestIndex]; ok && f.CachedTokens != nil {
			out = append(out, float64(*f.CachedTokens)/float64(p))
		}
	}
	return out
}

// figure holds one metric to the bit; a metric that the generation does not
// have is not missed.
func (v *verifier) figure(name string, want Metrics) int {
	got, there := v.w.Metrics[name]
	if !there {
		return 0
	}
	computed := want[name]
	switch got := got.(type) {
	case json.Number:
		f, err := got.Float64()
		w, ok := want.Float(name)
		return v.hold(err == nil && ok && math.Float64bits(f) == math.Float64bits(w), "metrics.%s is %s, the rows make %v", name, got, computed)
	case nil:
		return v.hold(computed == nil, "metrics.%s is null, the rows make %v", name, computed)
	case bool:
		return v.hold(computed == got, "metrics.%s is %v, the rows make %v", name, got, computed)
	case map[string]any:
		return v.hold(sameCounts(got, computed), "metrics.%s is %v, the rows make %v", name, got, computed)
	}
	return v.hold(false, "metrics.%s has the wrong type", name)
}

func sameCounts(got map[string]any, computed any) bool {
	want, ok := computed.(map[string]int)
	if !ok || len(got) != len(want) {
		return false
	}
	for name, n := range want {
		if got[name] != json.Number(strconv.Itoa(n)) {
			return false
		}
	}
	return true
}

// throughput may differ in the last place: the wall time was rounded to
// milliseconds when it was written.
func (v *verifier) throughput(want Metrics) int {
	got, claimed := v.d.metric("throughput_tok_s")
	computed, ok := want.Float("throughput_tok_s")
	switch {
	case !claimed && !ok:
		return 1
	case claimed && !ok && v.d.withholdsThroughput() && v.w.PerformanceEligible == nil:
		return 0 // named as a limitation already: older generations claim it
	}
	return v.hold(claimed && ok && near(got, computed, 1e-15*4), "metrics.throughput_tok_s is %v, tokens and wall time make %v", show(&got), want["throughput_tok_s"])
}
