package recipe

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Filter reads an expression over a cell, such as cell.concurrency <= 4, given
// outside of the recipe under a name for its diagnostics.
func (r *Recipe) Filter(name, text string) (func(Point) (bool, Diagnostics), Diagnostics) {
	l := r.loader
	diags := Diagnostics{files: map[string]*hcl.File{name: {Bytes: []byte(text)}}}
	if len(text) > sourceLimit || tooDeep([]byte(text)) >= 0 {
		diags.list = append(diags.list, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Expression too large", Detail: name + " is too long or nested too deeply."})
		return nil, diags
	}
	expr, found := hclsyntax.ParseExpression([]byte(text), name, hcl.InitialPos)
	diags.add(found)
	if found.HasErrors() {
		return nil, diags
	}
	mine := *l
	mine.diags = Diagnostics{files: diags.files}
	k := mine.keep(expr)
	if k == nil {
		return nil, mine.diags
	}
	return k.holds, diags
}
