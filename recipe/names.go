package recipe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
)

// scope is the names an expression may use: roots, and under each the names
// that are known. A nil list means that any name may follow.
type scope map[string][]string

// blockKinds are the roots that stand for blocks.
var blockKinds = []string{"model", "engine", "tier", "context", "concurrency", "output"}

// keptRoots are known only where a cell or a result exists.
var keptRoots = []string{"cell", "axis"}

// plainScope is what every expression may name.
func (l *loader) plainScope() scope {
	s := scope{"var": {}, "local": {}}
	for _, v := range l.recipe.Variables {
		s["var"] = append(s["var"], v.Name)
	}
	for _, block := range l.blocks["locals"] {
		attrs, _ := block.Body.JustAttributes() // its diagnostics come from locals
		for name := range attrs {
			s["local"] = append(s["local"], name)
		}
	}
	slices.Sort(s["local"])
	if l.here != nil { // names were checked when the block was kept for later
		s["cell"], s["axis"] = nil, nil
	}
	return s
}

// sweepScope is what a sweep's attributes may name: blocks too.
func (l *loader) sweepScope() scope {
	s := l.plainScope()
	for _, kind := range blockKinds {
		s[kind] = l.blockNames(kind)
	}
	s["sweep"] = l.blockNames("sweep")
	return s
}

// cellScope is what a kept expression may name.
func (l *loader) cellScope() scope {
	s := l.plainScope()
	s["cell"], s["axis"] = cellAttributes, nil
	return s
}

// check reports names in an expression that are not known there. hcl would
// find most of them too, but without suggestions below the first step.
func (l *loader) check(expr hcl.Expression, known scope) bool {
	ok := true
	for _, traversal := range expr.Variables() {
		ok = l.checkTraversal(traversal, known) && ok
	}
	return ok
}

func (l *loader) checkTraversal(t hcl.Traversal, known scope) bool {
	root, at := t.RootName(), t.SourceRange()
	names, ok := known[root]
	if !ok {
		l.diags.fault(at, "Unknown name", unknownRoot(root, known))
		return false
	}
	if len(t) < 2 {
		if root != "cell" {
			return true
		}
		l.diags.fault(at, "Not a value", "cell is the whole cell; name one of its parts: "+list("cell.", names)+".")
		return false
	}
	step, isName := t[1].(hcl.TraverseAttr)
	if !isName || names == nil || slices.Contains(names, step.Name) {
		if isName && root == "cell" {
			return l.checkCell(t, step.Name, at)
		}
		return true
	}
	l.diags.fault(at, "Unknown name", fmt.Sprintf("There is no %s.%s.%s", root, step.Name, suggestion(step.Name, names, root+".")))
	return false
}

// checkCell holds the part of a cell that is a block: cell.tier.gpu.
func (l *loader) checkCell(t hcl.Traversal, part string, at hcl.Range) bool {
	inner, isBlock := cellParts[part]
	if !isBlock || len(t) < 3 {
		return true
	}
	step, ok := t[2].(hcl.TraverseAttr)
	if !ok || slices.Contains(inner, step.Name) {
		return true
	}
	l.diags.fault(at, "Unknown name", fmt.Sprintf("A cell's %s has no %s.%s", part, step.Name, suggestion(step.Name, inner, "cell."+part+".")))
	return false
}

// names reports whether an expression names any of the blocks, written
// "tier.h200".
func (l *loader) names(expr hcl.Expression, blocks map[string]bool) bool {
	return slices.ContainsFunc(expr.Variables(), func(t hcl.Traversal) bool {
		if len(t) < 2 {
			return false
		}
		step, ok := t[1].(hcl.TraverseAttr)
		return ok && blocks[t.RootName()+"."+step.Name]
	})
}

func unknownRoot(root string, known scope) string {
	switch {
	case root == "result" || root == "previous" || root == "baseline":
		return root + " is known only in rules over results: stop, search and gate."
	case slices.Contains(keptRoots, root):
		return root + " is known only where a cell exists: in engine, tier and output blocks, in concurrency.requests, and in the rules of a sweep."
	case known["cell"] != nil && known["var"] == nil && (root == "var" || root == "local" || slices.Contains(blockKinds, root)):
		return "There is no recipe here that could declare " + root + "; use cell and axis."
	case slices.Contains(blockKinds, root):
		return root + " blocks can be named in a sweep only; use var and local here."
	}
	roots := make([]string, 0, len(known))
	for name := range known {
		roots = append(roots, name)
	}
	slices.Sort(roots)
	text := fmt.Sprintf("There is no variable named %q.", root)
	if near := nearest(root, roots); near != "" {
		return text + fmt.Sprintf(" Did you mean %q?", near)
	}
	return text + " A text needs quotes; the names known here begin with " + list("", roots) + "."
}

func suggestion(name string, names []string, prefix string) string {
	if near := nearest(name, names); near != "" {
		return fmt.Sprintf(" Did you mean %q?", prefix+near)
	}
	if len(names) == 0 {
		return " None is declared."
	}
	return " There are " + list(prefix, names) + "."
}

func list(prefix string, names []string) string {
	const shown = 12
	out := make([]string, 0, shown)
	for i, name := range names {
		if i == shown {
			out = append(out, "…")
			break
		}
		out = append(out, prefix+name)
	}
	return strings.Join(out, ", ")
}

// nearest is the name that differs least, if it is near enough to be meant.
func nearest(name string, names []string) string {
	best, found := 3, ""
	for _, candidate := range names {
		if d := levenshtein.Distance(name, candidate, nil); d < best {
			best, found = d, candidate
		}
	}
	if found == "" {
		for _, candidate := range names {
			if len(name) > 3 && strings.Contains(candidate, name) {
				return candidate
			}
		}
	}
	return found
}
