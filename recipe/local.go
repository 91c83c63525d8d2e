package recipe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// locals evaluates every local value, those it names first.
func (l *loader) locals() bool {
	before := l.diags.Errors()
	attrs := map[string]*hcl.Attribute{}
	var names []string
	for _, block := range l.blocks["locals"] {
		found, diags := block.Body.JustAttributes()
		l.diags.add(diags)
		for name, attr := range found {
			if first := attrs[name]; first != nil {
				l.diags.fault(attr.NameRange, "Declared twice", fmt.Sprintf("local.%s is already declared at %s.", name, shortRange(first.NameRange)))
				continue
			}
			attrs[name] = attr
			names = append(names, name)
		}
	}
	slices.Sort(names)
	w := &localWalk{l: l, attrs: attrs, known: l.plainScope(), values: map[string]cty.Value{}, state: map[string]int{}}
	for _, name := range names {
		w.visit(name)
	}
	l.base.Variables["local"] = cty.ObjectVal(w.values)
	return l.diags.Errors() == before
}

// localWalk evaluates locals depth first.
type localWalk struct {
	l      *loader
	attrs  map[string]*hcl.Attribute
	known  scope
	values map[string]cty.Value
	state  map[string]int // 0 not seen, 1 on the path, 2 done
	path   []string
}

func (w *localWalk) visit(name string) {
	switch w.state[name] {
	case 2:
		return
	case 1:
		from := w.path[slices.Index(w.path, name):]
		w.l.diags.fault(w.attrs[name].NameRange, "Locals in a circle",
			fmt.Sprintf("local.%s needs itself: local.%s.", name, strings.Join(append(slices.Clone(from), name), " -> local.")))
		return
	}
	attr := w.attrs[name]
	if attr == nil {
		return // an unknown name; evaluate reports it
	}
	w.state[name] = 1
	w.path = append(w.path, name)
	whole := true
	for _, t := range attr.Expr.Variables() {
		if step, ok := second(t); ok && t.RootName() == "local" {
			w.visit(step)
			_, has := w.values[step]
			whole = whole && (has || w.attrs[step] == nil)
		}
	}
	w.path = w.path[:len(w.path)-1]
	w.state[name] = 2
	if !whole {
		return // what it needs has a fault of its own
	}
	if !w.l.check(attr.Expr, w.known) {
		return
	}
	ctx := w.l.base.NewChild()
	ctx.Variables = map[string]cty.Value{"local": cty.ObjectVal(w.values), "var": w.l.base.Variables["var"]}
	if !w.l.weigh(attr.Expr, ctx) {
		return
	}
	v, diags := attr.Expr.Value(ctx)
	w.l.diags.add(diags)
	if !diags.HasErrors() {
		w.values[name] = v // it may be sensitive; where it is used decides
	}
}

func second(t hcl.Traversal) (string, bool) {
	if len(t) < 2 {
		return "", false
	}
	step, ok := t[1].(hcl.TraverseAttr)
	return step.Name, ok
}
