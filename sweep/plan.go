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
	After        []string // sweeps of the plan that must have gone well before
	Axes         []PlannedAxis
	Cells        []Cell
	Excluded     []Excluded
	Notes        []string      // what the plan changed or what its reader should know
	Rules        *recipe.Sweep // gates, budget and what becomes of the sweep when a cell fails
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
	Included     string // the reason of the include block that added it; empty: the matrix did
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
// deterministic: sweeps follow those they come after, axes vary in source order
// or the recipe's, the first slowest; concurrency varies fastest and ascends.
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
		for _, name := range s.After {
			if slices.ContainsFunc(sweeps, func(o *recipe.Sweep) bool { return o.Name == name }) {
				planned.After = append(planned.After, name)
			} else {
				planned.Notes = append(planned.Notes, fmt.Sprintf("sweep %q, which comes before, is left out and not waited for", name))
			}
		}
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
		return sequence(r.Sweeps)
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
	return sequence(out)
}

// sequence puts sweeps behind those that they come after, and otherwise leaves
// their order. A sweep that is not chosen is not waited for.
func sequence(sweeps []*recipe.Sweep) ([]*recipe.Sweep, error) {
	byName := map[string]*recipe.Sweep{}
	for _, s := range sweeps {
		byName[s.Name] = s
	}
	var out []*recipe.Sweep
	var path []string
	done := map[string]bool{}
	var visit func(s *recipe.Sweep) error
	visit = func(s *recipe.Sweep) error {
		if done[s.Name] {
			return nil
		}
		if at := slices.Index(path, s.Name); at >= 0 {
			return fmt.Errorf("%s: sweeps that wait for each other: %s", s.File, strings.Join(append(path[at:], s.Name), " after "))
		}
		path = append(path, s.Name)
		for _, name := range s.After {
			if before := byName[name]; before != nil {
				if err := visit(before); err != nil {
					return err
				}
			}
		}
		path = path[:len(path)-1]
		done[s.Name] = true
		out = append(out, s)
		return nil
	}
	for _, s := range sweeps {
		if err := visit(s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// checkCap refuses a matrix before it is built. The product is taken with an
// overflow check: axes come from list arithmetic and can be of any length.
func checkCap(s *recipe.Sweep) error {
	limit := uint64(s.MaxCells)
	size, over := product(s.Repeat, s.Axes)
	for _, in := range s.Includes {
		more, too := product(s.Repeat, in.Axes)
		sum, carry := bits.Add64(size, more, 0)
		size, over = sum, over || too || carry != 0
	}
	parts := []string{}
	for _, axis := range s.Axes {
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

func product(repeat int, axes []recipe.Axis) (size uint64, over bool) {
	size = uint64(repeat)
	for _, axis := range axes {
		hi, lo := bits.Mul64(size, uint64(len(axis.Values)))
		size, over = lo, over || hi != 0
	}
	return size, over
}

func expand(r *recipe.Recipe, s *recipe.Sweep) (PlannedSweep, recipe.Diagnostics) {
	out := PlannedSweep{Name: s.Name, Description: s.Description, SourceRecipe: r.Ref(s), Rules: s}
	for _, axis := range s.Axes {
		values := make([]string, len(axis.Values))
		for i, v := range axis.Values {
			values[i] = v.String()
		}
		out.Axes = append(out.Axes, PlannedAxis{Name: axis.Name, Values: values})
	}
	var diags recipe.Diagnostics
	id := newIdentities(s)
	advised := map[[5]any]bool{} // what was looked at, and whether it cannot be run
	seen := map[string]bool{}
	duplicates := 0
	add := func(point recipe.Point, rules []recipe.Exclude, included string) {
		point, more := point.Resolve()
		if diags = diags.Append(more); more.HasErrors() {
			return
		}
		seeing := point.Seen(r) // for its expressions; a plan keeps the bare point
		for _, rule := range rules {
			hit, more := rule.When(seeing)
			diags = diags.Append(more)
			if hit {
				out.Excluded = append(out.Excluded, Excluded{Point: point, Reason: rule.Reason})
				return
			}
		}
		requests, more := point.Concurrency.Requests(seeing)
		if diags = diags.Append(more); more.HasErrors() {
			return
		}
		about := [5]any{point.Model, point.Engine, point.Context, point.Concurrency, point.Output}
		bad, known := advised[about]
		if !known {
			more := advise(point)
			bad = more.HasErrors()
			diags, advised[about] = diags.Append(more), bad
		}
		if bad {
			return
		}
		cell := id.newCell(out.SourceRecipe, point, requests)
		cell.Included = included
		if seen[cell.Digest] {
			duplicates++
			return
		}
		seen[cell.Digest] = true
		out.Cells = append(out.Cells, cell)
	}
	walk(walkOrder(s.Axes, s.Order, s.Repeat), func(p recipe.Point) { add(p, s.Excludes, "") })
	// What an include names is in, whatever the exclude rules say.
	for _, in := range s.Includes {
		walk(walkOrder(in.Axes, s.Order, s.Repeat), func(p recipe.Point) { add(p, nil, in.Reason) })
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
		if e := c.Point.Engine; e.Launch != nil {
			note := fmt.Sprintf("engine %s declares how it is launched; launching is not done yet, so it must be up already", e.Name)
			if !clamped[note] {
				clamped[note] = true
				s.Notes = append(s.Notes, note)
			}
		}
		if err := checkProfile(c.Point); err != nil {
			return fmt.Errorf("sweep %q, tier %q: %w", s.Name, c.Point.Tier.Name, err)
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
	switch {
	case embedded(p) && p.Tier.Profile == "":
		return fmt.Errorf("the embedded engine %q needs a profile such as \"small\", or a base_url", p.Engine.Name)
	case embedded(p):
		_, err := simengine.ProfileByName(p.Tier.Profile)
		return err
	case p.Tier.BaseURL == "":
		return fmt.Errorf("no base_url, which engine %q needs", p.Engine.Name)
	}
	if p.Tier.Profile != "" {
		return fmt.Errorf("profile %q is for the embedded engine, and engine %q is reached at %s", p.Tier.Profile, p.Engine.Name, p.Tier.BaseURL)
	}
	return nil
}

// walkOrder is the axes from the slowest to the fastest: the repeats, then
// source order, unless the recipe orders them otherwise; concurrency last and
// ascending, so that one engine serves a whole ladder.
func walkOrder(axes []recipe.Axis, order []string, repeat int) []recipe.Axis {
	repeats := recipe.Axis{Name: "repeat"}
	for i := range repeat {
		repeats.Values = append(repeats.Values, repeated(i+1))
	}
	all := append([]recipe.Axis{repeats}, axes...)
	rank := func(a recipe.Axis) int {
		if a.Name == "concurrency" {
			return len(order) + len(all)
		}
		for i, name := range order {
			if slices.Contains(strings.Split(a.Name, "+"), name) {
				return i
			}
		}
		if a.Name == "repeat" && len(order) > 0 {
			return -1 // where order does not name it, repeats are the slowest still
		}
		return len(order)
	}
	slices.SortStableFunc(all, func(a, b recipe.Axis) int { return rank(a) - rank(b) })
	last := &all[len(all)-1]
	if last.Name == "concurrency" {
		last.Values = slices.Clone(last.Values)
		slices.SortStableFunc(last.Values, func(a, b recipe.Value) int { return rung(a) - rung(b) })
	}
	return all
}

// repeated is the number of a repeat as a value of an axis.
type repeated int

// Place is part of recipe.Value.
func (r repeated) Place(p *recipe.Point) { p.Repeat = int(r) }

func (r repeated) String() string { return fmt.Sprint(int(r)) }

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
