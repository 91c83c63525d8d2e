package recipe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

var (
	sweepSchema = schemaOf("description model engine tier context concurrency output order after repeat seed max_cells connection on_failure cooldown",
		hcl.BlockHeaderSchema{Type: "gate", LabelNames: []string{"name"}},
		hcl.BlockHeaderSchema{Type: "budget"}, hcl.BlockHeaderSchema{Type: "cell_budget"},
		hcl.BlockHeaderSchema{Type: "abort"},
		hcl.BlockHeaderSchema{Type: "matched", LabelNames: []string{"name"}},
		hcl.BlockHeaderSchema{Type: "axis", LabelNames: []string{"name"}},
		hcl.BlockHeaderSchema{Type: "pair"},
		hcl.BlockHeaderSchema{Type: "include", LabelNames: []string{"reason"}},
		hcl.BlockHeaderSchema{Type: "exclude", LabelNames: []string{"reason"}},
		hcl.BlockHeaderSchema{Type: "timeout"})
	excludeSchema = schemaOf("when")
	timeoutSchema = schemaOf("connect first_byte first_output idle total")
)

const (
	maxRepeat   = 1000
	maxMaxCells = 10_000_000
)

// Place puts a model into a point.
func (m *Model) Place(p *Point) { p.Model = m }

// Place puts an engine into a point.
func (e *Engine) Place(p *Point) { p.Engine = e }

// Place puts a tier into a point.
func (t *Tier) Place(p *Point) { p.Tier = t }

// Place puts a context into a point.
func (c *Context) Place(p *Point) { p.Context = c }

// Place puts a rung into a point.
func (r *Rung) Place(p *Point) { p.Concurrency = r }

// Place puts an output into a point.
func (o *Output) Place(p *Point) { p.Output = o }

func (m *Model) String() string   { return m.Name }
func (e *Engine) String() string  { return e.Name }
func (t *Tier) String() string    { return t.Name }
func (c *Context) String() string { return contextLabel(c) }
func (r *Rung) String() string    { return strconv.Itoa(r.Value) }
func (o *Output) String() string  { return outputLabel(o) }

// axisNeeds are the axes every sweep has, each with how to write it.
var axisNeeds = []struct{ name, hint string }{
	{"model", "a model's name or a reference such as model.name"},
	{"engine", "a reference such as engine.vllm, or a list"},
	{"tier", "a reference such as tier.h200, or a list"},
	{"context", "a size, a list of sizes, or context.name"},
	{"concurrency", "a number, a list, ladder(from, to), or concurrency.name"},
	{"output", "an object such as { max_tokens = 512 }, or output.name"},
}

func (l *loader) sweep(block *hcl.Block) *Sweep {
	ctx := l.sweepContext()
	f, content := l.body(block, l.sweepScope(), ctx, sweepSchema)
	s := &Sweep{
		Name: block.Labels[0], Description: f.text("description"), File: block.DefRange.Filename,
		Repeat: f.whole("repeat", 1, maxRepeat, 1), MaxCells: f.whole("max_cells", 1, maxMaxCells, DefaultMaxCells),
		OnFailure: f.oneOf("on_failure", OnFailureContinue, OnFailureLadder, OnFailureStop),
		Fresh:     f.oneOf("connection", "reuse", "fresh") == "fresh",
	}
	s.Cooldown = f.duration("cooldown", 0)
	if _, said := f.known["seed"]; said {
		seed := int64(f.whole("seed", -1<<53, 1<<53, 0))
		s.Seed = &seed
	}
	s.Axes = l.axes(f, content)
	if !f.bad {
		s.Includes = l.includes(f, content, s.Axes)
		s.Order, s.After = l.order(f, s.Axes), l.after(f, s.Name)
	}
	s.Timeout = l.timeout(f, content)
	s.Excludes = l.excludes(f, content)
	s.Gates, s.Budget, s.CellBudget = l.gates(f, content), l.budget(f, content, "budget"), l.budget(f, content, "cell_budget")
	s.Abort, s.Matched = l.abort(f, content), l.matched(f, content, s.Axes)
	if f.bad {
		return nil
	}
	l.checkUses(f, s, content)
	if !f.bad {
		l.sweepRules(f, s)
	}
	if f.bad {
		return nil
	}
	return s
}

// sweepContext is where a sweep's attributes are evaluated: blocks have names.
func (l *loader) sweepContext() *hcl.EvalContext {
	ctx := l.base.NewChild()
	ctx.Variables = map[string]cty.Value{
		"model": cty.ObjectVal(l.models.values), "engine": cty.ObjectVal(l.engines.values), "tier": cty.ObjectVal(l.tiers.values),
		"context": cty.ObjectVal(l.contexts.values), "concurrency": cty.ObjectVal(l.concurrencies.values), "output": cty.ObjectVal(l.outputs.values),
		"sweep": cty.ObjectVal(l.sweepNames()),
	}
	return ctx
}

// sweepNames are values that stand for sweeps.
func (l *loader) sweepNames() map[string]cty.Value {
	out := map[string]cty.Value{}
	for _, name := range l.blockNames("sweep") {
		out[name] = cty.ObjectVal(map[string]cty.Value{refAttribute: cty.StringVal("sweep." + name)})
	}
	return out
}

// axis decodes one axis; a value that stands twice is dropped with a warning.
func (l *loader) axis(f *fields, name, hint string, g given) []Value {
	var out []Value
	seen := map[any]bool{}
	for _, element := range f.elements(name, g) {
		for _, v := range l.axisValues(f, name, hint, element) {
			key := axisKey(v)
			if seen[key] {
				l.diags.warn(element.at, "Value given twice", fmt.Sprintf("%s has %s more than once; it is one cell. To measure a cell several times, use repeat.", name, v))
				continue
			}
			seen[key] = true
			out = append(out, v)
		}
	}
	return out
}

// axisKey makes equal contexts, rungs and models one, whichever way they were
// written.
func axisKey(v Value) any {
	switch v := v.(type) {
	case *Context:
		return Context{Tokens: v.Tokens, Cache: v.Cache, SharedPrefixTokens: v.SharedPrefixTokens, Sizing: v.Sizing}
	case *Rung:
		return v.Value
	case *Model:
		return Model{ID: v.ID, Revision: v.Revision, Quantization: v.Quantization, ContextWindow: v.ContextWindow}
	}
	return v
}

// axisValues are the values one element of an axis stands for: a block may
// stand for several.
func (l *loader) axisValues(f *fields, name, hint string, g given) []Value {
	if kind, label, ok := reference(g.value); ok {
		if kind != name {
			f.fail(g.at, "Wrong block", "%s.%s is no %s.", kind, label, name)
			return nil
		}
		return l.referred(name, label)
	}
	switch name {
	case "model":
		if g.value.Type() == cty.String && g.value.AsString() != "" {
			id := g.value.AsString()
			m := &Model{At: placeOf(g.at), Name: id, ID: id}
			m.show(cty.ObjectVal(m.shown()))
			return []Value{m}
		}
	case "context":
		if n, ok := f.contextTokens(name, g); ok {
			return []Value{&Context{At: placeOf(g.at), Tokens: n, Cache: CacheUnique, Sizing: SizingChars}}
		}
		return nil
	case "concurrency":
		if n, ok := f.concurrencyValue(name, g); ok {
			return []Value{&Rung{At: placeOf(g.at), Value: n, requests: defaultRequests}}
		}
		return nil
	case "output":
		if t := g.value.Type(); t.IsObjectType() || t.IsMapType() {
			if o := l.inlineOutput(g); o != nil {
				o.show(cty.ObjectVal(o.shown()))
				return []Value{o}
			}
			f.bad = true
			return nil
		}
	}
	l.notAnAxis(f, name, hint, g)
	return nil
}

// notAnAxis says what to write; a block's name in quotes is the usual slip.
func (l *loader) notAnAxis(f *fields, name, hint string, g given) {
	detail := fmt.Sprintf("%s must be %s, not %s.", name, hint, described(g.value))
	if g.value.Type() == cty.String {
		text := g.value.AsString()
		names := l.blockNames(name)
		switch near := nearest(text, names); {
		case slices.Contains(names, text):
			detail = fmt.Sprintf("Write %s.%s without quotes.", name, text)
		case near != "":
			detail = fmt.Sprintf("%s must be %s. Did you mean %s.%s, without quotes?", name, hint, name, near)
		}
	}
	f.fail(g.at, "Wrong value for an axis", "%s", detail)
}

// reference is the block that a value stands for.
func reference(v cty.Value) (kind, label string, ok bool) {
	if !v.Type().IsObjectType() || !v.Type().HasAttribute(refAttribute) {
		return "", "", false
	}
	text := v.GetAttr(refAttribute).AsString()
	for i := range text {
		if text[i] == '.' {
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}

// referred are the values of a declared block.
func (l *loader) referred(kind, label string) []Value {
	var out []Value
	switch kind {
	case "model":
		out = append(out, l.models.byName[label])
	case "engine":
		out = append(out, l.engines.byName[label])
	case "tier":
		out = append(out, l.tiers.byName[label])
	case "context":
		for _, c := range *l.contexts.byName[label] {
			out = append(out, c)
		}
	case "concurrency":
		for _, r := range *l.concurrencies.byName[label] {
			out = append(out, r)
		}
	case "output":
		out = append(out, l.outputs.byName[label])
	}
	return out
}

func (l *loader) excludes(f *fields, content *hcl.BodyContent) []Exclude {
	var out []Exclude
	for _, block := range content.Blocks.OfType("exclude") {
		inner, diags := block.Body.Content(excludeSchema)
		l.diags.add(misplaced(diags, block.Type, excludeSchema))
		attr := inner.Attributes["when"]
		if attr == nil {
			f.fail(block.DefRange, "Missing attribute", "exclude %q needs when: a condition over cell.", block.Labels[0])
			continue
		}
		k := l.keep(attr.Expr)
		if k == nil {
			f.bad = true
			continue
		}
		out = append(out, Exclude{At: placeOf(block.DefRange), Reason: block.Labels[0], When: k.holds})
	}
	return out
}

// timeout has the defaults of patient people: a first byte may wait for a long
// prefill behind a long queue.
func (l *loader) timeout(f *fields, content *hcl.BodyContent) Timeout {
	t := Timeout{Connect: 10 * time.Second, FirstByte: 15 * time.Minute, FirstOutput: 15 * time.Minute, Idle: 15 * time.Minute}
	blocks := content.Blocks.OfType("timeout")
	if len(blocks) == 0 {
		return t
	}
	if len(blocks) > 1 {
		f.fail(blocks[1].DefRange, "Declared twice", "A sweep has one timeout block.")
	}
	inner, _ := l.body(blocks[0], l.plainScope(), l.base, timeoutSchema)
	t.Connect = inner.duration("connect", t.Connect)
	t.FirstByte = inner.duration("first_byte", t.FirstByte)
	t.FirstOutput = inner.duration("first_output", t.FirstOutput)
	t.Idle = inner.duration("idle", t.Idle)
	t.Total = inner.duration("total", t.Total)
	f.bad = f.bad || inner.bad
	return t
}

// sweepRules need several axes: an address for every engine that is not in the
// process, and a profile for those that are. The expressions that depend on a
// cell are tried on the first one, so that a wrong type is found here.
func (l *loader) sweepRules(f *fields, s *Sweep) {
	var first Point
	values := map[string][]Value{}
	for _, axis := range s.Axes {
		axis.Values[0].Place(&first)
		for _, v := range axis.Values {
			for i, name := range strings.Split(axis.Name, "+") {
				values[name] = append(values[name], Parts(v)[i])
			}
		}
	}
	first.Repeat = 1
	for _, e := range values["engine"] {
		for _, t := range values["tier"] {
			engine, tier := e.(*Engine), t.(*Tier)
			switch {
			case tier.BaseURL != "" || engine.Own.BaseURL != "" || engine.percell != nil || tier.percell != nil: // decided for each cell
			case engine.Kind != "sim":
				f.fail(f.place("tier"), "Tier without an address", "tier %q has no base_url, which engine %q needs.", tier.Name, engine.Name)
			case tier.Profile == "":
				f.fail(f.place("tier"), "Tier without a profile", "tier %q has neither base_url nor profile; the embedded engine %q needs a profile such as \"small\".", tier.Name, engine.Name)
			}
		}
	}
	first, diags := first.Resolve()
	l.diags = l.diags.Append(diags)
	if diags.HasErrors() {
		f.bad = true
		return
	}
	for _, rule := range s.Excludes {
		_, diags := rule.When(first)
		l.diags = l.diags.Append(diags)
		f.bad = f.bad || diags.HasErrors()
	}
	for _, r := range values["concurrency"] {
		p := first
		r.Place(&p)
		_, diags := p.Concurrency.Requests(p)
		_, more := p.Concurrency.Arrivals(p)
		diags = diags.Append(more)
		l.diags = l.diags.Append(diags)
		f.bad = f.bad || diags.HasErrors()
	}
	l.tryRules(f, first, values["concurrency"], s.Gates)
	l.warnRepeatedPrompts(f, values)
}

// place is where an attribute is, or the block where it is not one.
func (f *fields) place(name string) hcl.Range {
	if g, ok := f.known[name]; ok {
		return g.at
	}
	return f.at
}

// warnRepeatedPrompts: the seed enters a prompt through its canary only.
func (l *loader) warnRepeatedPrompts(f *fields, values map[string][]Value) {
	unique := slices.ContainsFunc(values["context"], func(v Value) bool { return v.(*Context).Cache == CacheUnique })
	bare := slices.ContainsFunc(values["output"], func(v Value) bool { return !v.(*Output).Canaries && v.(*Output).percell == nil })
	if unique && bare {
		l.diags.warn(f.place("output"), "Unique prompts that repeat", "Without canaries, prompts of cache = \"unique\" are the same in every cell and every run, and a prefix cache may answer them. Set canaries = true, or cache = \"shared\" if that is meant.")
	}
}
