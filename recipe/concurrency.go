package recipe

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

var concurrencySchema = schemaOf("ladder requests warmup",
	hcl.BlockHeaderSchema{Type: "stop", LabelNames: []string{"name"}},
	hcl.BlockHeaderSchema{Type: "search"},
	hcl.BlockHeaderSchema{Type: "arrivals", LabelNames: []string{"shape"}})

// Bounds of the artifact format.
const (
	maxConcurrency = 256
	maxRequests    = 10_000
	maxWarmup      = 1000
)

// concurrency decodes a ladder into one Rung a step.
func (l *loader) concurrency(block *hcl.Block) (*[]*Rung, map[string]cty.Value) {
	f, content := l.body(block, l.plainScope(), l.base, concurrencySchema, "requests")
	ladder, ok := f.require("ladder", "a number, a list, or ladder(from, to)")
	warmup := f.whole("warmup", 0, maxWarmup, 0)
	requests := defaultRequests
	var exprs []*kept
	text := ""
	if attr := content.Attributes["requests"]; attr != nil {
		kept := l.keep(attr.Expr)
		if kept == nil {
			f.bad = true
		} else {
			requests, exprs, text = kept.requests, append(exprs, kept), l.source(attr.Expr)
		}
	}
	stops, search := l.stops(f, content), l.search(f, content)
	for _, r := range stops {
		exprs = append(exprs, r.when)
	}
	if search != nil {
		exprs = append(exprs, search.when)
	}
	arrivals := l.arrivals(f, content)
	if arrivals != nil {
		exprs = append(exprs, arrivals.kepts()...)
	}
	if search != nil && len(stops) > 0 {
		f.fail(f.at, "Stop and search", "A ladder has stop rules or a search: a search decides itself which rungs are run.")
	}
	var out []*Rung
	if ok {
		for _, v := range f.elements("ladder", ladder) {
			if n, ok := f.concurrencyValue("ladder", v); ok {
				out = append(out, &Rung{At: placeOf(block.DefRange), Name: block.Labels[0], Value: n, Warmup: warmup, Stops: stops, Search: search, requests: requests, requestsText: text, arrivals: arrivals, exprs: exprs})
			}
		}
	}
	if f.bad {
		return nil, nil
	}
	return &out, map[string]cty.Value{"name": cty.StringVal(block.Labels[0]), "ladder": ladder.value, "warmup": cty.NumberIntVal(int64(warmup))}
}

func (f *fields) concurrencyValue(name string, g given) (int, bool) {
	if g.value.Type() != cty.Number {
		f.fail(g.at, "Wrong type", "%s must be a number, a list of numbers, or ladder(from, to) such as ladder(1, 32), not %s.", name, described(g.value))
		return 0, false
	}
	n, err := wholeNumber(g.value)
	if err == nil && (n < 1 || n > maxConcurrency) {
		err = fmt.Errorf("a concurrency is from 1 to %d, not %d", maxConcurrency, n)
	}
	if err != nil {
		f.fail(g.at, "Wrong concurrency", "%s: %s.", name, err)
		return 0, false
	}
	return n, true
}

// defaultRequests is what requests means where a recipe does not say:
// max(8, 4 * cell.concurrency).
func defaultRequests(p Point) (int, Diagnostics) {
	return max(8, 4*p.Concurrency.Value), Diagnostics{}
}

// Requests is how many requests a cell sends, warm-up left out.
func (r *Rung) Requests(p Point) (int, Diagnostics) { return r.requests(p) }

// RequestsFrom is the expression that requests come from.
func (r *Rung) RequestsFrom() string {
	if r.requestsText == "" {
		return "the default, max(8, 4 * cell.concurrency)"
	}
	return r.requestsText
}
