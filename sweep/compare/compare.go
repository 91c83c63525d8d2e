package compare

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/metrics"
)

// Options say what is compared and when a difference counts.
type Options struct {
	Metrics   []Metric
	Factor    string   // an axis whose values are compared within one set; empty: sets are
	Control   string   // the value of the factor that the others are held against; empty: the first
	Alpha     float64  // level of the test, 0.01 where not given
	Threshold float64  // percent; a smaller difference is none
	Allow     []string // controls that may differ
}

// Metric is a figure with the direction that is good.
type Metric struct {
	Name   string `json:"name"`
	Better string `json:"better"` // "higher", "lower" or ""
}

// Side is one of the things that are compared.
type Side struct {
	Name  string `json:"name"`
	Files int    `json:"files"`
}

// Result is a comparison of one control with one candidate or several.
type Result struct {
	Alpha     float64  `json:"alpha"`
	Threshold float64  `json:"threshold_pct"`
	Control   Side     `json:"control"`
	Against   []Side   `json:"against"`
	Cells     []Cell   `json:"cells"`
	Pareto    []string `json:"pareto"`   // cells on the frontier, where an axis is the factor; the caller's
	LeftOut   []string `json:"left_out"` // files that are no run that counts, and why
}

// Cell is one cell of the control with its counterpart on one side.
type Cell struct {
	Place     string   `json:"place"`
	Against   string   `json:"against"`
	Reasons   []string `json:"reasons"` // why it is not comparable
	Control   int      `json:"control_runs"`
	Candidate int      `json:"candidate_runs"`
	Figures   []Figure `json:"figures"`
}

// Figure is one metric of a cell.
type Figure struct {
	Metric    string   `json:"metric"`
	Verdict   Verdict  `json:"verdict"`
	Control   *float64 `json:"control"` // medians
	Candidate *float64 `json:"candidate"`
	DeltaPct  *float64 `json:"delta_pct"`
	LowPct    *float64 `json:"delta_low_pct"` // interval at 1 − alpha
	HighPct   *float64 `json:"delta_high_pct"`
	P         *float64 `json:"p"`
	Q         *float64 `json:"q"`    // p among all figures of the comparison; see FalseDiscovery
	Test      string   `json:"test"` // "Mann-Whitney U over runs" or "… over requests"
	NControl  int      `json:"n_control"`
	N         int      `json:"n_candidate"`
	Note      string   `json:"note"`

	welch float64
}

// Defaults of a comparison.
const (
	DefaultAlpha     = 0.01
	DefaultThreshold = 2
)

// Of compares sets of documents, the first of which is the control; or, with a
// factor, the values of an axis within one set.
func Of(names []string, sets [][]*artifact.Document, o Options) (*Result, error) {
	if o.Alpha == 0 {
		o.Alpha = DefaultAlpha
	}
	r := &Result{Alpha: o.Alpha, Threshold: o.Threshold, Cells: []Cell{}, Pareto: []string{}, LeftOut: []string{}}
	var sides []side
	for i, docs := range sets {
		sides = append(sides, side{names[i], r.runs(docs)})
	}
	if o.Factor != "" {
		var err error
		if sides, err = split(sides, o); err != nil {
			return nil, err
		}
	}
	for _, s := range sides {
		if len(s.docs) == 0 {
			return nil, fmt.Errorf("%s holds no artifact of a run", s.name)
		}
	}
	if len(sides) < 2 {
		return nil, fmt.Errorf("there is nothing to compare %s with", sides[0].name)
	}
	r.Control = Side{sides[0].name, len(sides[0].docs)}
	for _, s := range sides[1:] {
		r.Against = append(r.Against, Side{s.name, len(s.docs)})
		r.pair(sides[0], s, o)
	}
	r.discount()
	return r, nil
}

type side struct {
	name string
	docs []*artifact.Document
}

// runs leaves the documents that count.
func (r *Result) runs(docs []*artifact.Document) []*artifact.Document {
	runs, left := artifact.Runs(docs)
	for _, l := range left {
		r.LeftOut = append(r.LeftOut, l.Path+": "+l.Why)
	}
	return runs
}

// split makes a side of each value of the factor, the control first.
func split(sides []side, o Options) ([]side, error) {
	var out []side
	at := map[string]int{}
	known := map[string]bool{}
	for _, s := range sides {
		for _, d := range s.docs {
			axes := position(d)
			for name := range axes {
				known[name] = true
			}
			value, ok := axes[o.Factor]
			if !ok {
				continue
			}
			if _, seen := at[value]; !seen {
				at[value] = len(out)
				out = append(out, side{name: o.Factor + " " + value})
			}
			out[at[value]].docs = append(out[at[value]].docs, d)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no artifact has an axis %q; there are %s", o.Factor, strings.Join(sorted(known), ", "))
	}
	if o.Control == "" {
		return out, nil
	}
	i, ok := at[o.Control]
	if !ok {
		return nil, fmt.Errorf("%s has no value %q", o.Factor, o.Control)
	}
	control := out[i]
	return append([]side{control}, slices.Delete(out, i, i+1)...), nil
}

func sorted(set map[string]bool) []string {
	var out []string
	for name := range set {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// cells groups a side's documents by position, in order of first appearance.
func cells(docs []*artifact.Document, factor string) (order []string, byPlace map[string][]*artifact.Document) {
	byPlace = map[string][]*artifact.Document{}
	for _, d := range docs {
		key := place(position(d), factor)
		if byPlace[key] == nil {
			order = append(order, key)
		}
		byPlace[key] = append(byPlace[key], d)
	}
	return order, byPlace
}

func (r *Result) pair(a, b side, o Options) {
	order, control := cells(a.docs, o.Factor)
	more, candidate := cells(b.docs, o.Factor)
	for _, key := range more {
		if control[key] == nil {
			order = append(order, key)
		}
	}
	slices.SortStableFunc(order, natural)
	for _, key := range order {
		c := Cell{Place: key, Against: b.name, Control: len(control[key]), Candidate: len(candidate[key]), Reasons: reasons(control[key], candidate[key], o), Figures: []Figure{}}
		for _, m := range o.Metrics {
			f := Figure{Metric: m.Name, Verdict: NotComparable}
			if len(c.Reasons) == 0 {
				f = hold(control[key], candidate[key], m, o)
			}
			c.Figures = append(c.Figures, f)
		}
		r.Cells = append(r.Cells, c)
	}
}

// reasons are why two cells are not comparable.
func reasons(a, b []*artifact.Document, o Options) []string {
	out := []string{}
	switch {
	case len(a) == 0:
		return []string{"the control has no such cell"}
	case len(b) == 0:
		return []string{"the candidate has no such cell"}
	}
	for _, d := range slices.Concat(a, b) {
		if d.Failed > 0 {
			out = append(out, fmt.Sprintf("%s: %d of %d requests failed", filepath.Base(d.Path), d.Failed, d.Requests))
		}
		if d.Lone() {
			out = append(out, fmt.Sprintf("%s is replica %d of %d without the others", filepath.Base(d.Path), d.Sweep.Replica.Number, d.Sweep.Replica.Of))
		}
		if d.Sweep != nil {
			for _, f := range d.Sweep.Flags {
				if f.Name == artifact.FlagClientLimited && !slices.Contains(o.Allow, f.Name) {
					out = append(out, fmt.Sprintf("%s is %s", filepath.Base(d.Path), f.Name))
				}
			}
		}
	}
	for _, d := range b {
		for _, why := range differs(a[0], d, o.Factor, o.Allow) {
			if !slices.Contains(out, why) {
				out = append(out, why)
			}
		}
	}
	return out
}

// hold compares one metric of two comparable cells: over runs where there are
// several on both sides, else over the requests of the one run of each.
func hold(a, b []*artifact.Document, m Metric, o Options) Figure {
	f := Figure{Metric: m.Name, Test: "Mann-Whitney U over runs"}
	x, y := runValues(a, m.Name), runValues(b, m.Name)
	f.NControl, f.N = len(x), len(y)
	f.Control, f.Candidate = mid(x), mid(y)
	if len(x) == 0 || len(y) == 0 {
		f.Verdict, f.Note = TooFew, "a side has no value"
		return f
	}
	if len(a) == 1 && len(b) == 1 {
		if rx, ry := requestValues(a[0], m.Name), requestValues(b[0], m.Name); rx != nil && ry != nil {
			x, y = rx, ry
			f.Test, f.NControl, f.N = "Mann-Whitney U over requests", len(x), len(y)
			f.Note = "one run on each side: requests of a run share its conditions, so repeats are better"
		}
	}
	if pct, low, high, ok := shift(x, y, o.Alpha); ok {
		f.DeltaPct, f.LowPct, f.HighPct = &pct, &low, &high
	}
	p, ok := test(x, y, o.Alpha)
	if !ok {
		f.Verdict = TooFew
		f.LowPct, f.HighPct = nil, nil
		f.Note = fmt.Sprintf("%d against %d values can show no difference at level %g; use repeat = 5 or more", len(x), len(y), o.Alpha)
		return f
	}
	f.P, f.welch = &p, welch(x, y)
	f.Verdict = verdict(m, f, o)
	return f
}

func verdict(m Metric, f Figure, o Options) Verdict {
	if *f.P >= o.Alpha || f.DeltaPct == nil || math.Abs(*f.DeltaPct) < o.Threshold {
		return Same
	}
	switch {
	case m.Better == "":
		return Changed
	case (*f.DeltaPct > 0) == (m.Better == "higher"):
		return Better
	}
	return Worse
}

func runValues(docs []*artifact.Document, name string) (out []float64) {
	for _, d := range docs {
		if v, _ := d.Metric(name); v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// requestValues are a run's values of the family that a metric is a statistic
// of; nil where it is none. A tail is no matter of the middle of a population,
// so only medians and means are compared so.
func requestValues(d *artifact.Document, name string) []float64 {
	for _, family := range artifact.Families() {
		for _, statistic := range []string{"_p50", "_mean"} {
			if name == family[0]+statistic+family[1] {
				return d.Values(family[0])
			}
		}
	}
	return nil
}

func mid(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	m := metrics.Median(values)
	return &m
}

// Count is how many figures have a verdict.
func (r *Result) Count(v Verdict) int {
	n := 0
	for _, c := range r.Cells {
		for _, f := range c.Figures {
			if f.Verdict == v {
				n++
			}
		}
	}
	return n
}
