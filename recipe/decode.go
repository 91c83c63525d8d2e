package recipe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// fields reads the attributes of one block, or of one inline object, each with
// its type, its range and its place.
type fields struct {
	l     *loader
	what  string // "tier \"h200\"", for messages
	at    hcl.Range
	known map[string]given
	bad   bool
}

// given is one attribute's value and where it stands.
type given struct {
	value cty.Value
	at    hcl.Range
}

// attributes evaluates every attribute of a content in a scope. Null means not
// given.
func (l *loader) attributes(what string, at hcl.Range, content *hcl.BodyContent, known scope, ctx *hcl.EvalContext, kept ...string) *fields {
	f := &fields{l: l, what: what, at: at, known: map[string]given{}}
	for name, attr := range content.Attributes {
		if slices.Contains(kept, name) {
			continue
		}
		v, ok := l.evaluate(attr.Expr, known, ctx)
		if !ok {
			f.bad = true
			continue
		}
		if !v.IsNull() {
			f.known[name] = given{v, attr.Expr.Range()}
		}
	}
	return f
}

// evaluate is an expression's value, with its faults reported.
func (l *loader) evaluate(expr hcl.Expression, known scope, ctx *hcl.EvalContext) (cty.Value, bool) {
	if !l.check(expr, known) || l.names(expr, l.broken) || !l.weigh(expr, ctx) {
		return cty.NilVal, false
	}
	v, diags := expr.Value(ctx)
	l.diags.add(diags)
	if diags.HasErrors() {
		return cty.NilVal, false
	}
	if v.ContainsMarked() {
		l.diags.fault(expr.Range(), "Sensitive value", "A sensitive value here would be written into plans and artifacts. Keys are named by api_key_env, never written.")
		return cty.NilVal, false
	}
	if !v.IsWhollyKnown() {
		l.diags.fault(expr.Range(), "Value not known", "The expression has no value before the run.")
		return cty.NilVal, false
	}
	return v, true
}

func (f *fields) fail(at hcl.Range, summary, format string, args ...any) {
	f.bad = true
	f.l.diags.fault(at, summary, fmt.Sprintf(format, args...))
}

// require reports an attribute that must be there.
func (f *fields) require(name, hint string) (given, bool) {
	g, ok := f.known[name]
	if !ok && !f.bad {
		f.fail(f.at, "Missing attribute", "%s needs %s: %s.", f.what, name, hint)
	}
	return g, ok
}

func (f *fields) as(name string, want cty.Type) (cty.Value, hcl.Range, bool) {
	g, ok := f.known[name]
	if !ok {
		return cty.NilVal, hcl.Range{}, false
	}
	v, err := convert.Convert(g.value, want)
	if err != nil {
		f.fail(g.at, "Wrong type", "%s must be a %s, not %s.", name, want.FriendlyName(), described(g.value))
		return cty.NilVal, hcl.Range{}, false
	}
	return v, g.at, true
}

// described names a value's type the way people say it.
func described(v cty.Value) string {
	name := v.Type().FriendlyName()
	if v.Type().IsObjectType() && v.Type().HasAttribute(refAttribute) {
		name = v.GetAttr(refAttribute).AsString()
	}
	return name
}

func (f *fields) text(name string) string {
	v, _, ok := f.as(name, cty.String)
	if !ok {
		return ""
	}
	return v.AsString()
}

// textOf is a value as people write it: a block by its name, a number by its
// digits.
func textOf(v cty.Value) string {
	if _, label, ok := reference(v); ok {
		return label
	}
	text, err := convert.Convert(v, cty.String)
	if err != nil || text.IsNull() {
		return ""
	}
	return text.AsString()
}

// oneOf is a text from a list; the first is the default.
func (f *fields) oneOf(name string, allowed ...string) string {
	v, at, ok := f.as(name, cty.String)
	if !ok {
		return allowed[0]
	}
	text := v.AsString()
	if !slices.Contains(allowed, text) {
		f.fail(at, "Unknown value", "%s cannot be %q.%s", name, text, suggestion(text, allowed, ""))
	}
	return text
}

func (f *fields) flag(name string, missing bool) bool {
	v, _, ok := f.as(name, cty.Bool)
	if !ok {
		return missing
	}
	return v.True()
}

// whole is a whole number within bounds.
func (f *fields) whole(name string, low, high, missing int) int {
	v, at, ok := f.as(name, cty.Number)
	if !ok {
		return missing
	}
	n, err := wholeNumber(v)
	if err != nil {
		f.fail(at, "Wrong number", "%s: %s.", name, err)
		return missing
	}
	if n < low || n > high {
		f.fail(at, "Number out of range", "%s is %d; it must be from %d to %d.", name, n, low, high)
	}
	return n
}

func (f *fields) wholePointer(name string, low, high int) *int {
	if _, ok := f.known[name]; !ok {
		return nil
	}
	n := f.whole(name, low, high, low)
	return &n
}

// size is a whole number that may be written as "8k" or "128Ki".
func (f *fields) size(name string, low, high, missing int) int {
	g, ok := f.known[name]
	if !ok {
		return missing
	}
	n, err := sizeOf(g.value)
	if err != nil {
		f.fail(g.at, "Wrong size", "%s: %s.", name, err)
		return missing
	}
	if n < low || n > high {
		f.fail(g.at, "Size out of range", "%s is %d; it must be from %d to %d.", name, n, low, high)
	}
	return n
}

func sizeOf(v cty.Value) (int, error) {
	switch v.Type() {
	case cty.String:
		return parseSize(v.AsString())
	case cty.Number:
		return wholeNumber(v)
	}
	return 0, fmt.Errorf("a size is a number or a text such as \"8k\", not %s", described(v))
}

// decimal is a finite number within bounds.
func (f *fields) decimal(name string, low, high float64) *float64 {
	v, at, ok := f.as(name, cty.Number)
	if !ok {
		return nil
	}
	n, _ := v.AsBigFloat().Float64()
	if v.AsBigFloat().IsInf() || n < low || n > high {
		f.fail(at, "Number out of range", "%s must be from %g to %g.", name, low, high)
		return nil
	}
	return &n
}

func (f *fields) duration(name string, missing time.Duration) time.Duration {
	v, at, ok := f.as(name, cty.String)
	if !ok {
		return missing
	}
	d, err := parseDuration(v.AsString())
	if err != nil {
		f.fail(at, "Wrong duration", "%s: %s.", name, err)
	}
	return d
}

func (f *fields) texts(name string) map[string]string {
	v, _, ok := f.as(name, cty.Map(cty.String))
	if !ok {
		return nil
	}
	out := map[string]string{}
	for it := v.ElementIterator(); it.Next(); {
		key, element := it.Element()
		if !element.IsNull() {
			out[key.AsString()] = element.AsString()
		}
	}
	return out
}

// object is an attribute's plain values.
func (f *fields) object(name string) map[string]any {
	g, ok := f.known[name]
	if !ok {
		return nil
	}
	if t := g.value.Type(); !t.IsObjectType() && !t.IsMapType() {
		f.fail(g.at, "Wrong type", "%s must be an object, not %s.", name, described(g.value))
		return nil
	}
	v, err := plain(g.value)
	if err != nil {
		f.fail(g.at, "Wrong value", "%s: %s.", name, err)
		return nil
	}
	return v.(map[string]any)
}

// body decodes a block's body against a schema and evaluates its attributes.
func (l *loader) body(block *hcl.Block, known scope, ctx *hcl.EvalContext, schema *hcl.BodySchema, kept ...string) (*fields, *hcl.BodyContent) {
	content, diags := block.Body.Content(schema)
	l.diags.add(misplaced(diags, block.Type, schema))
	what := block.Type
	if len(block.Labels) > 0 {
		what += fmt.Sprintf(" %q", block.Labels[0])
	}
	f := l.attributes(what, block.DefRange, content, known, ctx, kept...)
	f.bad = f.bad || diags.HasErrors()
	return f, content
}

// schemaOf is a schema of optional attributes.
func schemaOf(names string, blocks ...hcl.BlockHeaderSchema) *hcl.BodySchema {
	s := &hcl.BodySchema{Blocks: blocks}
	for _, name := range strings.Fields(names) {
		s.Attributes = append(s.Attributes, hcl.AttributeSchema{Name: name})
	}
	return s
}

// misplaced says of what is not expected somewhere where it would be, or what
// may have been meant.
func misplaced(diags hcl.Diagnostics, where string, schema *hcl.BodySchema) hcl.Diagnostics {
	for _, d := range diags {
		if kind, label, ok := missingLabel(d.Summary); ok {
			d.Detail = fmt.Sprintf("A %s block has a %s: %s %q { … }.", kind, label, kind, label)
			continue
		}
		name, ok := quotedName(d.Detail)
		if !ok || strings.Contains(d.Detail, "Did you mean") {
			continue
		}
		var here []string
		switch d.Summary {
		case "Unsupported argument":
			for _, a := range schema.Attributes {
				here = append(here, a.Name)
			}
		case "Unsupported block type":
			for _, b := range schema.Blocks {
				here = append(here, b.Type)
			}
		default:
			continue
		}
		if near := nearest(name, here); near != "" {
			d.Detail += fmt.Sprintf(" Did you mean %q?", near)
			continue
		}
		if homes := homesOf(name); len(homes) > 0 {
			d.Detail += fmt.Sprintf(" It belongs in %s blocks.", strings.Join(homes, " and "))
		} else if len(here) > 0 {
			slices.Sort(here)
			d.Detail += fmt.Sprintf(" A %s has %s.", where, list("", here))
		}
	}
	return diags
}

// missingLabel takes hcl's "Missing name for gate" apart.
func missingLabel(summary string) (kind, label string, ok bool) {
	rest, ok := strings.CutPrefix(summary, "Missing ")
	label, kind, found := strings.Cut(rest, " for ")
	return kind, label, ok && found
}

// homesOf are the kinds of blocks that have an attribute or block of that name.
func homesOf(name string) []string {
	var homes []string
	for _, kind := range slices.Sorted(maps.Keys(settable)) {
		s := settable[kind].schema
		if slices.ContainsFunc(s.Attributes, func(a hcl.AttributeSchema) bool { return a.Name == name }) ||
			slices.ContainsFunc(s.Blocks, func(b hcl.BlockHeaderSchema) bool { return b.Type == name }) {
			homes = append(homes, kind)
		}
	}
	return homes
}

func quotedName(text string) (string, bool) {
	_, rest, found := strings.Cut(text, `"`)
	name, _, closed := strings.Cut(rest, `"`)
	return name, found && closed
}
