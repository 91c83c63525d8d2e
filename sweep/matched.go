package sweep

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"anvilsweep/recipe"
)

// checkMatched holds that the cells of each matched pair differ in the declared
// factors alone, so that a difference between their figures is the factor's.
func (s *PlannedSweep) checkMatched() recipe.Diagnostics {
	var diags recipe.Diagnostics
	for _, m := range s.Rules.Matched {
		for _, why := range s.mismatches(m) {
			diags = diags.Append(m.At.Fault("Not a matched pair", fmt.Sprintf("matched %q, %s: %s", m.Name, m.Pair(), why)))
		}
	}
	return diags
}

// mismatches is what keeps a pair from being one, each kind once.
func (s *PlannedSweep) mismatches(m recipe.Matched) []string {
	sides := map[string]map[string]*Cell{m.Control: {}, m.Candidate: {}} // by value of the axis, then by all others
	var order []string
	for i := range s.Cells {
		c := &s.Cells[i]
		axes := Axes(c.Point)
		side := sides[axes[m.Axis]]
		if side == nil {
			continue
		}
		delete(axes, m.Axis)
		key := fmt.Sprint(axes, c.Point.Repeat, c.Point.Context.Cache, c.Point.Context.Sizing)
		if side[key] == nil && sides[m.Control][key] == nil && sides[m.Candidate][key] == nil {
			order = append(order, key)
		}
		side[key] = c
	}
	var out []string
	say := func(why string) {
		if !slices.Contains(out, why) {
			out = append(out, why)
		}
	}
	for _, key := range order {
		control, candidate := sides[m.Control][key], sides[m.Candidate][key]
		switch {
		case control == nil:
			say(fmt.Sprintf("cell %s has no control", candidate.ID))
		case candidate == nil:
			say(fmt.Sprintf("cell %s has no candidate", control.ID))
		default:
			for _, d := range differences(s.identity(control), s.identity(candidate), "") {
				if !slices.ContainsFunc(m.Factors, func(f string) bool { return d.path == f || strings.HasPrefix(d.path, f+".") }) {
					say(fmt.Sprintf("they differ in %s too: %s and %s", d.path, d.a, d.b))
				}
			}
		}
	}
	return out
}

// identity is what shapes a cell's figures, its address left out: two servers
// run at two addresses.
func (s *PlannedSweep) identity(c *Cell) map[string]any {
	out := measurement(s.Rules, c.Point, c.Requests, c.Arrivals)
	delete(out, "endpoint")
	return out
}

type difference struct{ path, a, b string }

// differences compares two trees of plain values, sorted by path.
func differences(a, b any, path string) []difference {
	ma, oka := a.(map[string]any)
	mb, okb := b.(map[string]any)
	if !oka || !okb {
		if ja, jb := canonical(a), canonical(b); !bytes.Equal(ja, jb) {
			return []difference{{path, string(ja), string(jb)}}
		}
		return nil
	}
	names := maps.Clone(ma)
	maps.Copy(names, mb)
	var out []difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		va, ina := ma[name]
		vb, inb := mb[name]
		at := strings.TrimPrefix(path+"."+name, ".")
		switch {
		case !ina:
			out = append(out, difference{at, "nothing", string(canonical(vb))})
		case !inb:
			out = append(out, difference{at, string(canonical(va)), "nothing"})
		default:
			out = append(out, differences(va, vb, at)...)
		}
	}
	return out
}
