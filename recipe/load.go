package recipe

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Setting is one --var, in the order given.
type Setting struct{ Name, Value string }

// Options are what a recipe is loaded with beside its files.
type Options struct {
	Vars     []Setting
	Set      []Setting                // --set: a path of Settable and an expression
	VarFiles []string                 // --var-file, in the order given
	Getenv   func(name string) string // where variables may be set too; nil: nowhere
	Metrics  []string                 // what rules may name of a result
}

// loader holds what is known while a recipe is read.
type loader struct {
	recipe *Recipe
	diags  Diagnostics
	blocks map[string][]*hcl.Block // by type, in order of their files
	base   *hcl.EvalContext        // functions, var, local
	broken map[string]bool         // blocks with a reported fault, as "tier.h200": what names one is no fault of its own

	models        registry[Model]
	engines       registry[Engine]
	tiers         registry[Tier]
	contexts      registry[[]*Context]
	concurrencies registry[[]*Rung]
	outputs       registry[Output]

	metricNames []string

	here *seen // the cell that a block is being decoded for; nil: none
}

var rootSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "locals"},
	{Type: "model", LabelNames: []string{"name"}},
	{Type: "engine", LabelNames: []string{"name"}},
	{Type: "tier", LabelNames: []string{"name"}},
	{Type: "context", LabelNames: []string{"name"}},
	{Type: "concurrency", LabelNames: []string{"name"}},
	{Type: "output", LabelNames: []string{"name"}},
	{Type: "sweep", LabelNames: []string{"name"}},
}}

var stringType = cty.String

// Load reads files and folders as one recipe. The recipe is usable only where
// the diagnostics hold no error.
func Load(paths []string, opts Options) (*Recipe, Diagnostics) {
	l := &loader{recipe: &Recipe{}, metricNames: opts.Metrics, blocks: map[string][]*hcl.Block{}}
	l.recipe.loader = l
	l.diags.files = map[string]*hcl.File{}
	l.base = &hcl.EvalContext{Functions: functionTable(), Variables: map[string]cty.Value{}}
	l.readSources(paths)
	// What cannot be parsed or has no value would only echo further down.
	if !l.gather() || !l.variables(opts) || !l.locals() {
		return l.recipe, l.diags
	}
	l.override(opts.Set)
	decodeAll(l, "model", &l.models, (*loader).model)
	decodeAll(l, "engine", &l.engines, (*loader).engine)
	decodeAll(l, "tier", &l.tiers, (*loader).tier)
	decodeAll(l, "context", &l.contexts, (*loader).context)
	decodeAll(l, "concurrency", &l.concurrencies, (*loader).concurrency)
	decodeAll(l, "output", &l.outputs, (*loader).output)
	for _, block := range l.blocks["sweep"] {
		if s := l.sweep(block); s != nil {
			l.recipe.Sweeps = append(l.recipe.Sweeps, s)
		}
	}
	if !l.diags.HasErrors() {
		l.warnUnused()
	}
	return l.recipe, l.diags
}

// gather parses every source and sorts its blocks by type; false where a
// source could not be read.
func (l *loader) gather() bool {
	declared := map[string]hcl.Range{}
	whole := len(l.recipe.Sources) > 0 && !l.diags.HasErrors()
	for _, src := range l.recipe.Sources {
		file := l.parse(src)
		if file == nil {
			whole = false
			continue
		}
		content, diags := file.Body.Content(rootSchema)
		l.diags.add(misplaced(diags, "recipe", rootSchema))
		for _, block := range content.Blocks {
			if len(block.Labels) == 0 {
				l.blocks[block.Type] = append(l.blocks[block.Type], block)
				continue
			}
			name := block.Labels[0]
			l.blocks[block.Type] = append(l.blocks[block.Type], block)
			if !hclsyntax.ValidIdentifier(name) {
				l.diags.fault(block.LabelRanges[0], "Name that cannot be referred to", fmt.Sprintf("%q is not an identifier: letters, digits, - and _, beginning with a letter, so that %s.name works.", name, block.Type))
				continue
			}
			key := block.Type + "." + name
			if first, twice := declared[key]; twice {
				l.diags.fault(block.DefRange, "Declared twice", fmt.Sprintf("%s %q is already declared at %s.", block.Type, name, shortRange(first)))
				continue
			}
			declared[key] = block.DefRange
		}
	}
	if len(l.blocks["sweep"]) == 0 && whole && !l.diags.HasErrors() {
		l.noPlace("No sweep", "The recipe declares no sweep block, so there is nothing to run.")
	}
	return whole
}

func shortRange(r hcl.Range) string { return fmt.Sprintf("%s line %d", r.Filename, r.Start.Line) }

// registry holds the decoded blocks of one type with the values that stand for
// them in expressions.
type registry[T any] struct {
	byName map[string]*T
	values map[string]cty.Value
}

// decodeAll decodes every block of a type and makes it known by its name. One
// that depends on the cell is decoded when there is one.
func decodeAll[T any](l *loader, kind string, r *registry[T], decode func(*loader, *hcl.Block) (*T, map[string]cty.Value)) {
	r.byName, r.values = map[string]*T{}, map[string]cty.Value{}
	for _, block := range l.blocks[kind] {
		name := block.Labels[0]
		var value *T
		var shown map[string]cty.Value
		if uses := l.dependsOnCell(block); len(uses) > 0 {
			value, shown = later(l, kind, block, uses, decode)
		} else {
			value, shown = decode(l, block)
		}
		if value == nil {
			if l.broken == nil {
				l.broken = map[string]bool{}
			}
			l.broken[kind+"."+name] = true
			continue
		}
		shown[refAttribute] = cty.StringVal(kind + "." + name)
		r.byName[name], r.values[name] = value, cty.ObjectVal(shown)
		if v, ok := any(value).(interface{ show(cty.Value) }); ok {
			v.show(r.values[name])
		}
	}
}

// refAttribute is how a value that stands for a block is known again after it
// has been through lists and functions. No recipe can spell it.
const refAttribute = "\x00block"

// blockNames lists the declared names of a block type, decoded or not: a block
// with a fault in it is still there.
func (l *loader) blockNames(kind string) []string {
	var names []string
	for _, block := range l.blocks[kind] {
		names = append(names, block.Labels[0])
	}
	slices.Sort(names)
	return names
}
