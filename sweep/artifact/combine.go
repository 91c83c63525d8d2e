package artifact

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"time"
)

var fingerprintForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// combinable is why an artifact cannot be joined with others: the contract's
// section on the combiner, in its order.
func combinable(d *Document) error {
	if d.Kind != KindBenchmark {
		return fmt.Errorf("it is no artifact: %s", d.Why)
	}
	w, t := d.wire, d.tree
	switch {
	case d.Requests < 1 || d.Concurrency < 1:
		return fmt.Errorf("it has %d requests at concurrency %d", d.Requests, d.Concurrency)
	case w.Failed == nil || *w.Failed != 0 || d.Completed != d.Requests:
		return fmt.Errorf("%d of its %d requests completed: replicas with failures are not taken together", d.Completed, d.Requests)
	case t["performance_eligible"] != nil && t["performance_eligible"] != true:
		return fmt.Errorf("performance_eligible is %v", t["performance_eligible"])
	case w.WallClockMS == nil || !(*w.WallClockMS > 0) || math.IsInf(*w.WallClockMS, 0):
		return fmt.Errorf("it has no wall_clock_ms above 0")
	case d.Engine == "" || d.Model == "":
		return fmt.Errorf("it names no engine or no model")
	case d.CacheMode != "shared" && d.CacheMode != "unique":
		return fmt.Errorf("prompt_cache_mode is %q", d.CacheMode)
	case w.RequestCanaries == nil:
		return fmt.Errorf("it does not say whether canaries were on")
	case d.Policy != "" && d.Policy != "observe" && d.Policy != "strict":
		return fmt.Errorf("controlled_output_policy is %q", d.Policy)
	case w.ServeFlags == nil:
		return fmt.Errorf("it has no serve_flags")
	case len(d.Rows) != d.Completed:
		return fmt.Errorf("it has %d rows for %d completed requests", len(d.Rows), d.Completed)
	}
	for name, least := range map[string]int64{"context_tokens": 0, "max_context_tokens": 1, "max_tokens": 1, "response_words": 0} {
		if n, ok := t[name].(json.Number); t[name] != nil {
			if v, err := n.Int64(); !ok || err != nil || v < least {
				return fmt.Errorf("%s is %v", name, t[name])
			}
		}
	}
	var output int64
	for i := range d.Rows {
		if err := d.combinableRow(i); err != nil {
			return fmt.Errorf("request %d: %w", d.Rows[i].RequestIndex, err)
		}
		output += *d.Rows[i].OutputTokens
	}
	if told, ok := d.metric("output_tokens"); !ok || int64(told) != output {
		return fmt.Errorf("metrics.output_tokens is %v, its rows make %d", d.wire.Metrics["output_tokens"], output)
	}
	return nil
}

func (d *Document) combinableRow(i int) error {
	r := &d.Rows[i]
	first := r.TimeToFirstOutput
	if first == nil {
		first = r.TTFT
	}
	switch {
	case r.RequestIndex != i:
		return fmt.Errorf("request indexes are not 0 to %d", len(d.Rows)-1)
	case r.PromptTokens == nil || *r.PromptTokens < 0 || r.OutputTokens == nil || *r.OutputTokens < 1:
		return fmt.Errorf("its tokens are not counted")
	case r.OutputTokenSource != "" && r.OutputTokenSource != SourceUsage:
		return fmt.Errorf("its tokens come from %s, not from usage", r.OutputTokenSource)
	case first == nil || r.TTFT == nil || r.E2E == nil || !(0 <= *first && *first <= *r.TTFT && *r.TTFT <= *r.E2E):
		return fmt.Errorf("its times are not in order")
	}
	canaries := *d.wire.RequestCanaries
	switch c := r.Canary; {
	case c != nil && !canaries:
		return fmt.Errorf("it has a canary, and canaries were off")
	case c != nil && !c.Passed, c != nil && d.Policy != "" && (!c.MarkerAtStart || c.ForeignMarkerCount > 0 || !c.CaptureComplete):
		return fmt.Errorf("its canary did not pass")
	case c == nil && canaries && d.Policy != "":
		return fmt.Errorf("it lacks its canary")
	}
	words := d.ResponseWords != nil && *d.ResponseWords > 0 && d.Policy != ""
	switch o := r.ControlledOutput; {
	case (o != nil) != words:
		return fmt.Errorf("its controlled output is there or not against what was asked for")
	case o != nil && !o.consistent():
		return fmt.Errorf("its controlled output does not agree with its own counts")
	}
	return nil
}

// consistent holds adherence against the counts, and passing against the policy.
func (o *ControlledOutput) consistent() bool {
	exact := o.ObservedCodeWords == o.RequestedWords && o.ObservedExtraWords == 0
	if o.ExactAdherence != nil && *o.ExactAdherence != exact {
		return false
	}
	return o.Passed == (o.Policy != "strict" || o.ExactAdherence != nil && *o.ExactAdherence)
}

// matchedFields must be the same in all replicas.
var matchedFields = []string{
	"measurement_protocol", "engine", "context_tokens", "max_context_tokens", "max_tokens", "response_words",
	"prompt_cache_mode", "request_canaries", "controlled_output_policy", "context_seed", "serve_flags",
}

func matching(docs []*Document) error {
	first := docs[0]
	for _, d := range docs[1:] {
		for _, name := range matchedFields {
			if !reflect.DeepEqual(d.tree[name], first.tree[name]) {
				return fmt.Errorf("%s: %s is %v, and %v in %s", d.Path, name, shown(d.tree[name]), shown(first.tree[name]), first.Path)
			}
		}
		if a, b := prefixOf(d), prefixOf(first); !reflect.DeepEqual(a.Tokens, b.Tokens) {
			return fmt.Errorf("%s: shared_prefix_tokens is %v, and %v in %s", d.Path, shown(d.tree["shared_prefix_tokens"]), shown(first.tree["shared_prefix_tokens"]), first.Path)
		}
	}
	return nil
}

func shown(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

func prefixOf(d *Document) SharedPrefix {
	zero := 0
	switch {
	case d.CacheMode == "unique":
		return SharedPrefix{&zero, "ignored-for-unique-cache"}
	case d.SharedPrefixTokens == nil:
		return SharedPrefix{nil, "legacy-unknown"}
	}
	return SharedPrefix{d.SharedPrefixTokens, "declared"}
}

// identityOf: with a fingerprint in any replica, all have the same, and are of
// one model and one recipe.
func identityOf(docs []*Document) (ReplicaIdentity, error) {
	first, declared := docs[0], false
	for _, d := range docs {
		declared = declared || d.ConfigurationFingerprint != ""
	}
	if !declared {
		why := "the inputs declare no configuration fingerprint: that they ran one configuration is not known"
		return ReplicaIdentity{Status: "legacy-unverified", Limitation: &why}, nil
	}
	for _, d := range docs {
		switch {
		case !fingerprintForm.MatchString(d.ConfigurationFingerprint):
			return ReplicaIdentity{}, fmt.Errorf("%s: configuration_fingerprint %q is not sha256 and 64 hexadecimal digits, and another replica has one", d.Path, d.ConfigurationFingerprint)
		case d.ConfigurationFingerprint != first.ConfigurationFingerprint:
			return ReplicaIdentity{}, fmt.Errorf("%s: configuration_fingerprint is %s, and %s in %s", d.Path, d.ConfigurationFingerprint, first.ConfigurationFingerprint, first.Path)
		case d.Model != first.Model || d.SourceRecipe != first.SourceRecipe:
			return ReplicaIdentity{}, fmt.Errorf("%s: model %q of recipe %q, and %q of %q in %s", d.Path, d.Model, d.SourceRecipe, first.Model, first.SourceRecipe, first.Path)
		}
	}
	return ReplicaIdentity{Status: "declared-matching-fingerprint", Fingerprint: &first.ConfigurationFingerprint}, nil
}

// distinct: the inputs are different files of different runs.
func distinct(docs []*Document) (RunIdentity, error) {
	out := RunIdentity{Status: "distinct-composite-identities", Fields: []string{"run_id", "model", "base_url", "gpu"}}
	sums, runs := map[string]string{}, map[[4]string]string{}
	for _, d := range docs {
		if before := sums[d.SHA256]; before != "" {
			return out, fmt.Errorf("%s: it is the same artifact as %s", d.Path, before)
		}
		sums[d.SHA256] = d.Path
		if d.RunID == "" {
			out.MissingRunIDs++
			out.Status = "legacy-missing-run-id"
			continue
		}
		id := [4]string{d.RunID, d.Model, d.BaseURL, d.GPU}
		if before := runs[id]; before != "" {
			return out, fmt.Errorf("%s: it has the run_id, model, base_url and gpu of %s: it is the same run", d.Path, before)
		}
		runs[id] = d.Path
	}
	return out, nil
}

func validationOf(docs []*Document) Validation {
	canaries, modern, words, asked := 0, true, 0, false
	for _, d := range docs {
		asked = asked || d.ResponseWords != nil && *d.ResponseWords > 0
		for i := range d.Rows {
			if c := d.Rows[i].Canary; c != nil {
				canaries++
				modern = modern && c.MarkerAtStart && c.CaptureComplete
			}
			if d.Rows[i].ControlledOutput != nil {
				words++
			}
		}
	}
	out := Validation{Canaries: "not-requested", Adherence: "not-requested"}
	if canaries > 0 {
		out.Canaries = "beginning-and-any-foreign-marker-verified"
		if !modern {
			out.Canaries = "legacy-substring-only"
		}
	}
	switch {
	case words > 0:
		out.Adherence = "observed"
	case asked:
		out.Adherence = "legacy-unobserved"
	}
	if canaries > 0 && !modern || asked && words == 0 {
		why := "what the inputs did not observe of canaries and word counts is not made up"
		out.Limitation = &why
	}
	return out
}

// timelineOf is exact where all replicas were timed by one clock to the
// nanosecond, and ran at one time. Else their seconds must be the same, and
// what lies within the seconds bounds the wall time.
func timelineOf(docs []*Document) (Timeline, error) {
	why, exact := inexact(docs)
	first := docs[0]
	if exact {
		begin, end := *first.wire.StartedAtUnixNS, *first.wire.FinishedAtUnixNS
		lastBegin, firstEnd := begin, end
		for _, d := range docs {
			b, e := *d.wire.StartedAtUnixNS, *d.wire.FinishedAtUnixNS
			begin, lastBegin = min(begin, b), max(lastBegin, b)
			end, firstEnd = max(end, e), min(firstEnd, e)
		}
		if lastBegin >= firstEnd {
			return Timeline{}, fmt.Errorf("the replicas did not run at one time: one ended before another began")
		}
		wall := float64(end-begin) / 1e6
		return Timeline{
			Alignment: "exact", ClockDomainID: clockDomain(first), WallLower: wall, WallUpper: wall,
			StartSkewMS: float64(lastBegin-begin) / 1e6, FinishSkewMS: float64(end-firstEnd) / 1e6,
		}, nil
	}
	longest := 0.0
	for _, d := range docs {
		if text(d.wire.StartedAt) == "" || text(d.wire.StartedAt) != text(first.wire.StartedAt) || text(d.wire.FinishedAt) != text(first.wire.FinishedAt) {
			return Timeline{}, fmt.Errorf("%s: it ran from %s to %s and %s from %s to %s: without one exact clock (%s), replicas must begin and end in the same seconds",
				d.Path, text(d.wire.StartedAt), text(d.wire.FinishedAt), first.Path, text(first.wire.StartedAt), text(first.wire.FinishedAt), why)
		}
		longest = max(longest, *d.wire.WallClockMS)
	}
	begin, err := time.Parse(time.RFC3339, text(first.wire.StartedAt))
	end, err2 := time.Parse(time.RFC3339, text(first.wire.FinishedAt))
	if err != nil || err2 != nil {
		return Timeline{}, fmt.Errorf("%s: started_at or finished_at is no time", first.Path)
	}
	seconds := float64(end.Sub(begin).Milliseconds())
	upper := seconds + 1000
	if longest > upper {
		return Timeline{}, fmt.Errorf("its longest replica took %.0f ms, and its labels leave %.0f ms at most", longest, upper)
	}
	return Timeline{Alignment: "legacy-whole-second", WallLower: max(longest, seconds-1000), WallUpper: upper, Limitation: &why}, nil
}

func clockDomain(d *Document) *string {
	domain, _ := d.tree["clock_domain_id"].(string)
	if domain == "" {
		return nil
	}
	return &domain
}

// inexact is why the clocks do not say to the nanosecond.
func inexact(docs []*Document) (why string, exact bool) {
	for _, d := range docs {
		domain, first := clockDomain(d), clockDomain(docs[0])
		w := d.wire
		switch {
		case domain == nil || first == nil || *domain != *first:
			return "the inputs do not declare one clock_domain_id", false
		case w.StartedAtUnixNS == nil || w.FinishedAtUnixNS == nil:
			return "an input lacks nanoseconds", false
		case iso(time.Unix(0, *w.StartedAtUnixNS)) != text(w.StartedAt) || iso(time.Unix(0, *w.FinishedAtUnixNS)) != text(w.FinishedAt):
			return "an input's labels do not agree with its nanoseconds", false
		}
		interval := float64(*w.FinishedAtUnixNS-*w.StartedAtUnixNS) / 1e6
		if math.Abs(interval-*w.WallClockMS) > max(5, 1e-4**w.WallClockMS) {
			return "an input's wall clock was set while it ran", false
		}
	}
	return "", true
}
