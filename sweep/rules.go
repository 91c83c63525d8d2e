package sweep

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// GateResult is what a gate said of a cell.
type GateResult struct {
	Sweep, Cell, Gate, Text string
	Verdict                 recipe.Verdict
	Figures                 []recipe.Figure
}

// halt is why cells are not run; the zero value is no reason. A rule that
// measuring has decided skips them; what went wrong before leaves them not run.
type halt struct {
	state  artifact.State
	reason string
}

// course is what a sweep's rules have decided so far.
type course struct {
	sweep    *PlannedSweep
	began    time.Time
	stopped  halt // of all cells that are left
	bad      bool // a cell did not go well
	ran      bool // a cell was measured
	requests int
	tokens   int64
	cost     float64
	gates    []GateResult
}

// ladder is the cells that differ in their concurrency alone, and what was
// seen on the way up.
type ladder struct {
	cells    []*Cell
	stopped  halt // of the higher rungs
	previous map[string]*float64
}

// ladders parts a sweep's cells, which are in order already.
func ladders(cells []Cell) []*ladder {
	var out []*ladder
	last := ""
	for i := range cells {
		c := &cells[i]
		axes := Axes(c.Point)
		delete(axes, "concurrency")
		key := fmt.Sprint(c.Point.Repeat, axes, c.Point.Context.Cache, c.Point.Context.Sizing)
		if i == 0 || key != last {
			out = append(out, &ladder{})
		}
		last = key
		top := out[len(out)-1]
		top.cells = append(top.cells, c)
	}
	return out
}

// skip is why the cell is not to be run, if it is not.
func (s *course) skip(l *ladder, c *Cell) halt {
	b, own := s.sweep.Rules.Budget, c.Budget
	requests, tokens := c.Sent(), c.PlannedTokens()*int64(Replicas(c.Point))
	minutes := time.Since(s.began).Minutes()
	spent := ""
	switch {
	case s.stopped.reason != "":
		return s.stopped
	case l.stopped.reason != "":
		return l.stopped
	case own.Requests > 0 && requests > own.Requests:
		return halt{artifact.StateSkipped, fmt.Sprintf("cell_budget: its %d requests are over %d", requests, own.Requests)}
	case own.PromptTokens > 0 && tokens > int64(own.PromptTokens):
		return halt{artifact.StateSkipped, fmt.Sprintf("cell_budget: its %d prompt tokens are over %d", tokens, own.PromptTokens)}
	case b.Requests > 0 && s.requests+requests > b.Requests:
		spent = fmt.Sprintf("%d requests sent, %d more would be over %d", s.requests, requests, b.Requests)
	case b.PromptTokens > 0 && s.tokens+tokens > int64(b.PromptTokens):
		spent = fmt.Sprintf("%d prompt tokens sent, %d more would be over %d", s.tokens, tokens, b.PromptTokens)
	case b.Minutes > 0 && minutes > b.Minutes:
		spent = fmt.Sprintf("%.1f minutes of %g are over", minutes, b.Minutes)
	case b.Cost > 0 && s.cost > b.Cost:
		spent = fmt.Sprintf("%.2f %s of %g are spent", s.cost, c.Point.Tier.Currency, b.Cost)
	default:
		return halt{}
	}
	return halt{artifact.StateSkipped, "budget: " + spent}
}

// learn takes in what became of a cell.
func (s *course) learn(l *ladder, c *Cell, end CellEnd, baseline map[string]*float64) recipe.Diagnostics {
	var diags recipe.Diagnostics
	if end.State != artifact.StateDone {
		s.bad = true
		switch s.sweep.Rules.OnFailure {
		case recipe.OnFailureStop:
			s.stopped = halt{artifact.StateNotRun, fmt.Sprintf("on_failure: cell %s is %s", c.ID, end.State)}
		case recipe.OnFailureLadder:
			l.stopped = halt{artifact.StateNotRun, fmt.Sprintf("on_failure: rung %d is %s", c.Point.Concurrency.Value, end.State)}
		}
	}
	if len(end.Artifacts) == 0 && end.Document == nil {
		return diags
	}
	wall := 0.0
	for _, a := range end.Artifacts {
		s.requests += a.Requests
		s.tokens += c.PlannedTokens()
		wall = max(wall, a.WallClockMS)
	}
	if price := c.Point.Tier.PricePerHour; price != nil {
		s.cost += *price * wall / 3_600_000
	}
	if len(c.Point.Concurrency.Stops)+len(s.sweep.Rules.Gates) == 0 {
		return diags // nobody asks
	}
	results := recipe.Results{Result: end.metrics(), Previous: l.previous, Baseline: baseline}
	for i := range c.Point.Concurrency.Stops {
		rule := &c.Point.Concurrency.Stops[i]
		verdict, more := rule.Decide(c.Point, results)
		diags = diags.Append(more)
		if verdict == recipe.Yes && l.stopped.reason == "" {
			l.stopped = halt{artifact.StateSkipped, fmt.Sprintf("stop %q: %s at concurrency %d", rule.Name, rule.Text, c.Point.Concurrency.Value)}
		}
	}
	for i := range s.sweep.Rules.Gates {
		gate := &s.sweep.Rules.Gates[i]
		applies, more := gate.Applies(c.Point)
		diags = diags.Append(more)
		if !applies {
			continue
		}
		verdict, more := gate.Decide(c.Point, results)
		diags = diags.Append(more)
		s.gates = append(s.gates, GateResult{Sweep: c.Sweep, Cell: c.ID, Gate: gate.Name, Text: gate.Text, Verdict: verdict, Figures: gate.Figures(results)})
	}
	l.previous = results.Result
	return diags
}

// search runs few rungs of a ladder to find the highest that meets the goal,
// by bisection: it takes for granted that what a rung does not meet, no higher
// one does. It returns the rungs that were not run and why.
func (l *ladder) search(run func(*Cell) (CellEnd, error)) (left []*Cell, why string, err error) {
	goal := l.cells[0].Point.Concurrency.Search
	low, high := -1, len(l.cells) // the highest rung that meets it, the lowest that does not
	tried := map[int]bool{}
	for high-low > 1 {
		at := (low + high) / 2
		tried[at] = true
		c := l.cells[at]
		end, err := run(c)
		if err != nil {
			return nil, "", err
		}
		verdict := recipe.No
		if end.State == artifact.StateDone {
			v, diags := goal.Decide(c.Point, recipe.Results{Result: end.metrics()})
			if diags.HasErrors() || v == recipe.Undecided {
				v = recipe.No
			}
			verdict = v
		}
		if end.State == artifact.StateNotRun || end.State == artifact.StateInterrupted || end.State == artifact.StateSkipped {
			break // nothing can be learned
		}
		if verdict == recipe.Yes {
			low = at
		} else {
			high = at
		}
	}
	found := "no rung meets it"
	if low >= 0 {
		found = fmt.Sprintf("%d is the highest rung that meets it", l.cells[low].Point.Concurrency.Value)
	}
	for i, c := range l.cells {
		if !tried[i] {
			left = append(left, c)
		}
	}
	return left, fmt.Sprintf("search for %s: decided by %d of %d rungs, %s", goal.Text, len(tried), len(l.cells), found), nil
}

// metrics are the cell's figures by name: of several replicas their
// aggregate's, so none where there is no aggregate.
func (e *CellEnd) metrics() map[string]*float64 {
	out := map[string]*float64{}
	for _, name := range artifact.FigureNames() {
		out[name] = e.Figure(name)
	}
	return out
}

// Figure is one of the cell's figures; nil where there is none, and of a cell of
// which there is one replica without the others.
func (e *CellEnd) Figure(name string) *float64 {
	switch {
	case e.Document != nil && e.Document.Lone():
		return nil
	case e.Document != nil:
		v, _ := e.Document.Metric(name)
		return v
	case len(e.Artifacts) == 1:
		return e.Artifacts[0].Figure(name)
	}
	return nil
}

// Baseline is the figures of earlier runs by cell digest.
type Baseline map[string]map[string]*float64

// ReadBaseline reads the results of an earlier run. Of a cell's attempts the
// last one counts.
func ReadBaseline(paths []string) (Baseline, error) {
	docs, err := artifact.Figures(paths, artifact.Keep{})
	if err != nil {
		return nil, err
	}
	runs, _ := artifact.Runs(docs)
	slices.SortStableFunc(runs, func(a, b *artifact.Document) int { return a.Started.Compare(b.Started) })
	out := Baseline{}
	for _, d := range runs {
		if d.Sweep != nil && d.Failed == 0 && !d.Lone() {
			end := CellEnd{Document: d}
			out[d.Sweep.CellDigest] = end.metrics()
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no complete artifact of a sweep in %s", strings.Join(paths, ", "))
	}
	return out, nil
}

// HoldGates holds the last artifact of each of the plan's cells in a folder
// against the recipe's gates.
func HoldGates(plan *Plan, dir string, baseline Baseline) ([]GateResult, error) {
	docs, err := artifact.Figures([]string{dir}, artifact.Keep{})
	if err != nil {
		return nil, err
	}
	runs, _ := artifact.Runs(docs) // the manifest, not a clock that may have been set, says which attempt is the last
	last := map[string]*artifact.Document{}
	for _, d := range runs {
		if d.Sweep != nil {
			last[d.Sweep.CellDigest] = d
		}
	}
	if len(last) == 0 {
		return nil, fmt.Errorf("%s holds no artifact of a sweep", dir)
	}
	var out []GateResult
	for i := range plan.Sweeps {
		s := &course{sweep: &plan.Sweeps[i]}
		for _, l := range ladders(s.sweep.Cells) {
			for _, c := range l.cells {
				d := last[c.Digest]
				if d == nil {
					continue
				}
				end := CellEnd{State: artifact.StateDone, Document: d}
				if diags := s.learn(l, c, end, baseline[c.Digest]); diags.HasErrors() {
					first := diags.List()[0]
					return nil, fmt.Errorf("%s line %d: %s: %s", first.File, first.Line, first.Summary, first.Detail)
				}
			}
		}
		out = append(out, s.gates...)
	}
	return out, nil
}

// FailedGates are those that said no.
func (r Report) FailedGates() []GateResult {
	return slices.Collect(func(yield func(GateResult) bool) {
		for _, g := range r.Gates {
			if g.Verdict == recipe.No && !yield(g) {
				return
			}
		}
	})
}

// UndecidedGates names the gates that could not be decided anywhere or
// somewhere, sorted, with the number of cells.
func (r Report) UndecidedGates() (names []string, cells map[string]int) {
	cells = map[string]int{}
	for _, g := range r.Gates {
		if g.Verdict == recipe.Undecided {
			cells[g.Gate]++
		}
	}
	return slices.Sorted(maps.Keys(cells)), cells
}
