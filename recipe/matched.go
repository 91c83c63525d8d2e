package recipe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Matched is a pair of values of one axis that differ in the declared factors
// alone: a control and a candidate.
type Matched struct {
	At                 Place
	Name               string
	Axis               string
	Control, Candidate string   // values of the axis, as plans show them
	Factors            []string // such as "engine.flags.speculative_tokens"
}

var (
	matchedSchema = schemaOf("axis control candidate factor")
	factorRoots   = []string{"engine", "load", "model", "sampling", "tier", "workload"}
)

func (l *loader) matched(f *fields, content *hcl.BodyContent, axes []Axis) []Matched {
	var out []Matched
	for _, block := range content.Blocks.OfType("matched") {
		inner, _ := l.body(block, l.sweepScope(), l.sweepContext(), matchedSchema)
		m := Matched{At: placeOf(block.DefRange), Name: block.Labels[0]}
		need := func(name, hint string) string {
			g, ok := inner.require(name, hint)
			if !ok {
				return ""
			}
			return textOf(g.value)
		}
		m.Axis = need("axis", "the name of the axis that the pair is on")
		m.Control = need("control", "a value of the axis")
		m.Candidate = need("candidate", "a value of the axis")
		if g, ok := inner.require("factor", "what the two differ in, such as \"engine.flags.speculative_tokens\""); ok {
			for _, v := range inner.elements("factor", g) {
				path := textOf(v.value)
				if root, _, _ := strings.Cut(path, "."); !slices.Contains(factorRoots, root) {
					inner.fail(v.at, "Wrong factor", "A factor is a path into a cell's identity that begins with one of %s, such as \"engine.flags.speculative_tokens\".", list("", factorRoots))
					break
				}
				m.Factors = append(m.Factors, path)
			}
		}
		if !inner.bad && !f.bad {
			inner.onAxis(m, axes)
		}
		f.bad = f.bad || inner.bad
		out = append(out, m)
	}
	return out
}

// onAxis holds that both values are on the axis.
func (f *fields) onAxis(m Matched, axes []Axis) {
	var names []string
	for _, axis := range axes {
		for i, name := range strings.Split(axis.Name, "+") {
			names = append(names, name)
			if name != m.Axis {
				continue
			}
			var values []string
			for _, v := range axis.Values {
				values = append(values, Parts(v)[i].String())
			}
			for attribute, value := range map[string]string{"control": m.Control, "candidate": m.Candidate} {
				if !slices.Contains(values, value) {
					f.fail(f.known[attribute].at, "Not on the axis", "%s has no %q.%s", m.Axis, value, suggestion(value, values, ""))
				}
			}
			if m.Control == m.Candidate {
				f.fail(f.known["candidate"].at, "A pair of one", "control and candidate are both %q.", m.Control)
			}
			return
		}
	}
	f.fail(f.known["axis"].at, "No such axis", "The sweep has no axis %q.%s", m.Axis, suggestion(m.Axis, names, ""))
}

// Pair is the pair for people.
func (m Matched) Pair() string {
	return fmt.Sprintf("%s %s against %s", m.Axis, m.Candidate, m.Control)
}
