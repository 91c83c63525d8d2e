package recipe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

const outputAttributes = "words policy canaries max_tokens min_tokens ignore_eos temperature top_p thinking reasoning_effort"

var (
	outputSchema = schemaOf(outputAttributes)
	efforts      = []string{"none", "minimal", "low", "medium", "high", "max", "xhigh"}
)

// Bounds of the artifact format.
const (
	maxWords         = 65_536
	maxTokens        = 65_536
	canaryMaxTokens  = 16 // a marker needs room
	maxTemperature   = 2
	smallestTopP     = 1e-9
	requiredMaxToken = "the completion cap that is sent, such as 512"
)

func (l *loader) output(block *hcl.Block) (*Output, map[string]cty.Value) {
	f, _ := l.body(block, l.plainScope(), l.base, outputSchema)
	o := f.output(block.Labels[0])
	o.At = placeOf(block.DefRange)
	if f.bad {
		return nil, nil
	}
	return o, o.shown()
}

// inlineOutput decodes an output written as an object in a sweep.
func (l *loader) inlineOutput(g given) *Output {
	f := &fields{l: l, what: "output", at: g.at, known: map[string]given{}}
	allowed := strings.Fields(outputAttributes)
	for it := g.value.ElementIterator(); it.Next(); {
		key, v := it.Element()
		name := key.AsString()
		if !slices.Contains(allowed, name) {
			f.fail(g.at, "Unsupported attribute", "An output has no %q.%s", name, suggestion(name, allowed, ""))
			continue
		}
		if !v.IsNull() {
			f.known[name] = given{v, g.at}
		}
	}
	o := f.output("")
	o.At = placeOf(g.at)
	if f.bad {
		return nil
	}
	return o
}

func (f *fields) output(name string) *Output {
	f.require("max_tokens", requiredMaxToken)
	o := &Output{
		Name: name, Words: f.whole("words", 0, maxWords, 0), Policy: f.oneOf("policy", PolicyObserve, PolicyStrict),
		Canaries: f.flag("canaries", true), MaxTokens: f.size("max_tokens", 1, maxTokens, 1),
		MinTokens: f.wholePointer("min_tokens", 0, maxTokens), Temperature: f.decimal("temperature", 0, maxTemperature),
		TopP: f.decimal("top_p", smallestTopP, 1), Thinking: f.oneOf("thinking", "default", "enabled", "disabled"),
	}
	if _, said := f.known["ignore_eos"]; said {
		on := f.flag("ignore_eos", false)
		o.IgnoreEOS = &on
	}
	if _, said := f.known["reasoning_effort"]; said {
		o.ReasoningEffort = f.oneOf("reasoning_effort", efforts...)
	}
	if !f.bad {
		f.outputRules(o)
	}
	return o
}

// outputRules are those of the format that need two attributes.
func (f *fields) outputRules(o *Output) {
	at := func(name string) hcl.Range {
		if g, ok := f.known[name]; ok {
			return g.at
		}
		return f.at
	}
	if o.Policy == PolicyStrict && o.Words == 0 {
		f.fail(at("policy"), "Strict needs words", "policy = \"strict\" holds responses to a number of words; set words.")
	}
	if o.Canaries && o.MaxTokens < canaryMaxTokens {
		f.fail(at("max_tokens"), "Too few tokens for canaries", "A canary marker needs max_tokens of %d or more; raise it or set canaries = false.", canaryMaxTokens)
	}
	if o.ReasoningEffort != "" && o.Thinking != "default" {
		f.fail(at("reasoning_effort"), "Two ways to think", "Set thinking or reasoning_effort, not both.")
	}
	if o.MinTokens != nil && *o.MinTokens > o.MaxTokens {
		f.fail(at("min_tokens"), "Limits out of order", "min_tokens %d is above max_tokens %d.", *o.MinTokens, o.MaxTokens)
	}
}

func (o *Output) shown() map[string]cty.Value {
	return map[string]cty.Value{
		"name": cty.StringVal(o.Name), "words": cty.NumberIntVal(int64(o.Words)), "policy": cty.StringVal(o.Policy),
		"canaries": cty.BoolVal(o.Canaries), "max_tokens": cty.NumberIntVal(int64(o.MaxTokens)),
	}
}

// outputLabel tells inline outputs apart in plans.
func outputLabel(o *Output) string {
	switch {
	case o.Name != "":
		return o.Name
	case o.Words == 0:
		return "summary"
	}
	return fmt.Sprintf("words%d", o.Words)
}
