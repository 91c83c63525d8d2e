package artifact

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
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
	case KindAggregate:
		verifyAggregate(d, &r)
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
