package recipe

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

var modelSchema = schemaOf("id revision quantization context_window")

// maxWindow bounds a context window, in tokens.
const maxWindow = 1 << 30

func (l *loader) model(block *hcl.Block) (*Model, map[string]cty.Value) {
	f, _ := l.body(block, l.plainScope(), l.base, modelSchema)
	f.require("id", "the name that is sent in requests")
	m := &Model{
		At:   placeOf(block.DefRange),
		Name: block.Labels[0], ID: f.text("id"), Revision: f.text("revision"), Quantization: f.text("quantization"),
		ContextWindow: f.size("context_window", 1, maxWindow, 0),
	}
	if f.bad {
		return nil, nil
	}
	return m, m.shown()
}

func (m *Model) shown() map[string]cty.Value {
	return map[string]cty.Value{
		"name": cty.StringVal(m.Name), "id": cty.StringVal(m.ID), "revision": cty.StringVal(m.Revision),
		"quantization": cty.StringVal(m.Quantization), "context_window": cty.NumberIntVal(int64(m.ContextWindow)),
	}
}
