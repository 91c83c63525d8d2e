package recipe

import "github.com/hashicorp/hcl/v2"

// Filter reads an expression over a cell, such as cell.concurrency <= 4, given
// outside of the recipe under a name for its diagnostics.
func (r *Recipe) Filter(name, text string) (func(Point) (bool, Diagnostics), Diagnostics) {
	mine := *r.loader
	mine.diags = Diagnostics{files: map[string]*hcl.File{name: {Bytes: []byte(text)}}}
	expr := mine.expression(name, text)
	if expr == nil {
		return nil, mine.diags
	}
	k := mine.keep(expr)
	if k == nil {
		return nil, mine.diags
	}
	return k.holds, mine.diags
}
