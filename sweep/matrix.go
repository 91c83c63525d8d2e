package sweep

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"anvilsweep/client/simengine"
	"anvilsweep/recipe"
)

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
		arrivals, more := point.Concurrency.Arrivals(seeing)
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
		cell := id.newCell(out.SourceRecipe, point, requests, arrivals)
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
	for i := range s.Cells {
		c := &s.Cells[i]
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
	case len(p.Tier.Replicas) > 0 && p.Engine.Own.BaseURL != "":
		return fmt.Errorf("engine %q has a base_url of its own, and the tier's replicas are of another server", p.Engine.Name)
	case len(p.Tier.Replicas) > 0 && p.Engine.Launch != nil:
		return fmt.Errorf("engine %q is launched, which starts one server, and the tier has replicas; start them yourself and take launch out", p.Engine.Name)
	case len(p.Tier.Replicas) > 0 && p.Tier.UnixSocket != "":
		return fmt.Errorf("replicas are reached by their addresses, and unix_socket is one for all of them")
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
