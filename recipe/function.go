package recipe

import (
	"fmt"
	"math"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Function is one function of the language.
type Function struct {
	Name string
	Does string

	impl function.Function
}

// Functions lists the language's functions, sorted. All are pure: the same
// recipe gives the same plan.
var Functions = []Function{
	{"abs", "magnitude of a number", stdlib.AbsoluteFunc},
	{"ceil", "smallest whole number not below", stdlib.CeilFunc},
	{"chomp", "text without the line ends at its end", stdlib.ChompFunc},
	{"chunklist", "list cut into lists of a length", stdlib.ChunklistFunc},
	{"coalesce", "first argument that is not null", stdlib.CoalesceFunc},
	{"coalescelist", "first list that is not empty", stdlib.CoalesceListFunc},
	{"compact", "list of texts without empty ones", stdlib.CompactFunc},
	{"concat", "lists one after the other", stdlib.ConcatFunc},
	{"contains", "whether a list has a value", stdlib.ContainsFunc},
	{"csvdecode", "list of objects from CSV text", stdlib.CSVDecodeFunc},
	{"distinct", "list without repeated values", stdlib.DistinctFunc},
	{"element", "element of a list, counted round", stdlib.ElementFunc},
	{"flatten", "nested lists as one", stdlib.FlattenFunc},
	{"floor", "largest whole number not above", stdlib.FloorFunc},
	{"format", "text from a format and values", formatFunc},
	{"formatlist", "list of texts from a format and lists", formatListFunc},
	{"grid", "ladder of context sizes: grid(\"1k\", \"30k\", 4) is 1000, 4000, 16000, 30000", gridFunc},
	{"indent", "text with its later lines moved in", indentFunc},
	{"index", "element of a list or map by its key", stdlib.IndexFunc},
	{"join", "texts of a list with a separator between", stdlib.JoinFunc},
	{"jsondecode", "value from JSON text", stdlib.JSONDecodeFunc},
	{"jsonencode", "JSON text of a value", stdlib.JSONEncodeFunc},
	{"keys", "keys of a map, sorted", stdlib.KeysFunc},
	{"kib", "number times 1024", kibFunc},
	{"ladder", "ladder(from, to, factor): from, then times the factor (2 where left out), and always to", ladderFunc},
	{"length", "how many elements a list or map has", stdlib.LengthFunc},
	{"log", "logarithm of a number in a base", stdlib.LogFunc},
	{"lookup", "value of a map by its key, or a default", stdlib.LookupFunc},
	{"lower", "text in small letters", stdlib.LowerFunc},
	{"max", "greatest of some numbers", stdlib.MaxFunc},
	{"merge", "maps as one, later ones win", stdlib.MergeFunc},
	{"min", "least of some numbers", stdlib.MinFunc},
	{"parseint", "whole number from text in a base", stdlib.ParseIntFunc},
	{"pow", "number to a power", stdlib.PowFunc},
	{"range", "numbers from a start to before an end, by a step", stdlib.RangeFunc},
	{"regex", "match of a pattern in a text", stdlib.RegexFunc},
	{"regexall", "all matches of a pattern in a text", stdlib.RegexAllFunc},
	{"regexreplace", "text with matches of a pattern replaced", stdlib.RegexReplaceFunc},
	{"replace", "text with another text replaced", stdlib.ReplaceFunc},
	{"reverse", "list in reverse", stdlib.ReverseListFunc},
	{"setintersection", "values that all sets have", stdlib.SetIntersectionFunc},
	{"setsubtract", "values of the first set that the second has not", stdlib.SetSubtractFunc},
	{"setunion", "values that any set has", stdlib.SetUnionFunc},
	{"signum", "sign of a number: -1, 0 or 1", stdlib.SignumFunc},
	{"size", "whole number from a size such as \"8k\" (8000) or \"128Ki\" (131072)", sizeFunc},
	{"slice", "part of a list", stdlib.SliceFunc},
	{"sort", "list of texts, sorted", stdlib.SortFunc},
	{"split", "list of texts from a text and a separator", stdlib.SplitFunc},
	{"strlen", "how many characters a text has", stdlib.StrlenFunc},
	{"strrev", "text in reverse", stdlib.ReverseFunc},
	{"substr", "part of a text", stdlib.SubstrFunc},
	{"title", "text with words beginning in capitals", stdlib.TitleFunc},
	{"tobool", "value as a bool", conversion(cty.Bool)},
	{"tonumber", "value as a number", conversion(cty.Number)},
	{"tostring", "value as a text", conversion(cty.String)},
	{"trim", "text without some characters at its ends", stdlib.TrimFunc},
	{"trimprefix", "text without a beginning", stdlib.TrimPrefixFunc},
	{"trimspace", "text without white space at its ends", stdlib.TrimSpaceFunc},
	{"trimsuffix", "text without an end", stdlib.TrimSuffixFunc},
	{"upper", "text in capitals", stdlib.UpperFunc},
	{"values", "values of a map, in order of their keys", stdlib.ValuesFunc},
	{"zipmap", "map from a list of keys and one of values", stdlib.ZipmapFunc},
}

var functionNames = func() []string {
	names := make([]string, len(Functions))
	for i, f := range Functions {
		names[i] = f.Name
	}
	return names
}()

func functionTable() map[string]function.Function {
	table := make(map[string]function.Function, len(Functions))
	for _, f := range Functions {
		table[f.Name] = f.impl
	}
	return table
}

// longestLadder bounds what a ladder may grow to.
const longestLadder = 10_000

var (
	ladderFunc = climb(cty.Number, "ladder", wholeNumber)
	// gridFunc is the ladder of context sizes, which may be written as "8k".
	gridFunc = climb(cty.DynamicPseudoType, "grid", sizeOf)
	kibFunc  = function.New(&function.Spec{
		Params: []function.Parameter{{Name: "number", Type: cty.Number}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return args[0].Multiply(cty.NumberIntVal(1024)), nil
		},
	})
)

// climb is a function from, to and factor that gives a list which keeps its
// end.
func climb(want cty.Type, name string, whole func(cty.Value) (int, error)) function.Function {
	return function.New(&function.Spec{
		Params:   []function.Parameter{{Name: "from", Type: want}, {Name: "to", Type: want}},
		VarParam: &function.Parameter{Name: "factor", Type: cty.Number},
		Type:     function.StaticReturnType(cty.List(cty.Number)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			from, err := whole(args[0])
			if err == nil && from < 1 {
				err = fmt.Errorf("a %s begins at 1 or more", name)
			}
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			to, err := whole(args[1])
			if err == nil && to < from {
				err = fmt.Errorf("a %s ends at its beginning or above, and %d is below %d", name, to, from)
			}
			if err != nil {
				return cty.NilVal, function.NewArgError(1, err)
			}
			factor := 2.0
			if len(args) > 2 {
				factor, _ = args[2].AsBigFloat().Float64()
			}
			if len(args) > 3 {
				return cty.NilVal, function.NewArgErrorf(3, "a %s has from, to and factor", name)
			}
			if factor <= 1 || math.IsInf(factor, 0) {
				return cty.NilVal, function.NewArgErrorf(2, "the factor must be above 1")
			}
			rungs, err := ladder(from, to, factor)
			if err != nil {
				return cty.NilVal, err
			}
			values := make([]cty.Value, len(rungs))
			for i, r := range rungs {
				values[i] = cty.NumberIntVal(int64(r))
			}
			return cty.ListVal(values), nil
		},
	})
}

// ladder climbs from one number to another, which it always keeps: each rung is
// the one before times the factor, rounded, and at least one more.
func ladder(from, to int, factor float64) ([]int, error) {
	rungs := []int{from}
	for last := from; last < to; {
		next := float64(to)
		if step := math.Round(float64(last) * factor); step < next {
			next = max(step, float64(last+1))
		}
		last = int(next)
		if rungs = append(rungs, last); len(rungs) > longestLadder {
			return nil, fmt.Errorf("the ladder has more than %d rungs; take a larger factor", longestLadder)
		}
	}
	return rungs, nil
}

var sizeFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		n, err := parseSize(args[0].AsString())
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		return cty.NumberIntVal(int64(n)), nil
	},
})

func conversion(want cty.Type) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true}},
		Type:   function.StaticReturnType(want),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := convert.Convert(args[0], want)
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return v, nil
		},
	})
}
