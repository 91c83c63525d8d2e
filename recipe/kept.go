package recipe

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// cellAttributes are the parts of a cell that a kept expression may name;
// cellParts those of its blocks.
var (
	cellAttributes = []string{"model", "engine", "tier", "context", "cache", "concurrency", "output", "repeat"}
	cellParts      = map[string][]string{
		"model":  {"name", "id", "revision", "quantization", "context_window"},
		"engine": {"name", "kind", "version", "image", "flags"},
		"tier":   {"name", "gpu", "count", "memory_gib", "price_per_hour"},
		"output": {"name", "words", "policy", "canaries", "max_tokens"},
	}
)

// kept is an expression that is evaluated once a cell.
type kept struct {
	l    *loader
	expr hcl.Expression
}

// keep checks an expression's names and keeps it; nil where a name is wrong.
func (l *loader) keep(expr hcl.Expression) *kept {
	if !l.check(expr, l.cellScope()) || !l.weigh(expr, l.base) {
		return nil
	}
	return &kept{l: l, expr: expr}
}

// value evaluates the expression for a cell, as the type wanted.
func (k *kept) value(p Point, want cty.Type) (cty.Value, Diagnostics) {
	return k.seen(k.l.see(p).ctx, want)
}

func (k *kept) seen(ctx *hcl.EvalContext, want cty.Type) (cty.Value, Diagnostics) {
	diags := Diagnostics{files: k.l.diags.files}
	v, found := k.expr.Value(ctx)
	diags.add(found)
	if found.HasErrors() {
		return cty.NilVal, diags
	}
	fault := ""
	converted, err := convert.Convert(v, want)
	switch {
	case v.ContainsMarked():
		fault = "A sensitive value must not decide what is run: the plan would tell it."
	case err != nil:
		fault = fmt.Sprintf("This must be a %s, not %s.", want.FriendlyName(), described(v))
	case converted.IsNull():
		fault = fmt.Sprintf("This must be a %s, and it is null.", want.FriendlyName())
	}
	if fault != "" {
		at := k.expr.Range()
		diags.add(hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Wrong value for a cell", Detail: fault, Subject: &at, Expression: k.expr, EvalContext: ctx}})
		return cty.NilVal, diags
	}
	return converted, diags
}

// requests is the expression as a number of requests.
func (k *kept) requests(p Point) (int, Diagnostics) {
	v, diags := k.value(p, cty.Number)
	if diags.HasErrors() {
		return 0, diags
	}
	n, err := wholeNumber(v)
	if err == nil && (n < 1 || n > maxRequests) {
		err = fmt.Errorf("a cell has from 1 to %d requests, not %d", maxRequests, n)
	}
	if err != nil {
		at := k.expr.Range()
		diags.add(hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Wrong number of requests", Detail: err.Error() + ".", Subject: &at, Expression: k.expr, EvalContext: k.l.see(p).ctx}})
	}
	return n, diags
}

// holds is the expression as a yes or no.
func (k *kept) holds(p Point) (bool, Diagnostics) { return k.yes(k.l.see(p).ctx) }

func (k *kept) yes(ctx *hcl.EvalContext) (bool, Diagnostics) {
	v, diags := k.seen(ctx, cty.Bool)
	if diags.HasErrors() {
		return false, diags
	}
	return v.True(), diags
}
