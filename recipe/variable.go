package recipe

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

var variableSchema = schemaOf("type default description sensitive")

// declared is a variable block before it has its value.
type declared struct {
	Variable
	at       hcl.Range
	want     cty.Type
	typed    bool
	defaults *typeexpr.Defaults
	value    cty.Value // of default; NilVal where there is none
}

// sensitive marks values that must not be shown or written.
type sensitive struct{}

// variables gives every variable its value: its default, or the last --var.
func (l *loader) variables(vars []Setting) bool {
	before := l.diags.Errors()
	var all []*declared
	byName := map[string]*declared{}
	var names []string
	for _, block := range l.blocks["variable"] {
		if d := l.variable(block); d != nil {
			all = append(all, d)
			byName[d.Name] = d
			names = append(names, d.Name)
		}
	}
	for _, v := range vars {
		d := byName[v.Name]
		if d == nil {
			l.noPlace("Unknown variable", fmt.Sprintf("--var %s: the recipe declares no such variable.%s", v.Name, suggestion(v.Name, names, "")))
			continue
		}
		l.set(d, v)
	}
	values := map[string]cty.Value{}
	for _, d := range all {
		if d.value == cty.NilVal {
			if d.Origin == "" {
				l.diags.fault(d.at, "Variable without a value", fmt.Sprintf("variable %q has no default: set it with --var %s=….", d.Name, d.Name))
			}
			continue
		}
		d.Value = strings.TrimSpace(string(hclwrite.TokensForValue(d.value).Bytes()))
		values[d.Name] = d.value
		if d.Sensitive {
			d.Value = "(sensitive)"
			values[d.Name] = d.value.Mark(sensitive{})
		}
		l.recipe.Variables = append(l.recipe.Variables, d.Variable)
	}
	l.base.Variables["var"] = cty.ObjectVal(values)
	return l.diags.Errors() == before
}

func (l *loader) variable(block *hcl.Block) *declared {
	content, diags := block.Body.Content(variableSchema)
	l.diags.add(diags)
	d := &declared{Variable: Variable{Name: block.Labels[0]}, at: block.DefRange, want: cty.DynamicPseudoType}
	if attr := content.Attributes["type"]; attr != nil {
		want, defaults, diags := typeexpr.TypeConstraintWithDefaults(attr.Expr)
		l.diags.add(diags)
		if diags.HasErrors() {
			return nil
		}
		d.want, d.defaults, d.typed = want, defaults, true
	}
	rest := *content
	rest.Attributes = hcl.Attributes{}
	for name, attr := range content.Attributes {
		if name == "description" || name == "sensitive" {
			rest.Attributes[name] = attr
		}
	}
	f := l.attributes(fmt.Sprintf("variable %q", d.Name), d.at, &rest, scope{}, &hcl.EvalContext{})
	d.Description, d.Sensitive = f.text("description"), f.flag("sensitive", false)
	attr := content.Attributes["default"]
	if attr == nil || f.bad {
		return d
	}
	v, ok := l.evaluate(attr.Expr, scope{}, &hcl.EvalContext{Functions: l.base.Functions})
	if !ok {
		return nil
	}
	d.Origin = "default"
	l.convert(d, v, attr.Expr.Range())
	return d
}

// convert gives the variable a value of its type.
func (l *loader) convert(d *declared, v cty.Value, at hcl.Range) {
	if d.defaults != nil && !v.IsNull() {
		v = d.defaults.Apply(v)
	}
	converted, err := convert.Convert(v, d.want)
	if err != nil {
		l.diags.fault(at, "Wrong type", fmt.Sprintf("variable %q must be %s: %s.", d.Name, typeexpr.TypeString(d.want), err))
		d.value = cty.NilVal
		return
	}
	d.value = converted
}

// set takes a value from the command line: a text as it stands where the
// variable is a text or has no type, else an expression.
func (l *loader) set(d *declared, v Setting) {
	d.Origin = "--var"
	if !d.typed || d.want == cty.String {
		d.value = cty.StringVal(v.Value)
		return
	}
	file := fmt.Sprintf("<--var %s>", d.Name)
	if len(v.Value) > sourceLimit || tooDeep([]byte(v.Value)) >= 0 {
		l.noPlace("Value too large", fmt.Sprintf("--var %s: the value is too long or nested too deeply.", d.Name))
		return
	}
	expr, diags := hclsyntax.ParseExpression([]byte(v.Value), file, hcl.InitialPos)
	if !d.Sensitive {
		l.diags.files[file] = &hcl.File{Bytes: []byte(v.Value)}
	}
	if diags.HasErrors() {
		l.diags.add(diags)
		return
	}
	value, ok := l.evaluate(expr, scope{}, &hcl.EvalContext{Functions: l.base.Functions})
	if ok {
		l.convert(d, value, expr.Range())
	}
}
