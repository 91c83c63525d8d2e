package recipe

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Kinds are the engines a recipe can name, sorted. openai is any server that
// speaks the API; sim is the embedded engine.
var Kinds = []string{"llamacpp", "ollama", "openai", "sglang", "sim", "trtllm", "vllm"}

var engineSchema = schemaOf("kind version image flags labels")

func (l *loader) engine(block *hcl.Block) (*Engine, map[string]cty.Value) {
	f, content := l.body(block, l.plainScope(), l.base, engineSchema)
	name := block.Labels[0]
	kind := "openai"
	if slices.Contains(Kinds, name) {
		kind = name
	}
	if _, said := f.known["kind"]; said {
		kind = f.oneOf("kind", Kinds...)
	}
	e := &Engine{
		Name: name, Kind: kind, Version: f.text("version"), Image: f.text("image"), Flags: f.object("flags"), Labels: f.texts("labels"),
	}
	if f.bad {
		return nil, nil
	}
	shown := map[string]cty.Value{
		"name": cty.StringVal(name), "kind": cty.StringVal(kind), "version": cty.StringVal(e.Version), "image": cty.StringVal(e.Image),
		"flags": cty.EmptyObjectVal,
	}
	if attr := content.Attributes["flags"]; attr != nil {
		if g, ok := f.known["flags"]; ok {
			shown["flags"] = g.value
		}
	}
	return e, shown
}
