package recipe

import (
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Where is an expression over cells that were measured, in the language of
// recipes and with the same names: cell.concurrency <= 4, axis.rate > 2. No
// recipe stands behind it, only what an artifact says.
type Where struct {
	kept *kept
	axes []string // that the expression names
}

// Measured is a cell as its artifact tells it. What it does not tell is null.
type Measured struct {
	Cell map[string]any // strings, numbers, nil, and maps of them; the keys are those of cell
	Axes map[string]string
}

// ReadWhere reads an expression under a name for its diagnostics. Axes are all
// that there are, so that a name that is none of them is a mistake.
func ReadWhere(name, text string, axes []string) (*Where, Diagnostics) {
	l := &loader{recipe: &Recipe{}, blocks: map[string][]*hcl.Block{}}
	l.recipe.loader = l
	l.base = &hcl.EvalContext{Functions: functionTable(), Variables: map[string]cty.Value{}}
	l.diags.files = map[string]*hcl.File{name: {Bytes: []byte(text)}}
	expr := l.expression(name, text)
	if expr == nil {
		return nil, l.diags
	}
	known := scope{"cell": cellAttributes, "axis": append([]string{}, axes...)}
	if !l.check(expr, known) || !l.weigh(expr, l.base) {
		return nil, l.diags
	}
	w := &Where{kept: &kept{l: l, expr: expr}}
	for _, t := range expr.Variables() {
		if step, ok := second(t); ok && t.RootName() == "axis" {
			w.axes = append(w.axes, step)
		}
	}
	return w, l.diags
}

// expression parses a text that stands outside of any file.
func (l *loader) expression(name, text string) hcl.Expression {
	if len(text) > sourceLimit || tooDeep([]byte(text)) >= 0 {
		l.diags.list = append(l.diags.list, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Expression too large", Detail: name + " is too long or nested too deeply."})
		return nil
	}
	expr, found := hclsyntax.ParseExpression([]byte(text), name, hcl.InitialPos)
	l.diags.add(found)
	if found.HasErrors() {
		return nil
	}
	return expr
}

// Holds reports whether the expression takes a cell. A cell that has no axis of
// a name in it is not taken.
func (w *Where) Holds(m Measured) (bool, Diagnostics) {
	axes := map[string]cty.Value{}
	for name, value := range m.Axes {
		axes[name] = axisText(value)
	}
	for _, name := range w.axes {
		if _, ok := axes[name]; !ok {
			return false, Diagnostics{}
		}
	}
	cell := map[string]any{}
	for _, name := range cellAttributes {
		cell[name] = m.Cell[name]
		if parts := cellParts[name]; parts != nil {
			whole := map[string]any{}
			of, _ := m.Cell[name].(map[string]any)
			for _, part := range parts {
				whole[part] = of[part]
			}
			cell[name] = whole
		}
	}
	ctx := w.kept.l.base.NewChild()
	ctx.Variables = map[string]cty.Value{"cell": plainValue(cell), "axis": cty.ObjectVal(axes)}
	return w.kept.yes(ctx)
}

// axisText is the value of an axis from the text that an artifact holds of it.
func axisText(text string) cty.Value {
	if v, err := cty.ParseNumberVal(text); err == nil {
		return v
	}
	if b, err := strconv.ParseBool(text); err == nil && slices.Contains([]string{"true", "false"}, text) {
		return cty.BoolVal(b)
	}
	return cty.StringVal(text)
}

func plainValue(v any) cty.Value {
	switch v := v.(type) {
	case string:
		return cty.StringVal(v)
	case bool:
		return cty.BoolVal(v)
	case int:
		return cty.NumberIntVal(int64(v))
	case float64:
		return cty.NumberFloatVal(v)
	case map[string]any:
		out := map[string]cty.Value{}
		for name, inner := range v {
			out[name] = plainValue(inner)
		}
		return cty.ObjectVal(out)
	}
	return cty.NullVal(cty.DynamicPseudoType)
}
