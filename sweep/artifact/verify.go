package artifact

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Report is what verification found in one file.
type Report struct {
	Path        string
	Kind        Kind
	Generation  string
	Checks      []Check  // what was held against what, in order
	Limitations []string // what could not be checked, or was withheld
	Faults      []string // what does not agree
	Why         string   // what the file is, where it is no artifact
}

// Check counts the values of one kind that agreed.
type Check struct {
	What  string
	Count int
}

// Verdict sums the report up.
func (r Report) Verdict() string {
	switch {
	case r.Kind == KindOther:
		return "not an artifact"
	case len(r.Faults) > 0:
		return "refused"
	case len(r.Limitations) > 0:
		return "accepted with limitations"
	}
	return "accepted"
}

// Verify recomputes an artifact from its own rows, or follows a manifest's
// links. Nothing is taken on trust that the file allows to compute.
func Verify(d *Document) Report {
	r := Report{Path: d.Path, Kind: d.Kind, Generation: d.Generation, Why: d.Why, Limitations: slices.Clone(d.Limitations)}
	switch d.Kind {
	case KindManifest:
		verifyManifest(d, &r)
	case KindBenchmark:
		v := &verifier{d: d, w: d.wire, r: &r}
		v.layout()
		v.keys()
		v.counts()
		v.rows()
		v.metrics()
		v.population()
		v.times()
		v.ours()
		v.link()
	}
	return r
}

type verifier struct {
	d *Document
	w *wire
	r *Report
}

func (v *verifier) fault(format string, args ...any) {
	v.r.Faults = append(v.r.Faults, fmt.Sprintf(format, args...))
}

func (v *verifier) limit(format string, args ...any) {
	v.r.Limitations = append(v.r.Limitations, fmt.Sprintf(format, args...))
}

// checked notes how many values of a kind agreed.
func (v *verifier) checked(what string, count int) {
	if count > 0 {
		v.r.Checks = append(v.r.Checks, Check{what, count})
	}
}

// hold is one comparison of a kind.
func (v *verifier) hold(ok bool, format string, args ...any) int {
	if !ok {
		v.fault(format, args...)
		return 0
	}
	return 1
}

// layout holds the bytes to the format's canonical ones. Ours must be; another
// writer's may differ, and lose nothing by it.
func (v *verifier) layout() {
	same, sameButEnd := canonical(v.d.data, v.d.tree)
	switch {
	case same:
		v.checked("canonical bytes", 1)
	case v.d.Sweep != nil:
		v.fault("its bytes are not the format's canonical ones")
	case sameButEnd:
		v.limit("no line end at the end of the file")
	default:
		v.limit("its layout is not the format's canonical one")
	}
}

// keys holds that the newest generation has all its keys, and ours those that
// we add.
func (v *verifier) keys() {
	if v.d.Generation != "G6" {
		return
	}
	n := 0
	for _, m := range structMembers(reflect.ValueOf(Artifact{})) {
		if v.d.Sweep == nil && slices.Contains(added, m.name) {
			continue
		}
		_, there := v.d.tree[m.name]
		n += v.hold(there, "it lacks the key %s", m.name)
	}
	v.checked("keys", n)
}

// added are our keys beside the format's.
var added = []string{"prompt_set_id", "cache_policy", "sweep"}

func (v *verifier) counts() {
	w, n := v.w, 0
	if w.Requests != nil && w.Completed != nil && w.Failed != nil {
		n += v.hold(*w.Completed+*w.Failed == *w.Requests, "completed %d and failed %d do not make requests %d", *w.Completed, *w.Failed, *w.Requests)
	}
	if w.Completed != nil && v.d.Rows != nil {
		n += v.hold(len(v.d.Rows) == *w.Completed, "%d rows, completed is %d", len(v.d.Rows), *w.Completed)
	}
	if w.Failed != nil {
		n += v.hold(len(w.Failures) == *w.Failed, "%d failures, failed is %d", len(w.Failures), *w.Failed)
	}
	if w.ContextDistribution != nil && w.Requests != nil {
		sum := 0
		for _, c := range w.ContextDistribution {
			sum += c
		}
		n += v.hold(sum == *w.Requests, "context_distribution counts %d requests of %d", sum, *w.Requests)
	}
	if w.PerformanceEligible != nil {
		want := v.d.Failed == 0 && v.d.Completed == v.d.Requests
		n += v.hold(*w.PerformanceEligible == want, "performance_eligible is %v with %d of %d requests completed", *w.PerformanceEligible, v.d.Completed, v.d.Requests)
	}
	if w.ResponsesReceived != nil {
		received := v.d.Completed
		for _, f := range w.Failures {
			if f["response_received"] == true {
				received++
			}
		}
		n += v.hold(*w.ResponsesReceived == received, "responses_received is %d, rows and failures say %d", *w.ResponsesReceived, received)
	}
	v.checked("counts", n)
}

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

func (v *verifier) population() {
	n := 0
	if p := v.w.MetricPopulation; p != nil && v.d.Rows != nil {
		m := population{rows: v.d.Rows, wallMS: v.d.wall(), eligible: v.d.Failed == 0}.compute()
		want := describePopulation(v.d.Requests, v.d.Completed, m)
		a, _ := json.Marshal(p)
		b, _ := json.Marshal(want)
		n += v.hold(string(a) == string(b), "metric_population is %s, the rows make %s", a, b)
	}
	// The label came with G3; before it, and without reasoning counts, it
	// cannot be told.
	if reasoning, told := v.d.metric("reasoning_chunks"); told && v.d.Generation >= "G3" && v.d.Protocol != "" {
		want := "capacity-v3"
		if reasoning > 0 {
			want = "capacity-v4-reasoning"
		}
		n += v.hold(v.d.Protocol == want, "measurement_protocol is %s with %v reasoning chunks", v.d.Protocol, reasoning)
	}
	v.checked("population and protocol", n)
}

// times holds the wall clock's labels against each other and the monotonic
// wall time.
func (v *verifier) times() {
	n := 0
	label := func(name string, iso *string, ns *int64) {
		if iso == nil || ns == nil {
			return
		}
		want := time.Unix(0, *ns).UTC().Format("2006-01-02T15:04:05Z")
		n += v.hold(*iso == want, "%s is %s, its nanoseconds say %s", name, *iso, want)
	}
	w := v.w
	label("started_at", w.StartedAt, w.StartedAtUnixNS)
	label("finished_at", w.FinishedAt, w.FinishedAtUnixNS)
	if w.StartedAtUnixNS != nil && w.FinishedAtUnixNS != nil && w.WallClockMS != nil {
		interval := float64(*w.FinishedAtUnixNS-*w.StartedAtUnixNS) / 1e6
		if math.Abs(interval-*w.WallClockMS) > math.Max(5, 1e-4**w.WallClockMS) {
			v.limit("the wall clock was set during the run: it counts %.0f ms, the monotonic clock %.0f ms", interval, *w.WallClockMS)
		} else {
			n++
		}
	}
	if v.d.Generation == "G6" && v.w.RunID != nil && w.StartedAt != nil {
		want := "benchmark-" + strings.NewReplacer("-", "", ":", "").Replace(*w.StartedAt)
		n += v.hold(*w.RunID == want, "run_id is %s, started_at makes it %s", *w.RunID, want)
	}
	v.checked("times", n)
}

// ours holds what only our artifacts have: the figures of the sweep object.
func (v *verifier) ours() {
	s := v.d.Sweep
	if s == nil {
		return
	}
	n := 0
	rate := func(name string, got *float64, want float64) {
		n += v.hold(got != nil && near(*got, want, rateTolerance), "sweep.%s is %s, the rows make %v", name, show(got), want)
	}
	n += v.hold(s.Attempted == v.d.Requests && len(s.RequestObservations) == v.d.Requests, "sweep counts %d and lists %d of %d requests", s.Attempted, len(s.RequestObservations), v.d.Requests)
	if wall := v.d.wall() / 1000; wall > 0 {
		rate("requests_per_s", s.RequestsPerS, float64(v.d.Completed)/wall)
		rate("attempted_requests_per_s", s.AttemptsPerS, float64(v.d.Requests)/wall)
	}
	rate("success_rate", s.SuccessRate, float64(v.d.Completed)/float64(max(1, v.d.Requests)))
	kinds, listed := map[string]int{}, 0
	for _, f := range s.RequestObservations {
		if f.FailureKind != nil {
			kinds[*f.FailureKind]++
			listed++
		}
	}
	n += v.hold(listed == v.d.Failed && fmt.Sprint(kinds) == fmt.Sprint(s.FailureKinds), "sweep.failure_kinds is %v, its requests say %v", s.FailureKinds, kinds)
	v.checked("sweep figures", n)
}
