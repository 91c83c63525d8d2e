package recipe

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// percell is a block with attributes that name axis or cell: it is decoded for
// each combination of the values it names.
type percell[T any] struct {
	l      *loader
	block  *hcl.Block
	uses   []hcl.Traversal // of axis and cell
	decode func(*loader, *hcl.Block) (*T, map[string]cty.Value)

	mu    sync.Mutex
	known map[string]*T // by the values that uses have
}

// seen is a cell as expressions see it, made once a point.
type seen struct {
	of  [6]any // the point's blocks
	ctx *hcl.EvalContext
}

// decidable are the blocks that may depend on a cell.
var decidable = []string{"engine", "tier", "output"}

// dependsOnCell lists what a block names of axis and cell.
func (l *loader) dependsOnCell(block *hcl.Block) []hcl.Traversal {
	if !slices.Contains(decidable, block.Type) {
		return nil
	}
	var uses []hcl.Traversal
	for _, expr := range expressions(block.Body) {
		for _, t := range expr.Variables() {
			if root := t.RootName(); root == "axis" || root == "cell" {
				uses = append(uses, t)
			}
		}
	}
	return uses
}

// expressions are all of a body, those of inner blocks too. HCL's JSON syntax
// does not tell blocks from objects, and an expression holds either.
func expressions(body hcl.Body) []hcl.Expression {
	if set, ok := body.(*setBody); ok {
		return set.all()
	}
	native, ok := body.(*hclsyntax.Body)
	var out []hcl.Expression
	if !ok {
		attrs, _ := body.JustAttributes() // its diagnostics come from the decoder
		for _, attr := range attrs {
			out = append(out, attr.Expr)
		}
		return out
	}
	for _, attr := range native.Attributes {
		out = append(out, attr.Expr)
	}
	for _, inner := range native.Blocks {
		out = append(out, expressions(inner.Body)...)
	}
	return out
}

// later stands for a block until there is a cell: only its name is known.
func later[T any](l *loader, kind string, block *hcl.Block, uses []hcl.Traversal, decode func(*loader, *hcl.Block) (*T, map[string]cty.Value)) (*T, map[string]cty.Value) {
	known := l.cellScope()
	known["axis"] = nil // which axes there are, a sweep says
	for _, t := range uses {
		if !l.checkTraversal(t, known) {
			return nil, nil
		}
		if step, ok := second(t); ok && t.RootName() == "cell" && slices.Contains(decidable, step) {
			l.diags.fault(t.SourceRange(), "A block that depends on a block", fmt.Sprintf("%s %q cannot depend on cell.%s: blocks of a cell may depend on its axes, model, context and concurrency.", kind, block.Labels[0], step))
			return nil, nil
		}
	}
	name := block.Labels[0]
	shown := map[string]cty.Value{"name": cty.StringVal(name)}
	p := &percell[T]{l: l, block: block, uses: uses, decode: decode, known: map[string]*T{}}
	var out any
	switch kind {
	case "engine":
		out = &Engine{At: placeOf(block.DefRange), Name: name, Kind: kindOf(name), percell: any(p).(*percell[Engine])}
	case "tier":
		out = &Tier{At: placeOf(block.DefRange), Name: name, Count: 1, percell: any(p).(*percell[Tier])}
	case "output":
		out = &Output{At: placeOf(block.DefRange), Name: name, percell: any(p).(*percell[Output])}
	}
	return out.(*T), shown
}

// resolve is the block of a cell.
func (p *percell[T]) resolve(point Point) (*T, Diagnostics) {
	key := p.key(point)
	p.mu.Lock()
	defer p.mu.Unlock()
	if found := p.known[key]; found != nil {
		return found, Diagnostics{}
	}
	s := p.l.see(point)
	// A loader for this cell: the same blocks and files, its own diagnostics,
	// and names for the cell.
	here := *p.l
	here.diags = Diagnostics{files: p.l.diags.files}
	here.base, here.here = p.l.base.NewChild(), s
	here.base.Variables = s.ctx.Variables
	value, shown := p.decode(&here, p.block)
	if value == nil {
		return nil, here.diags
	}
	shown[refAttribute] = cty.StringVal(p.block.Type + "." + p.block.Labels[0])
	any(value).(interface{ show(cty.Value) }).show(cty.ObjectVal(shown))
	p.known[key] = value
	return value, here.diags
}

// key tells cells apart by what the block names of them.
func (p *percell[T]) key(point Point) string {
	var b []byte
	for _, t := range p.uses {
		name, _ := second(t)
		switch {
		case t.RootName() == "axis":
			for _, n := range point.Extra {
				if n.Axis == name {
					b = append(b, n.Text...)
				}
			}
		case name == "model":
			b = append(append(b, point.Model.Name...), point.Model.ID...)
		case name == "context":
			b = strconv.AppendInt(b, int64(point.Context.Tokens), 10)
		case name == "cache":
			b = append(b, point.Context.Cache...)
		case name == "concurrency":
			b = strconv.AppendInt(b, int64(point.Concurrency.Value), 10)
		default:
			b = strconv.AppendInt(b, int64(point.Repeat), 10)
		}
		b = append(b, 0)
	}
	return string(b)
}

// Resolve decides what depends on the cell: engine, tier and output may name
// its axes, model, context and concurrency. The point must be whole.
func (p Point) Resolve() (Point, Diagnostics) {
	var diags Diagnostics
	bare := p
	if p.Engine.percell != nil {
		engine, more := p.Engine.percell.resolve(bare)
		p.Engine, diags = engine, diags.Append(more)
	}
	if p.Tier.percell != nil {
		tier, more := p.Tier.percell.resolve(bare)
		p.Tier, diags = tier, diags.Append(more)
	}
	if p.Output.percell != nil {
		output, more := p.Output.percell.resolve(bare)
		p.Output, diags = output, diags.Append(more)
	}
	p.seen = nil
	if p.Engine != nil && p.Tier != nil && !p.Engine.Own.empty() {
		p.Tier = p.Engine.reach(p.Tier)
	}
	return p, diags
}

func (e Endpoint) empty() bool {
	return e.BaseURL == "" && e.APIKeyEnv == "" && e.Headers == nil && e.TLS == nil && e.UnixSocket == ""
}

// reach is the tier at the engine's own address, made once.
func (e *Engine) reach(t *Tier) *Tier {
	e.reached.Lock()
	defer e.reached.Unlock()
	if found := e.at[t]; found != nil {
		return found
	}
	if e.at == nil {
		e.at = map[*Tier]*Tier{}
	}
	own := *t
	own.Endpoint = e.Own.over(t.Endpoint)
	e.at[t] = &own
	return &own
}

func (m *Model) show(v cty.Value)  { m.value = v }
func (e *Engine) show(v cty.Value) { e.value = v }
func (t *Tier) show(v cty.Value)   { t.value = v }
func (o *Output) show(v cty.Value) { o.value = v }

// see is the point as expressions see it.
func (l *loader) see(p Point) *seen {
	of := [6]any{p.Model, p.Engine, p.Tier, p.Context, p.Concurrency, p.Output}
	if p.seen != nil && p.seen.of == of {
		return p.seen
	}
	axes := map[string]cty.Value{}
	for _, n := range p.Extra {
		axes[n.Axis] = n.value
	}
	cell := cty.ObjectVal(map[string]cty.Value{
		"model": p.Model.value, "engine": p.Engine.value, "tier": p.Tier.value,
		"context": cty.NumberIntVal(int64(p.Context.Tokens)), "cache": cty.StringVal(p.Context.Cache),
		"concurrency": cty.NumberIntVal(int64(p.Concurrency.Value)), "output": p.Output.value,
		"repeat": cty.NumberIntVal(int64(p.Repeat)),
	})
	ctx := l.base.NewChild()
	ctx.Variables = map[string]cty.Value{"cell": cell, "axis": cty.ObjectVal(axes)}
	return &seen{of: of, ctx: ctx}
}

// Seen prepares a point for its expressions, of which a cell has several.
func (p Point) Seen(l *Recipe) Point {
	if l.loader != nil {
		p.seen = l.loader.see(p)
	}
	return p
}
