package recipe

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Arrivals is when the requests of an open loop are to be sent, whether or not
// earlier ones have ended. The zero value is a closed loop.
type Arrivals struct {
	Shape      string  // one of the shapes below; empty: a closed loop
	Rate       float64 // requests a second; of a ramp, at its start
	To         float64 // of a ramp: the rate at its end
	Burstiness float64 // of gamma: the distribution's shape; 1 is Poisson, below 1 comes in bursts
	Size       int     // of bursts: requests that arrive at once
}

// Shapes of arrivals.
const (
	ShapeConstant = "constant"
	ShapePoisson  = "poisson"
	ShapeGamma    = "gamma"
	ShapeRamp     = "ramp"
	ShapeBurst    = "burst"
)

// shapeAttributes are what each shape needs.
var shapeAttributes = map[string][]string{
	ShapeConstant: {"rate"},
	ShapePoisson:  {"rate"},
	ShapeGamma:    {"rate", "burstiness"},
	ShapeRamp:     {"from", "to"},
	ShapeBurst:    {"rate", "size"},
}

const (
	largestRate  = 1e5
	smallestRate = 1e-3
)

// arrivals is the block as it is kept: each attribute is evaluated once a cell.
type arrivals struct {
	shape string
	attrs map[string]*kept
}

func (l *loader) arrivals(f *fields, content *hcl.BodyContent) *arrivals {
	blocks := content.Blocks.OfType("arrivals")
	if len(blocks) == 0 {
		return nil
	}
	block := blocks[0]
	if len(blocks) > 1 {
		f.fail(blocks[1].DefRange, "Declared twice", "A ladder has one arrivals block.")
		return nil
	}
	shape := block.Labels[0]
	names, ok := shapeAttributes[shape]
	if !ok {
		shapes := slices.Sorted(maps.Keys(shapeAttributes))
		f.fail(block.LabelRanges[0], "Unknown shape", "There are no arrivals %q.%s", shape, suggestion(shape, shapes, ""))
		return nil
	}
	schema := &hcl.BodySchema{}
	for _, name := range names {
		schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: name})
	}
	inner, diags := block.Body.Content(schema)
	l.diags.add(misplaced(diags, block.Type, schema))
	f.bad = f.bad || diags.HasErrors()
	a := &arrivals{shape: shape, attrs: map[string]*kept{}}
	for _, name := range names {
		attr := inner.Attributes[name]
		if attr == nil {
			f.fail(block.DefRange, "Missing attribute", "arrivals %q needs %s.", shape, list("", names))
			return nil
		}
		if a.attrs[name] = l.keep(attr.Expr); a.attrs[name] == nil {
			f.bad = true
		}
	}
	if f.bad {
		return nil
	}
	return a
}

// kepts are the block's expressions in a fixed order.
func (a *arrivals) kepts() []*kept {
	var out []*kept
	for _, name := range shapeAttributes[a.shape] {
		out = append(out, a.attrs[name])
	}
	return out
}

// of evaluates the block for a cell.
func (a *arrivals) of(p Point) (Arrivals, Diagnostics) {
	var diags Diagnostics
	out := Arrivals{Shape: a.shape}
	number := func(name string, least, most float64) float64 {
		k := a.attrs[name]
		if k == nil {
			return 0
		}
		v, more := k.value(p, cty.Number)
		if diags = diags.Append(more); more.HasErrors() {
			return 0
		}
		n, _ := v.AsBigFloat().Float64()
		if n >= least && n <= most && !math.IsNaN(n) {
			return n
		}
		at := k.expr.Range()
		wrong := Diagnostics{files: k.l.diags.files}
		wrong.add(hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Wrong arrivals", Detail: fmt.Sprintf("%s must be from %g to %g, not %g.", name, least, most, n), Subject: &at, Expression: k.expr, EvalContext: k.l.see(p).ctx}})
		diags = diags.Append(wrong)
		return n
	}
	out.Rate = number("rate", smallestRate, largestRate)
	if a.shape == ShapeRamp {
		out.Rate, out.To = number("from", smallestRate, largestRate), number("to", smallestRate, largestRate)
	}
	out.Burstiness = number("burstiness", 0.01, 100)
	out.Size = int(number("size", 1, maxRequests))
	if k := a.attrs["size"]; k != nil && !diags.HasErrors() {
		if v, _ := k.value(p, cty.Number); !v.AsBigFloat().IsInt() {
			at := k.expr.Range()
			wrong := Diagnostics{files: k.l.diags.files}
			wrong.add(hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Wrong arrivals", Detail: "size is a whole number of requests.", Subject: &at}})
			diags = diags.Append(wrong)
		}
	}
	return out, diags
}

// Arrivals is how a cell's requests arrive; the zero value is a closed loop.
func (r *Rung) Arrivals(p Point) (Arrivals, Diagnostics) {
	if r.arrivals == nil {
		return Arrivals{}, Diagnostics{}
	}
	return r.arrivals.of(p)
}

// Mean is the rate over n requests that the recipe asks for, in requests a
// second.
func (a Arrivals) Mean() float64 {
	if a.Shape == ShapeRamp {
		return (a.Rate + a.To) / 2
	}
	return a.Rate
}

// String is the arrivals for people: "poisson 8/s".
func (a Arrivals) String() string {
	switch a.Shape {
	case "":
		return "closed"
	case ShapeRamp:
		return fmt.Sprintf("ramp %g→%g/s", a.Rate, a.To)
	case ShapeGamma:
		return fmt.Sprintf("gamma %g/s burstiness %g", a.Rate, a.Burstiness)
	case ShapeBurst:
		return fmt.Sprintf("burst of %d, %g/s", a.Size, a.Rate)
	}
	return fmt.Sprintf("%s %g/s", a.Shape, a.Rate)
}
