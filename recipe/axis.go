package recipe

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

var axisSchema = schemaOf("values")

// Place puts an own axis' value into a point, in a list of its own: points are
// copied as they are walked.
func (n *Named) Place(p *Point) {
	extra := make([]*Named, 0, len(p.Extra)+1)
	found := false
	for _, e := range p.Extra {
		if e.Axis == n.Axis {
			e, found = n, true
		}
		extra = append(extra, e)
	}
	if !found {
		extra = append(extra, n)
	}
	p.Extra = extra
}

func (n *Named) String() string { return n.Text }

// Place puts every part of a pair into a point.
func (v *Pair) Place(p *Point) {
	for _, part := range v.Parts {
		part.Place(p)
	}
}

func (v *Pair) String() string {
	texts := make([]string, len(v.Parts))
	for i, part := range v.Parts {
		texts[i] = part.String()
	}
	return strings.Join(texts, "+")
}

// Parts are the values that a value places: itself, or those of a pair.
func Parts(v Value) []Value {
	if pair, ok := v.(*Pair); ok {
		return pair.Parts
	}
	return []Value{v}
}

// builtin are the axes that every sweep has.
func builtin(name string) (hint string, ok bool) {
	for _, need := range axisNeeds {
		if need.name == name {
			return need.hint, true
		}
	}
	return "", false
}

// axes decodes all of a sweep's axes, in source order.
func (l *loader) axes(f *fields, content *hcl.BodyContent) []Axis {
	type placed struct {
		Axis
		at int
	}
	var all []placed
	given := map[string]hcl.Range{}
	claim := func(name string, at hcl.Range) bool {
		if first, twice := given[name]; twice {
			f.fail(at, "Axis given twice", "%s is already an axis at %s.", name, shortRange(first))
			return false
		}
		given[name] = at
		return true
	}
	for _, need := range axisNeeds {
		attr := content.Attributes[need.name]
		if attr == nil {
			continue
		}
		claim(need.name, attr.NameRange)
		if g, ok := f.known[need.name]; ok {
			all = append(all, placed{Axis{Name: need.name, Values: l.axis(f, need.name, need.hint, g)}, attr.NameRange.Start.Byte})
		} else if !f.bad {
			f.fail(attr.Expr.Range(), "Null axis", "%s is null; it needs a value.", need.name)
		}
	}
	for _, block := range content.Blocks.OfType("axis") {
		if axis, ok := l.ownAxis(f, block); ok && claim(axis.Name, block.DefRange) {
			all = append(all, placed{axis, block.DefRange.Start.Byte})
		}
	}
	for _, block := range content.Blocks.OfType("pair") {
		if axis, ok := l.pair(f, block, claim); ok {
			all = append(all, placed{axis, block.DefRange.Start.Byte})
		}
	}
	for _, need := range axisNeeds {
		if _, ok := given[need.name]; !ok {
			f.fail(f.at, "Missing attribute", "%s needs %s: %s.", f.what, need.name, need.hint)
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return a.at - b.at })
	out := make([]Axis, len(all))
	for i, a := range all {
		out[i] = a.Axis
	}
	return out
}

// ownAxis decodes an axis block.
func (l *loader) ownAxis(f *fields, block *hcl.Block) (Axis, bool) {
	name := block.Labels[0]
	inner, _ := l.body(block, l.sweepScope(), l.sweepContext(), axisSchema)
	values, ok := inner.require("values", "a list of numbers, texts or yes and no")
	_, reserved := builtin(name)
	switch {
	case inner.bad || !ok:
		f.bad = true
		return Axis{}, false
	case reserved || name == "repeat" || name == "cache":
		f.fail(block.LabelRanges[0], "Reserved name", "%s is what every cell has; choose another name for the axis.", name)
		return Axis{}, false
	case !hclsyntax.ValidIdentifier(name):
		f.fail(block.LabelRanges[0], "Name that cannot be referred to", "%q is not an identifier, so axis.%s would not work.", name, name)
		return Axis{}, false
	}
	return Axis{Name: name, Values: l.named(f, name, values)}, true
}

// named are the values of an own axis; one that stands twice is dropped with a
// warning.
func (l *loader) named(f *fields, name string, g given) []Value {
	var out []Value
	seen := map[string]bool{}
	for _, element := range f.elements(name, g) {
		n, ok := f.ownValue(name, element)
		if !ok {
			continue
		}
		if seen[n.Text] {
			l.diags.warn(element.at, "Value given twice", fmt.Sprintf("axis %q has %s more than once; it is one cell. To measure a cell several times, use repeat.", name, n.Text))
			continue
		}
		seen[n.Text] = true
		out = append(out, n)
	}
	return out
}

func (f *fields) ownValue(name string, g given) (*Named, bool) {
	if t := g.value.Type(); !t.IsPrimitiveType() {
		f.fail(g.at, "Wrong value for an axis", "Values of axis %q are numbers, texts or yes and no, not %s.", name, described(g.value))
		return nil, false
	}
	v, err := plain(g.value)
	if err != nil {
		f.fail(g.at, "Wrong value for an axis", "axis %q: %s.", name, err)
		return nil, false
	}
	text := strings.TrimSpace(string(hclwrite.TokensForValue(g.value).Bytes()))
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	return &Named{At: placeOf(g.at), Axis: name, Text: text, Plain: v, value: g.value}, true
}

// pair decodes axes that move together: the first value of each, then the
// second of each.
func (l *loader) pair(f *fields, block *hcl.Block, claim func(string, hcl.Range) bool) (Axis, bool) {
	columns, names, ok := l.columns(f, block)
	if !ok {
		return Axis{}, false
	}
	if len(names) < 2 {
		f.fail(block.DefRange, "A pair of one", "A pair needs two axes or more that move together.")
		return Axis{}, false
	}
	for _, name := range names {
		if !claim(name, block.DefRange) {
			return Axis{}, false
		}
		if len(columns[name]) != len(columns[names[0]]) {
			f.fail(block.DefRange, "Lists of different lengths", "%s has %d values and %s has %d; the axes of a pair move together, so they have as many.", names[0], len(columns[names[0]]), name, len(columns[name]))
			return Axis{}, false
		}
	}
	axis := Axis{Name: strings.Join(names, "+")}
	for i := range columns[names[0]] {
		p := &Pair{}
		for _, name := range names {
			p.Parts = append(p.Parts, columns[name][i])
		}
		axis.Values = append(axis.Values, p)
	}
	return axis, true
}

// columns decodes a body of axes, names in source order. A repeated value
// stays: it goes with another one beside it.
func (l *loader) columns(f *fields, block *hcl.Block) (map[string][]Value, []string, bool) {
	attrs, diags := block.Body.JustAttributes()
	l.diags.add(diags)
	names := slices.SortedFunc(maps.Keys(attrs), func(a, b string) int {
		return attrs[a].NameRange.Start.Byte - attrs[b].NameRange.Start.Byte
	})
	out := map[string][]Value{}
	ok := !diags.HasErrors()
	for _, name := range names {
		v, fine := l.evaluate(attrs[name].Expr, l.sweepScope(), l.sweepContext())
		if !fine || v.IsNull() {
			ok = false
			if fine {
				f.fail(attrs[name].Expr.Range(), "Null axis", "%s is null; it needs a value.", name)
			}
			continue
		}
		hint, known := builtin(name)
		for _, element := range f.elements(name, given{v, attrs[name].Expr.Range()}) {
			if known {
				out[name] = append(out[name], l.axisValues(f, name, hint, element)...)
			} else if n, fine := f.ownValue(name, element); fine {
				out[name] = append(out[name], n)
			}
		}
		ok = ok && len(out[name]) > 0
	}
	f.bad = f.bad || !ok
	return out, names, ok
}

// includes decodes the points that are added to the matrix: what a block leaves
// out is as in the sweep.
func (l *loader) includes(f *fields, content *hcl.BodyContent, axes []Axis) []Include {
	var out []Include
	var known []string
	for _, axis := range axes {
		known = append(known, strings.Split(axis.Name, "+")...)
	}
	for _, block := range content.Blocks.OfType("include") {
		columns, names, ok := l.columns(f, block)
		for _, name := range names {
			if !slices.Contains(known, name) {
				f.fail(block.DefRange, "Unknown axis", "The sweep has no axis %q.%s", name, suggestion(name, known, ""))
				ok = false
			}
		}
		if len(names) == 0 {
			f.fail(block.DefRange, "Nothing to include", "An include block names the axes in which its points differ from the matrix.")
			ok = false
		}
		if !ok {
			continue
		}
		in := Include{At: placeOf(block.DefRange), Reason: block.Labels[0]}
		for _, axis := range axes {
			parts := strings.Split(axis.Name, "+")
			if !slices.ContainsFunc(parts, func(part string) bool { return columns[part] != nil }) {
				in.Axes = append(in.Axes, axis)
				continue
			}
			for _, part := range parts {
				values := columns[part]
				if values == nil {
					values = partValues(axis, part)
				}
				in.Axes = append(in.Axes, Axis{Name: part, Values: values})
			}
		}
		out = append(out, in)
	}
	return out
}

// partValues are the values of one axis of a pair, each once.
func partValues(axis Axis, name string) []Value {
	var out []Value
	at := slices.Index(strings.Split(axis.Name, "+"), name)
	for _, v := range axis.Values {
		if part := Parts(v)[at]; !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

// order is the order in which axes vary, the slowest first.
func (l *loader) order(f *fields, axes []Axis) []string {
	g, ok := f.known["order"]
	if !ok {
		return nil
	}
	known := []string{"repeat"}
	for _, axis := range axes {
		known = append(known, strings.Split(axis.Name, "+")...)
	}
	var out []string
	for _, element := range f.elements("order", g) {
		switch name := ""; {
		case element.value.Type() != cty.String:
			f.fail(element.at, "Wrong type", "order is a list of names of axes, not of %s.", described(element.value))
		default:
			name = element.value.AsString()
			switch {
			case name == "concurrency":
				f.fail(element.at, "Concurrency is last", "A ladder is always climbed within a cell's other values; leave concurrency out of order.")
			case !slices.Contains(known, name):
				f.fail(element.at, "Unknown axis", "The sweep has no axis %q.%s", name, suggestion(name, known, ""))
			case slices.Contains(out, name):
				f.fail(element.at, "Axis given twice", "order has %q twice.", name)
			}
			out = append(out, name)
		}
	}
	return out
}

// after are the sweeps that this one waits for.
func (l *loader) after(f *fields, self string) []string {
	g, ok := f.known["after"]
	if !ok {
		return nil
	}
	var out []string
	for _, element := range f.elements("after", g) {
		kind, name, ok := reference(element.value)
		switch {
		case !ok || kind != "sweep":
			f.fail(element.at, "Wrong value", "after is a list of sweeps, such as sweep.scout, not %s.", described(element.value))
		case name == self:
			f.fail(element.at, "After itself", "sweep %q cannot come after itself.", self)
		default:
			out = append(out, name)
		}
	}
	return out
}
