package recipe

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
)

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
