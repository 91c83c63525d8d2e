package recipe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// checkUses holds that every axis which the sweep's blocks name is one of it,
// and warns of one that nothing names.
func (l *loader) checkUses(f *fields, s *Sweep, content *hcl.BodyContent) {
	own := map[string]bool{}
	for _, axis := range s.Axes {
		for _, name := range strings.Split(axis.Name, "+") {
			if _, known := builtin(name); !known {
				own[name] = true
			}
		}
	}
	names := slices.Sorted(maps.Keys(own))
	used := map[string]bool{}
	use := func(what string, at hcl.Range, uses []hcl.Traversal) {
		for _, t := range uses {
			name, ok := second(t)
			if t.RootName() != "axis" || !ok {
				continue
			}
			used[name] = true
			if !own[name] {
				f.fail(at, "Axis that is not there", "%s names axis.%s, and %s declares no such axis.%s", what, name, f.what, suggestion(name, names, "axis."))
			}
		}
	}
	for _, axis := range s.Axes {
		for _, v := range axis.Values {
			for _, part := range Parts(v) {
				switch b := part.(type) {
				case *Engine:
					if b.percell != nil {
						use(fmt.Sprintf("engine %q", b.Name), f.at, b.percell.uses)
					}
				case *Tier:
					if b.percell != nil {
						use(fmt.Sprintf("tier %q", b.Name), f.at, b.percell.uses)
					}
				case *Output:
					if b.percell != nil {
						use(fmt.Sprintf("output %q", b.Name), f.at, b.percell.uses)
					}
				case *Rung:
					for _, k := range b.exprs {
						use(fmt.Sprintf("concurrency %q", b.Name), k.expr.Range(), k.expr.Variables())
					}
				}
			}
		}
	}
	for _, block := range content.Blocks {
		for _, expr := range expressions(block.Body) {
			use(block.Type, expr.Range(), expr.Variables())
		}
	}
	for _, block := range content.Blocks.OfType("axis") {
		if name := block.Labels[0]; own[name] && !used[name] && !f.bad {
			l.diags.warn(block.DefRange, "Axis that changes nothing", fmt.Sprintf("Nothing names axis.%s, so its values would be the same measurement; name it in the engine's flags, the output or a rule.", name))
		}
	}
}

// warnUnused tells of variables and blocks that nothing names. Only a file with
// a sweep in it is looked at: tiers in a file of their own are shared by many
// recipes.
func (l *loader) warnUnused() {
	used := map[string]bool{}
	own := map[string]bool{} // files with a sweep
	for _, blocks := range l.blocks {
		for _, block := range blocks {
			if block.Type == "sweep" {
				own[block.DefRange.Filename] = true
			}
			for _, expr := range expressions(block.Body) {
				for _, t := range expr.Variables() {
					if name, ok := second(t); ok {
						used[t.RootName()+"."+name] = true
					} else {
						used[t.RootName()] = true // tier, or tier["name"]: any of them
					}
				}
			}
		}
	}
	warn := func(kind, root string) {
		for _, block := range l.blocks[kind] {
			name := block.Labels[0]
			if !own[block.DefRange.Filename] || used[root+"."+name] || used[root] {
				continue
			}
			l.diags.warn(block.DefRange, "Not used", fmt.Sprintf("Nothing names %s.%s.", root, name))
		}
	}
	warn("variable", "var")
	for _, kind := range blockKinds {
		warn(kind, kind)
	}
}

// Warn is a warning about the place.
func (p Place) Warn(summary, detail string) Diagnostics {
	var d Diagnostics
	d.warn(p.at, summary, detail)
	return d
}

// Fault is an error about the place.
func (p Place) Fault(summary, detail string) Diagnostics {
	var d Diagnostics
	d.fault(p.at, summary, detail)
	return d
}

func placeOf(r hcl.Range) Place { return Place{r.Filename, r.Start.Line, r} }
