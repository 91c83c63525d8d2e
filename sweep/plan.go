package sweep

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"anvilsweep/client/prompt"
	"anvilsweep/client/simengine"
	"anvilsweep/recipe"
)

// Plan is a recipe expanded into cells, in the order they are run.
type Plan struct {
	Recipe *recipe.Recipe
	Sweeps []PlannedSweep
}

// PlannedSweep is one sweep's matrix.
type PlannedSweep struct {
	Name         string
	Description  string
	SourceRecipe string
	Axes         []PlannedAxis
	Cells        []Cell
	Excluded     []Excluded
	Notes        []string // what the plan changed or what its reader should know
}

// PlannedAxis is one axis with its values as text.
type PlannedAxis struct {
	Name   string
	Values []string
}

// Cell is one measurement to make: a point of the matrix with its identity.
type Cell struct {
	ID           string // readable, unique in its sweep, safe as a file name
	Digest       string // "sha256:…" of everything that shapes the measurement
	Fingerprint  string // "sha256:…" of the replica configuration
	Sweep        string
	SourceRecipe string
	Point        recipe.Point
	Requests     int
	Seed         int64
	SeedOrigin   string // "recipe", "cell_digest", or "cell_digest_and_start": another in each run
	Fresh        bool   // a connection of its own for every request
	Timeout      recipe.Timeout
}

// Excluded is a point that an exclude rule took out.
type Excluded struct {
	Point  recipe.Point
	Reason string
}

// MaxPlannedTokens bounds one cell: requests times the nominal context. It is
// a bound of the artifact format.
const MaxPlannedTokens = 67_108_864

// NewPlan expands the recipe's sweeps, or only those named. It is
// deterministic: axes vary in source order, the first slowest; concurrency
// varies fastest and ascends, so that one engine serves all rungs of a ladder.
// With repeats the whole matrix is walked once a repeat.
//
// The error names a sweep that does not exist or a matrix over its cap; faults
// of the recipe's own expressions are diagnostics.
func NewPlan(r *recipe.Recipe, names ...string) (*Plan, recipe.Diagnostics, error) {
	var diags recipe.Diagnostics
	sweeps, err := choose(r, names)
	if err != nil {
		return nil, diags, err
	}
	plan := &Plan{Recipe: r}
	for _, s := range sweeps {
		if err := checkCap(s); err != nil {
			return nil, diags, err
		}
	}
	for _, s := range sweeps {
		planned, more := expand(r, s)
		diags = diags.Append(more)
		plan.Sweeps = append(plan.Sweeps, planned)
	}
	if diags.HasErrors() {
		return nil, diags, nil
	}
	for i := range plan.Sweeps {
		if err := plan.Sweeps[i].check(); err != nil {
			return nil, diags, err
		}
	}
	return plan, diags, nil
}

// Cells counts the cells of all sweeps.
func (p *Plan) Cells() int {
	n := 0
	for i := range p.Sweeps {
		n += len(p.Sweeps[i].Cells)
	}
	return n
}

// Totals counts the requests of all cells, without warm-up, and the prompt
// tokens they plan for: nominal tokens, an upper bound of what is sent.
// Cells that sample their context count with its mean.
func (p *Plan) Totals() (requests, promptTokens int64) {
	for i := range p.Sweeps {
		r, t := p.Sweeps[i].Totals()
		requests += r
		promptTokens += t
	}
	return requests, promptTokens
}

// Totals counts one sweep's requests and planned prompt tokens.
func (s *PlannedSweep) Totals() (requests, promptTokens int64) {
	for i := range s.Cells {
		c := &s.Cells[i]
		requests += int64(c.Requests)
		promptTokens += c.PlannedTokens()
	}
	return requests, promptTokens
}

// PlannedTokens is the sum of the cell's planned contexts: nominal tokens after
// the clamp to the model's window, where the recipe declares one.
func (c *Cell) PlannedTokens() int64 {
	var sum int64
	for _, tokens := range c.contexts(c.declaredWindow()) {
		sum += int64(tokens)
	}
	return sum
}

func (c *Cell) declaredWindow() *int {
	if w := c.Point.Model.ContextWindow; w > 0 {
		return &w
	}
	return nil
}

// contexts lists the planned context of each request: the nominal or sampled
// one, cut to what the window leaves for a prompt.
func (c *Cell) contexts(window *int) []int {
	limit, err := prompt.Cap(window, c.Point.Output.MaxTokens)
	if err != nil {
		return make([]int, c.Requests)
	}
	var contexts []int
	if c.Point.Context.Tokens == 0 {
		contexts = prompt.SampleContexts(c.Seed, c.Requests)
	} else {
		contexts = slices.Repeat([]int{c.Point.Context.Tokens}, c.Requests)
	}
	if limit != nil {
		for i, tokens := range contexts {
			contexts[i] = min(tokens, *limit)
		}
	}
	return contexts
}

func choose(r *recipe.Recipe, names []string) ([]*recipe.Sweep, error) {
	if len(names) == 0 {
		return r.Sweeps, nil
	}
	have := make([]string, len(r.Sweeps))
	for i, s := range r.Sweeps {
		have[i] = s.Name
	}
	for _, name := range names {
		if !slices.Contains(have, name) {
			return nil, fmt.Errorf("no sweep %q in the recipe; it declares %s", name, strings.Join(have, ", "))
		}
	}
	var out []*recipe.Sweep
	for _, s := range r.Sweeps {
		if slices.Contains(names, s.Name) {
			out = append(out, s)
		}
	}
	return out, nil
}

// checkCap refuses a matrix before it is built. The product is taken with an
// overflow check: axes come from list arithmetic and can be of any length.
func checkCap(s *recipe.Sweep) error {
	limit := uint64(s.MaxCells)
	size, over := uint64(s.Repeat), false
	parts := []string{}
	for _, axis := range s.Axes {
		hi, lo := bits.Mul64(size, uint64(len(axis.Values)))
		size, over = lo, over || hi != 0
		parts = append(parts, fmt.Sprintf("%s %d", axis.Name, len(axis.Values)))
	}
	if s.Repeat > 1 {
		parts = append(parts, fmt.Sprintf("repeat %d", s.Repeat))
	}
	if !over && size <= limit {
		return nil
	}
	total := fmt.Sprint(size)
	if over {
		total = "more than 18446744073709551615"
	}
	return fmt.Errorf("%s: sweep %q has %s cells (%s), over its cap of %d; shorten an axis or set max_cells",
		s.File, s.Name, total, strings.Join(parts, " × "), limit)
}

func expand(r *recipe.Recipe, s *recipe.Sweep) (PlannedSweep, recipe.Diagnostics) {
	out := PlannedSweep{Name: s.Name, Description: s.Description, SourceRecipe: r.Ref(s)}
	for _, axis := range s.Axes {
		values := make([]string, len(axis.Values))
		for i, v := range axis.Values {
			values[i] = v.String()
		}
		out.Axes = append(out.Axes, PlannedAxis{Name: axis.Name, Values: values})
	}
	var diags recipe.Diagnostics
	order := walkOrder(s.Axes)
	seen := map[string]string{}
	duplicates := 0
	for repeat := 1; repeat <= s.Repeat; repeat++ {
		walk(order, func(point recipe.Point) {
			point.Repeat = repeat
			for _, rule := range s.Excludes {
				hit, more := rule.When(point)
				diags = diags.Append(more)
				if hit {
					out.Excluded = append(out.Excluded, Excluded{Point: point, Reason: rule.Reason})
					return
				}
			}
			requests, more := point.Concurrency.Requests(point)
			diags = diags.Append(more)
			if more.HasErrors() {
				return
			}
			cell := newCell(out.SourceRecipe, s, point, requests)
			if _, twice := seen[cell.Digest]; twice {
				duplicates++
				return
			}
			seen[cell.Digest] = cell.ID
			out.Cells = append(out.Cells, cell)
		})
	}
	if duplicates > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d points are the same measurement as another cell under a different name and are not run twice", duplicates))
	}
	nameCells(out.Cells)
	return out, diags
}

// check holds what needs the whole sweep, and notes what a reader should know.
func (s *PlannedSweep) check() error {
	if len(s.Cells) == 0 {
		return fmt.Errorf("sweep %q has no cells: every point is excluded", s.Name)
	}
	clamped := map[string]bool{}
	for i := range s.Cells {
		c := &s.Cells[i]
		if err := checkProfile(c.Point); err != nil {
			return fmt.Errorf("sweep %q, tier %q: %w", s.Name, c.Point.Tier.Name, err)
		}
		window := c.declaredWindow()
		limit, err := prompt.Cap(window, c.Point.Output.MaxTokens)
		if err != nil {
			return fmt.Errorf("sweep %q, cell %s: %w", s.Name, c.ID, err)
		}
		if limit != nil && c.Point.Context.Tokens > *limit {
			note := fmt.Sprintf("context %d is cut to %d for model %s: its window of %d less max_tokens %d and a margin of %d",
				c.Point.Context.Tokens, *limit, c.Point.Model.Name, *window, c.Point.Output.MaxTokens, prompt.Margin)
			if !clamped[note] {
				clamped[note] = true
				s.Notes = append(s.Notes, note)
			}
		}
		if total := c.PlannedTokens(); total > MaxPlannedTokens {
			return fmt.Errorf("sweep %q, cell %s: %d requests plan %d prompt tokens, over the format's bound of %d a cell; lower requests or context",
				s.Name, c.ID, c.Requests, total, int64(MaxPlannedTokens))
		}
	}
	return nil
}

// checkProfile: the embedded engine needs a profile it has, and nothing else
// has a use for one.
func checkProfile(p recipe.Point) error {
	if embedded(p) {
		_, err := simengine.ProfileByName(p.Tier.Profile)
		return err
	}
	if p.Tier.Profile != "" {
		return fmt.Errorf("profile %q is for the embedded engine, and engine %q is reached at %s", p.Tier.Profile, p.Engine.Name, p.Tier.BaseURL)
	}
	return nil
}

// walkOrder is source order with concurrency moved last and ascending.
func walkOrder(axes []recipe.Axis) []recipe.Axis {
	var order []recipe.Axis
	var last []recipe.Axis
	for _, axis := range axes {
		if axis.Name != "concurrency" {
			order = append(order, axis)
			continue
		}
		values := slices.Clone(axis.Values)
		slices.SortStableFunc(values, func(a, b recipe.Value) int { return rung(a) - rung(b) })
		last = append(last, recipe.Axis{Name: axis.Name, Values: values})
	}
	return append(order, last...)
}

func rung(v recipe.Value) int {
	var p recipe.Point
	v.Place(&p)
	return p.Concurrency.Value
}

// walk visits the cross product, the last axis fastest.
func walk(axes []recipe.Axis, visit func(recipe.Point)) {
	var point recipe.Point
	var step func(depth int)
	step = func(depth int) {
		if depth == len(axes) {
			visit(point)
			return
		}
		for _, v := range axes[depth].Values {
			v.Place(&point)
			step(depth + 1)
		}
	}
	step(0)
}
