package recipe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Results are what a rule knows beside its cell, by metric. A metric that is
// nil, or not there, leaves a rule that needs it undecided.
type Results struct {
	Result   map[string]*float64 // of the cell itself
	Previous map[string]*float64 // of the rung below
	Baseline map[string]*float64 // of the same cell in an earlier run
}

// Rule is a condition over a cell and its results.
type Rule struct {
	Name string
	Text string // the condition as it is written

	where *kept // nil: everywhere
	when  *kept
}

// Figure is a metric that a rule names, "result.ttft_p95_ms".
type Figure struct {
	Name  string
	Value *float64
}

// Figures are what the rule names of results, each once, in the order in which
// it names them.
func (r *Rule) Figures(results Results) []Figure {
	var out []Figure
	of := map[string]map[string]*float64{"result": results.Result, "previous": results.Previous, "baseline": results.Baseline}
	for _, t := range r.when.expr.Variables() {
		values, known := of[t.RootName()]
		metric, ok := second(t)
		name := t.RootName() + "." + metric
		if known && ok && !slices.ContainsFunc(out, func(f Figure) bool { return f.Name == name }) {
			out = append(out, Figure{name, values[metric]})
		}
	}
	return out
}

// Verdict is what a rule says.
type Verdict int

// Verdicts of a rule.
const (
	Undecided Verdict = iota // a metric that it needs is not there
	No
	Yes
)

// Applies reports whether the rule is about the cell.
func (r *Rule) Applies(p Point) (bool, Diagnostics) {
	if r.where == nil {
		return true, Diagnostics{}
	}
	return r.where.holds(p)
}

// Decide evaluates the rule's condition.
func (r *Rule) Decide(p Point, results Results) (Verdict, Diagnostics) {
	l := r.when.l
	diags := Diagnostics{files: l.diags.files}
	ctx := l.see(p).ctx.NewChild()
	ctx.Variables = map[string]cty.Value{
		"result": l.metrics(results.Result), "previous": l.metrics(results.Previous), "baseline": l.metrics(results.Baseline),
	}
	v, found := r.when.expr.Value(ctx)
	diags.add(found)
	if found.HasErrors() {
		return Undecided, diags
	}
	v, _ = v.Unmark()
	decided, err := convert.Convert(v, cty.Bool)
	at := r.when.expr.Range()
	if err != nil || decided.IsNull() {
		diags.add(hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Wrong value of a rule", Detail: fmt.Sprintf("A rule is yes or no, not %s.", described(v)), Subject: &at, Expression: r.when.expr, EvalContext: ctx}})
		return Undecided, diags
	}
	switch {
	case !decided.IsKnown():
		return Undecided, diags
	case decided.True():
		return Yes, diags
	}
	return No, diags
}

// metrics are a cell's figures as expressions see them; what is not there is
// unknown, and so is all that is computed from it.
func (l *loader) metrics(values map[string]*float64) cty.Value {
	out := make(map[string]cty.Value, len(l.metricNames))
	for _, name := range l.metricNames {
		out[name] = cty.UnknownVal(cty.Number)
		if v := values[name]; v != nil {
			out[name] = cty.NumberFloatVal(*v)
		}
	}
	return cty.ObjectVal(out)
}

// Budget bounds what a sweep may use; zero is no bound.
type Budget struct {
	Requests     int
	PromptTokens int
	Minutes      float64
	Cost         float64 // in the tiers' currency
}

// What becomes of a sweep when a cell fails.
const (
	OnFailureContinue = "continue"    // the next cell is run
	OnFailureLadder   = "stop_ladder" // the rungs above it are not
	OnFailureStop     = "stop_sweep"  // the rest of the sweep is not
)

var (
	stopSchema   = schemaOf("when")
	gateSchema   = schemaOf("where assert")
	searchSchema = schemaOf("goal")
	budgetSchema = schemaOf("requests prompt_tokens minutes cost")
)

// ruleScope is what a rule over results may name.
func (l *loader) ruleScope() scope {
	s := l.cellScope()
	for _, root := range []string{"result", "previous", "baseline"} {
		s[root] = l.metricNames
	}
	return s
}

// rule decodes a condition over results, and over the cell alone where it says
// where it applies.
func (l *loader) rule(f *fields, block *hcl.Block, schema *hcl.BodySchema, condition, hint string) (Rule, bool) {
	inner, diags := block.Body.Content(schema)
	l.diags.add(misplaced(diags, block.Type, schema))
	name := block.Type
	if len(block.Labels) > 0 {
		name = block.Labels[0]
	}
	attr := inner.Attributes[condition]
	if attr == nil {
		f.fail(block.DefRange, "Missing attribute", "%s %q needs %s: %s.", block.Type, name, condition, hint)
		return Rule{}, false
	}
	r := Rule{Name: name, Text: l.source(attr.Expr)}
	ok := !diags.HasErrors() && l.check(attr.Expr, l.ruleScope()) && l.weigh(attr.Expr, l.base)
	r.when = &kept{l: l, expr: attr.Expr}
	if where := inner.Attributes["where"]; where != nil {
		r.where = l.keep(where.Expr)
		ok = ok && r.where != nil
	}
	f.bad = f.bad || !ok
	return r, ok
}

// source is an expression as it is written, on one line.
func (l *loader) source(expr hcl.Expression) string {
	at := expr.Range()
	file := l.diags.files[at.Filename]
	if file == nil || at.End.Byte > len(file.Bytes) {
		return ""
	}
	return strings.Join(strings.Fields(string(at.SliceBytes(file.Bytes))), " ")
}

func (l *loader) stops(f *fields, content *hcl.BodyContent) []Rule {
	var out []Rule
	for _, block := range content.Blocks.OfType("stop") {
		if r, ok := l.rule(f, block, stopSchema, "when", "a condition over result and previous, such as result.ttft_p95_ms > 5000"); ok {
			out = append(out, r)
		}
	}
	return out
}

func (l *loader) gates(f *fields, content *hcl.BodyContent) []Rule {
	var out []Rule
	for _, block := range content.Blocks.OfType("gate") {
		if r, ok := l.rule(f, block, gateSchema, "assert", "what must hold, such as result.ttft_p95_ms < 2000"); ok {
			out = append(out, r)
		}
	}
	return out
}

func (l *loader) search(f *fields, content *hcl.BodyContent) *Rule {
	blocks := content.Blocks.OfType("search")
	if len(blocks) == 0 {
		return nil
	}
	if len(blocks) > 1 {
		f.fail(blocks[1].DefRange, "Declared twice", "A ladder has one search block.")
	}
	r, ok := l.rule(f, blocks[0], searchSchema, "goal", "what the highest rung must still meet, such as result.ttft_p95_ms < 2000")
	if !ok {
		return nil
	}
	return &r
}

// budget decodes the block of that name: budget is the sweep's, cell_budget
// each cell's.
func (l *loader) budget(f *fields, content *hcl.BodyContent, name string) Budget {
	blocks := content.Blocks.OfType(name)
	if len(blocks) == 0 {
		return Budget{}
	}
	if len(blocks) > 1 {
		f.fail(blocks[1].DefRange, "Declared twice", "A sweep has one %s block.", name)
	}
	inner, _ := l.body(blocks[0], l.plainScope(), l.base, budgetSchema)
	b := Budget{Requests: inner.size("requests", 1, 1<<40, 0), PromptTokens: inner.size("prompt_tokens", 1, 1<<50, 0)}
	for name, at := range map[string]*float64{"minutes": &b.Minutes, "cost": &b.Cost} {
		if v := inner.decimal(name, 0, largestDecimal); v != nil {
			*at = *v
		}
	}
	f.bad = f.bad || inner.bad
	return b
}

// tryRules evaluates a sweep's rules over a cell without results, so that a
// wrong type is found before any request.
func (l *loader) tryRules(f *fields, first Point, rungs []Value, gates []Rule) {
	try := func(r *Rule) {
		_, diags := r.Applies(first)
		_, more := r.Decide(first, Results{})
		diags = diags.Append(more)
		l.diags = l.diags.Append(diags)
		f.bad = f.bad || diags.HasErrors()
	}
	var seen []*Rule
	for _, v := range rungs {
		rung := v.(*Rung)
		if rung.Search != nil && !slices.Contains(seen, rung.Search) {
			seen = append(seen, rung.Search)
			try(rung.Search)
		}
		for i := range rung.Stops {
			if r := &rung.Stops[i]; !slices.Contains(seen, r) {
				seen = append(seen, r)
				try(r)
			}
		}
	}
	for i := range gates {
		try(&gates[i])
		l.warnP99(&gates[i], first)
	}
}

// warnP99: the format calls a p99 of fewer than 100 requests descriptive.
func (l *loader) warnP99(r *Rule, first Point) {
	const enough = 100
	n, diags := first.Concurrency.Requests(first)
	if diags.HasErrors() || n >= enough {
		return
	}
	for _, t := range r.when.expr.Variables() {
		if name, ok := second(t); ok && strings.Contains(name, "_p99") {
			l.diags.warn(t.SourceRange(), "A gate on few requests", fmt.Sprintf("%s of fewer than %d requests is the slowest few of them, and this sweep has cells of %d; raise requests, or gate on p95.", name, enough, n))
		}
	}
}
