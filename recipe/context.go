package recipe

import (
	"fmt"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

var contextSchema = schemaOf("grid cache shared_prefix_tokens sizing")

// Bounds of the artifact format, in tokens.
const (
	minContext      = 32
	maxContext      = 1_048_576
	maxPrefix       = 262_144
	defaultPrefix   = 8000
	sampledContexts = "sampled"
)

// context decodes a grid into one Context a size.
func (l *loader) context(block *hcl.Block) (*[]*Context, map[string]cty.Value) {
	f, _ := l.body(block, l.plainScope(), l.base, contextSchema)
	grid, ok := f.require("grid", "a size, a list of sizes, or \"sampled\"")
	model := Context{At: placeOf(block.DefRange), Name: block.Labels[0], Cache: f.oneOf("cache", CacheUnique, CacheShared), Sizing: f.oneOf("sizing", SizingChars, SizingTokens)}
	prefix, said := f.known["shared_prefix_tokens"]
	switch {
	case model.Cache == CacheShared:
		model.SharedPrefixTokens = f.size("shared_prefix_tokens", 0, maxPrefix, defaultPrefix)
	case said && f.size("shared_prefix_tokens", 0, maxPrefix, 0) != 0:
		f.fail(prefix.at, "No shared prefix in unique mode", "shared_prefix_tokens needs cache = \"shared\"; unique prompts share nothing.")
	}
	var out []*Context
	if ok {
		for _, v := range f.elements("grid", grid) {
			if tokens, ok := f.contextTokens("grid", v); ok {
				one := model
				one.Tokens = tokens
				out = append(out, &one)
			}
		}
	}
	if f.bad {
		return nil, nil
	}
	return &out, map[string]cty.Value{"name": cty.StringVal(model.Name), "grid": grid.value, "cache": cty.StringVal(model.Cache)}
}

// contextTokens is a size in range, or 0 for the sampled distribution.
func (f *fields) contextTokens(name string, g given) (int, bool) {
	if g.value.Type() == cty.String && g.value.AsString() == sampledContexts {
		return 0, true
	}
	n, err := sizeOf(g.value)
	if err != nil {
		f.fail(g.at, "Wrong size", "%s: %s.", name, err)
		return 0, false
	}
	if n < minContext || n > maxContext {
		f.fail(g.at, "Size out of range", "A context is from %d to %d tokens, not %d.", minContext, maxContext, n)
		return 0, false
	}
	return n, true
}

// elements are the values of a list, or the one value that is no list. Null
// and nothing are errors: an axis of nothing is no sweep.
func (f *fields) elements(name string, g given) []given {
	t := g.value.Type()
	if !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
		return []given{g}
	}
	if g.value.LengthInt() == 0 {
		f.fail(g.at, "Empty list", "%s must have at least one value.", name)
		return nil
	}
	var out []given
	for it := g.value.ElementIterator(); it.Next(); {
		index, v := it.Element()
		if v.IsNull() {
			f.fail(g.at, "Null in a list", "%s has null %s; every value must be there.", name, position(index))
			continue
		}
		out = append(out, given{v, g.at})
	}
	return out
}

func position(index cty.Value) string {
	if index.Type() != cty.Number {
		return "in it"
	}
	n, _ := index.AsBigFloat().Int64()
	return fmt.Sprintf("as element %d", n+1)
}

func contextLabel(c *Context) string {
	if c.Tokens == 0 {
		return sampledContexts
	}
	return strconv.Itoa(c.Tokens)
}
