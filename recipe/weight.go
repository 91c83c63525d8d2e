package recipe

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

const (
	// heaviest bounds what an expression may grow to, in characters: an
	// evaluation cannot be stopped once it has begun. An element of a collection
	// weighs as much as its bookkeeping takes.
	heaviest      = 1 << 25
	elementWeight = 32
	// longestRange is what range() gives at most.
	longestRange = 1024
	// widest bounds the blanks that format and indent may be asked for.
	widest = 10_000
)

// weigh refuses an expression whose value could be too large, before it is
// evaluated: what it names times what its for loops go over.
func (l *loader) weigh(expr hcl.Expression, ctx *hcl.EvalContext) bool {
	at := expr.Range()
	weight := float64(at.End.Byte - at.Start.Byte)
	for _, t := range expr.Variables() {
		if v, diags := t.TraverseAbs(ctx); !diags.HasErrors() {
			weight += sizeOfValue(v)
		}
	}
	if node, ok := expr.(hclsyntax.Node); ok {
		loops := &loopWalk{ctx: ctx, most: 1, path: []float64{1}}
		if diags := hclsyntax.Walk(node, loops); !diags.HasErrors() {
			weight *= loops.most
		}
	} else if n := strings.Count(l.source(expr), "for "); n > 2 {
		weight *= math.Pow(longestRange, float64(n)) // HCL's JSON syntax hides how loops nest
	}
	if weight <= heaviest {
		return true
	}
	l.diags.fault(at, "Value too large", fmt.Sprintf("The value could grow to %.3g characters, or a %dth of that in elements; the most is %d.", weight, elementWeight, int(heaviest)))
	return false
}

// loopWalk finds the most turns that nested for loops take together.
type loopWalk struct {
	ctx  *hcl.EvalContext
	path []float64
	most float64
}

// Enter is part of hclsyntax.Walker.
func (w *loopWalk) Enter(node hclsyntax.Node) hcl.Diagnostics {
	if loop, ok := node.(*hclsyntax.ForExpr); ok {
		turns := w.path[len(w.path)-1] * w.turns(loop.CollExpr)
		w.path = append(w.path, turns)
		w.most = max(w.most, turns)
	}
	return nil
}

// Exit is part of hclsyntax.Walker.
func (w *loopWalk) Exit(node hclsyntax.Node) hcl.Diagnostics {
	if _, ok := node.(*hclsyntax.ForExpr); ok {
		w.path = w.path[:len(w.path)-1]
	}
	return nil
}

// turns is how many elements a collection may have.
func (w *loopWalk) turns(expr hclsyntax.Expression) float64 {
	switch e := expr.(type) {
	case *hclsyntax.TupleConsExpr:
		return float64(len(e.Exprs))
	case *hclsyntax.ObjectConsExpr:
		return float64(len(e.Items))
	case *hclsyntax.ScopeTraversalExpr:
		if v, diags := e.Traversal.TraverseAbs(w.ctx); !diags.HasErrors() && v.CanIterateElements() {
			unmarked, _ := v.Unmark()
			return float64(unmarked.LengthInt())
		}
	case *hclsyntax.FunctionCallExpr:
		if e.Name != "range" && e.Name != "ladder" && e.Name != "grid" {
			break
		}
		if v, diags := e.Value(w.ctx); !diags.HasErrors() && v.IsKnown() {
			unmarked, _ := v.Unmark()
			return float64(unmarked.LengthInt())
		}
		if e.Name != "range" { // of another loop's variable
			return longestLadder
		}
	}
	return longestRange
}

// sizeOfValue weighs a value's characters and elements.
func sizeOfValue(v cty.Value) float64 {
	v, _ = v.Unmark()
	switch {
	case v.IsNull() || !v.IsKnown():
		return 1
	case v.Type() == cty.String:
		return float64(len(v.AsString()))
	case v.CanIterateElements():
		sum := float64(elementWeight)
		for it := v.ElementIterator(); it.Next() && sum < math.MaxInt32; {
			_, element := it.Element()
			sum += sizeOfValue(element)
		}
		return sum
	}
	return elementWeight
}

var wideVerb = regexp.MustCompile(`%[^a-zA-Z%]*(?:[0-9]{5,}|\*)`)

// narrow is format or formatlist without columns of any width.
func narrow(f function.Function) function.Function {
	return function.New(&function.Spec{
		Params:   f.Params(),
		VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if v := args[0]; v.IsKnown() && !v.IsNull() && v.Type() == cty.String {
				if unmarked, _ := v.Unmark(); wideVerb.MatchString(unmarked.AsString()) {
					return cty.NilType, function.NewArgErrorf(0, "a column may be %d wide at most", widest)
				}
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

var (
	formatFunc     = narrow(stdlib.FormatFunc)
	formatListFunc = narrow(stdlib.FormatListFunc)
	indentFunc     = function.New(&function.Spec{
		Params: stdlib.IndentFunc.Params(),
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if n, err := wholeNumber(args[0]); err != nil || n < 0 || n > widest {
				return cty.NilVal, function.NewArgErrorf(0, "from 0 to %d blanks", widest)
			}
			return stdlib.IndentFunc.Call(args)
		},
	})
)
