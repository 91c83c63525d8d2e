package recipe

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

var (
	variableSchema = schemaOf("type default description sensitive nullable",
		hcl.BlockHeaderSchema{Type: "validation"})
	validationSchema = schemaOf("condition error_message")
)

// EnvPrefix stands before a variable's name in the environment.
const EnvPrefix = "ANVILSWEEP_VAR_"

// autoSuffix ends the names of value files that are read without being named,
// in the folders of the recipe's sources.
const autoSuffix = ".auto.vars.hcl"

// declared is a variable block before it has its value.
type declared struct {
	Variable
	at       hcl.Range
	want     cty.Type
	typed    bool
	defaults *typeexpr.Defaults
	nullable bool
	checks   []check
	value    cty.Value // NilVal where there is none
	faulty   bool      // its value has a reported fault
}

// check is a validation block.
type check struct {
	condition, message *hcl.Attribute
}

// sensitive marks values that must not be shown or written.
type sensitive struct{}

// variables gives every variable its value from the last of: its default, the
// *.auto.vars.hcl files beside the recipe, --var-file, the environment, --var.
func (l *loader) variables(opts Options) bool {
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
	for _, path := range l.autoFiles() {
		l.varFile(path, filepath.Base(path), byName, names)
	}
	for _, path := range opts.VarFiles {
		l.varFile(path, "--var-file "+path, byName, names)
	}
	for _, d := range all {
		if opts.Getenv == nil {
			break
		}
		if text := opts.Getenv(EnvPrefix + d.Name); text != "" {
			l.set(d, text, EnvPrefix+d.Name)
		}
	}
	for _, v := range opts.Vars {
		d := byName[v.Name]
		if d == nil {
			l.noPlace("Unknown variable", fmt.Sprintf("--var %s: the recipe declares no such variable.%s", v.Name, suggestion(v.Name, names, "")))
			continue
		}
		l.set(d, v.Value, "--var")
	}
	values := map[string]cty.Value{}
	for _, d := range all {
		if d.value == cty.NilVal {
			if !d.faulty {
				l.diags.fault(d.at, "Variable without a value", fmt.Sprintf("variable %q has no default: set it with --var %s=…, in a file for --var-file, or as %s%s.", d.Name, d.Name, EnvPrefix, d.Name))
			}
			continue
		}
		l.validate(d)
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

// autoFiles are the value files beside the recipe's sources, sorted within
// each folder.
func (l *loader) autoFiles() []string {
	var out []string
	seen := map[string]bool{}
	for _, src := range l.recipe.Sources {
		folder := filepath.Dir(src.Path)
		if seen[folder] {
			continue
		}
		seen[folder] = true
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // a source was just read from it; what is gone has no values
		}
		for _, e := range entries {
			if !e.IsDir() && strings.HasSuffix(e.Name(), autoSuffix) {
				out = append(out, filepath.Join(folder, e.Name()))
			}
		}
	}
	return out
}

// varFile takes the values of a file of attributes. A name that the recipe
// does not declare is a warning: several recipes may share the file.
func (l *loader) varFile(path, origin string, byName map[string]*declared, names []string) {
	data, err := os.ReadFile(path)
	if err != nil {
		l.noPlace("The variables cannot be read", plainError(path, err))
		return
	}
	file := l.parse(Source{Path: path, Bytes: data})
	if file == nil {
		return
	}
	attrs, diags := file.Body.JustAttributes()
	for name := range attrs {
		if d := byName[name]; d != nil && d.Sensitive {
			delete(l.diags.files, path) // no source is shown of a file with a secret in it
		}
	}
	l.diags.add(diags)
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		attr, d := attrs[name], byName[name]
		if d == nil {
			l.diags.warn(attr.NameRange, "Unknown variable", fmt.Sprintf("The recipe declares no variable %q.%s", name, suggestion(name, names, "")))
			continue
		}
		l.give(d, attr.Expr, origin)
	}
}

// validate holds the value against the variable's own conditions.
func (l *loader) validate(d *declared) {
	value := d.value
	if d.Sensitive {
		value = value.Mark(sensitive{})
	}
	ctx := &hcl.EvalContext{Functions: l.base.Functions, Variables: map[string]cty.Value{
		"var": cty.ObjectVal(map[string]cty.Value{d.Name: value}),
	}}
	known := scope{"var": {d.Name}}
	evaluate := func(attr *hcl.Attribute, want cty.Type) (cty.Value, bool) {
		if !l.check(attr.Expr, known) {
			return cty.NilVal, false
		}
		v, diags := attr.Expr.Value(ctx)
		l.diags.add(diags)
		if diags.HasErrors() {
			return cty.NilVal, false
		}
		v, _ = v.UnmarkDeep()
		converted, err := convert.Convert(v, want)
		if err != nil || converted.IsNull() || !converted.IsKnown() {
			l.diags.fault(attr.Expr.Range(), "Wrong value", fmt.Sprintf("%s must be a %s, not %s.", attr.Name, want.FriendlyName(), described(v)))
			return cty.NilVal, false
		}
		return converted, true
	}
	for _, c := range d.checks {
		holds, ok := evaluate(c.condition, cty.Bool)
		if !ok || holds.True() {
			continue
		}
		text := cty.StringVal("its error_message names the sensitive value and is not shown.")
		if !d.Sensitive || len(c.message.Expr.Variables()) == 0 {
			if text, ok = evaluate(c.message, cty.String); !ok {
				continue
			}
		}
		l.diags.fault(c.condition.Expr.Range(), "Variable not valid", fmt.Sprintf("variable %q, set by %s: %s", d.Name, d.Origin, text.AsString()))
	}
}

func (l *loader) variable(block *hcl.Block) *declared {
	content, diags := block.Body.Content(variableSchema)
	l.diags.add(misplaced(diags, block.Type, variableSchema))
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
		if name != "type" && name != "default" {
			rest.Attributes[name] = attr
		}
	}
	f := l.attributes(fmt.Sprintf("variable %q", d.Name), d.at, &rest, scope{}, &hcl.EvalContext{})
	d.Description, d.Sensitive = f.text("description"), f.flag("sensitive", false)
	d.nullable = f.flag("nullable", true)
	d.checks = l.checks(f, d.Name, content)
	attr := content.Attributes["default"]
	if attr == nil || f.bad {
		d.faulty = f.bad
		return d
	}
	l.give(d, attr.Expr, "default")
	return d
}

func (l *loader) checks(f *fields, name string, content *hcl.BodyContent) []check {
	var out []check
	for _, block := range content.Blocks.OfType("validation") {
		inner, diags := block.Body.Content(validationSchema)
		l.diags.add(diags)
		c := check{inner.Attributes["condition"], inner.Attributes["error_message"]}
		if c.condition == nil || c.message == nil {
			f.fail(block.DefRange, "Missing attribute", "validation needs condition, a yes or no over var.%s, and error_message, what to say where it is no.", name)
			continue
		}
		out = append(out, c)
	}
	return out
}

// give takes a value from an expression.
func (l *loader) give(d *declared, expr hcl.Expression, origin string) {
	d.Origin = origin
	v, ok := l.evaluate(expr, scope{}, &hcl.EvalContext{Functions: l.base.Functions})
	if d.faulty = !ok; ok {
		l.convert(d, v, expr.Range())
	}
}

// convert gives the variable a value of its type.
func (l *loader) convert(d *declared, v cty.Value, at hcl.Range) {
	if d.defaults != nil && !v.IsNull() {
		v = d.defaults.Apply(v)
	}
	converted, err := convert.Convert(v, d.want)
	fault := ""
	switch {
	case err != nil:
		fault = fmt.Sprintf("variable %q must be %s: %s.", d.Name, typeexpr.TypeString(d.want), err)
	case converted.IsNull() && !d.nullable:
		fault = fmt.Sprintf("variable %q must not be null.", d.Name)
	}
	d.value, d.faulty = converted, fault != ""
	switch {
	case !d.faulty:
		return
	case d.Sensitive:
		l.quietFault(at, "Wrong type", fault)
	default:
		l.diags.fault(at, "Wrong type", fault)
	}
	d.value = cty.NilVal
}

// set takes a value that was given as text: as it stands where the variable is
// a text or has no type, else an expression, so that [1, 2] is a list.
func (l *loader) set(d *declared, text, origin string) {
	if !d.typed || d.want == cty.String {
		d.Origin, d.faulty = origin, false
		d.value = cty.StringVal(text)
		return
	}
	file := fmt.Sprintf("<%s %s>", origin, d.Name)
	if origin != "--var" {
		file = fmt.Sprintf("<%s>", origin)
	}
	d.faulty = true
	if len(text) > sourceLimit || tooDeep([]byte(text)) >= 0 {
		l.noPlace("Value too large", fmt.Sprintf("%s: the value of %s is too long or nested too deeply.", origin, d.Name))
		return
	}
	expr, diags := hclsyntax.ParseExpression([]byte(text), file, hcl.InitialPos)
	if !d.Sensitive {
		l.diags.files[file] = &hcl.File{Bytes: []byte(text)}
	}
	if diags.HasErrors() {
		l.diags.add(diags)
		return
	}
	l.give(d, expr, origin)
}
