package sweep

import (
	"fmt"
	"slices"
	"strings"

	"anvilsweep/client/prompt"
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
	Arrivals     recipe.Arrivals // the zero value: a closed loop
	Seed         int64
	SeedOrigin   string // "recipe", "cell_digest", or "cell_digest_and_start": another in each run
	Fresh        bool   // a connection of its own for every request
	Included     string // the reason of the include block that added it; empty: the matrix did
	Timeout      recipe.Timeout
	Budget       recipe.Budget // of the cell alone
	Abort        recipe.Abort
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
		if !more.HasErrors() {
			diags = diags.Append(planned.checkMatched())
		}
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
		requests += int64(c.Sent())
		promptTokens += c.PlannedTokens() * int64(Replicas(c.Point))
	}
	return requests, promptTokens
}

// Sent is how many requests the cell sends, to all its replicas together and
// without warm-up.
func (c *Cell) Sent() int { return c.Requests * Replicas(c.Point) }

// PlannedTokens is the sum of the cell's planned contexts, on one replica: nominal tokens after
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
