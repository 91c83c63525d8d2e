package recipe

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// settable are the schemas of what --set can reach: KIND.NAME.ATTRIBUTE, or
// KIND.NAME.BLOCK.ATTRIBUTE for an inner block without a label.
var settable = map[string]struct {
	schema *hcl.BodySchema
	inner  map[string]*hcl.BodySchema
}{
	"model":       {modelSchema, nil},
	"engine":      {engineSchema, map[string]*hcl.BodySchema{"launch": launchSchema, "ready": readySchema, "metrics": metricsSchema, "tls": tlsSchema}},
	"tier":        {tierSchema, map[string]*hcl.BodySchema{"tls": tlsSchema}},
	"context":     {contextSchema, nil},
	"concurrency": {concurrencySchema, map[string]*hcl.BodySchema{"search": searchSchema}},
	"output":      {outputSchema, nil},
	"sweep":       {sweepSchema, map[string]*hcl.BodySchema{"timeout": timeoutSchema, "budget": budgetSchema}},
}

// Settable lists every path that --set takes, a * for the name, sorted.
func Settable() []string {
	var out []string
	for kind, s := range settable {
		for _, a := range s.schema.Attributes {
			out = append(out, kind+".*."+a.Name)
		}
		for block, inner := range s.inner {
			for _, a := range inner.Attributes {
				out = append(out, kind+".*."+block+"."+a.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// override applies the --set options to the blocks they name.
func (l *loader) override(settings []Setting) {
	for _, s := range settings {
		l.setPath(s)
	}
}

func (l *loader) setPath(s Setting) {
	bad := func(format string, args ...any) {
		l.noPlace("Wrong --set", fmt.Sprintf("--set %s: ", s.Name)+fmt.Sprintf(format, args...))
	}
	parts := strings.Split(s.Name, ".")
	if len(parts) != 3 && len(parts) != 4 {
		bad("a path is KIND.NAME.ATTRIBUTE, such as sweep.nightly.repeat, or tier.*.base_url for every tier.")
		return
	}
	kind, name, attribute := parts[0], parts[1], parts[len(parts)-1]
	known, ok := settable[kind]
	if !ok {
		bad("there is no kind %q.%s", kind, suggestion(kind, slices.Sorted(maps.Keys(settable)), ""))
		return
	}
	schema, block := known.schema, ""
	if len(parts) == 4 {
		block = parts[2]
		if schema, ok = known.inner[block]; !ok {
			bad("%s has no block %q that can be set.%s", kind, block, suggestion(block, slices.Sorted(maps.Keys(known.inner)), ""))
			return
		}
	}
	var names []string
	for _, a := range schema.Attributes {
		names = append(names, a.Name)
	}
	if !slices.Contains(names, attribute) {
		bad("there is no attribute %q.%s", attribute, suggestion(attribute, names, ""))
		return
	}
	expr := l.setValue(s)
	if expr == nil {
		return
	}
	hits := 0
	for _, b := range l.blocks[kind] {
		if match, err := path.Match(name, b.Labels[0]); err != nil {
			bad("%q is no pattern of names.", name)
			return
		} else if !match {
			continue
		}
		hits++
		body, ok := b.Body.(*setBody)
		if !ok {
			body = &setBody{Body: b.Body, at: b.DefRange, attributes: map[string]hcl.Expression{}, blocks: map[string]map[string]hcl.Expression{}}
			b.Body = body
		}
		body.set(block, attribute, expr)
	}
	if hits == 0 {
		bad("the recipe has no such %s.%s", kind, suggestion(name, l.blockNames(kind), kind+"."))
		return
	}
	l.recipe.Variables = append(l.recipe.Variables, Variable{
		Name: s.Name, Value: strings.TrimSpace(string(hclwrite.Format([]byte(s.Value)))), Origin: "--set",
	})
}

// setValue is the option's value as an expression with a source of its own.
func (l *loader) setValue(s Setting) hcl.Expression {
	file := fmt.Sprintf("<--set %s>", s.Name)
	if len(s.Value) > sourceLimit || tooDeep([]byte(s.Value)) >= 0 {
		l.noPlace("Value too large", fmt.Sprintf("--set %s: the value is too long or nested too deeply.", s.Name))
		return nil
	}
	l.diags.files[file] = &hcl.File{Bytes: []byte(s.Value)}
	expr, diags := hclsyntax.ParseExpression([]byte(s.Value), file, hcl.InitialPos)
	for _, d := range diags {
		d.Detail += ` A text needs quotes of its own: --set 'tier.a.gpu="H200"'.`
	}
	l.diags.add(diags)
	if diags.HasErrors() {
		return nil
	}
	return expr
}

// setBody is a body with attributes from the command line in place of its own,
// in either of HCL's syntaxes.
type setBody struct {
	hcl.Body
	at         hcl.Range
	attributes map[string]hcl.Expression
	blocks     map[string]map[string]hcl.Expression
}

func (b *setBody) set(block, attribute string, expr hcl.Expression) {
	if block == "" {
		b.attributes[attribute] = expr
		return
	}
	if b.blocks[block] == nil {
		b.blocks[block] = map[string]hcl.Expression{}
	}
	b.blocks[block][attribute] = expr
}

// Content is part of hcl.Body.
func (b *setBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	content, diags := b.Body.Content(schema)
	b.apply(content)
	return content, diags
}

// JustAttributes is part of hcl.Body.
func (b *setBody) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
	attrs, diags := b.Body.JustAttributes()
	for name, expr := range b.attributes {
		attrs[name] = setAttribute(name, expr)
	}
	return attrs, diags
}

func setAttribute(name string, expr hcl.Expression) *hcl.Attribute {
	return &hcl.Attribute{Name: name, Expr: expr, Range: expr.Range(), NameRange: expr.Range()}
}

func (b *setBody) apply(content *hcl.BodyContent) {
	for name, expr := range b.attributes {
		attr := setAttribute(name, expr)
		if own := content.Attributes[name]; own != nil {
			attr.NameRange = own.NameRange // axes keep their place
		}
		content.Attributes[name] = attr
	}
	for _, kind := range slices.Sorted(maps.Keys(b.blocks)) {
		found := false
		for _, block := range content.Blocks {
			if block.Type == kind {
				block.Body = &setBody{Body: block.Body, at: block.DefRange, attributes: b.blocks[kind]}
				found = true
			}
		}
		if !found {
			content.Blocks = append(content.Blocks, &hcl.Block{
				Type: kind, DefRange: b.at, TypeRange: b.at,
				Body: &setBody{Body: hcl.EmptyBody(), at: b.at, attributes: b.blocks[kind]},
			})
		}
	}
}

// all are the body's expressions, those that it replaces left out.
func (b *setBody) all() []hcl.Expression {
	var out []hcl.Expression
	native, ok := b.Body.(*hclsyntax.Body)
	if !ok {
		out = expressions(b.Body)
	} else {
		for name, attr := range native.Attributes {
			if b.attributes[name] == nil {
				out = append(out, attr.Expr)
			}
		}
		for _, block := range native.Blocks {
			out = append(out, expressions(block.Body)...)
		}
	}
	for _, expr := range b.attributes {
		out = append(out, expr)
	}
	for _, attrs := range b.blocks {
		for _, expr := range attrs {
			out = append(out, expr)
		}
	}
	return out
}
