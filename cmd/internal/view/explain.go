package view

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"anvilsweep/recipe"
	"anvilsweep/sweep"
)

// Explain tells a cell's story.
func Explain(w io.Writer, plan *sweep.Plan, s *sweep.PlannedSweep, c *sweep.Cell) {
	e := explained{shown{w}, plan.Recipe}
	p := c.Point
	e.pair("cell", c.ID)
	why := fmt.Sprintf("in the matrix of sweep %q", s.Name)
	if c.Included != "" {
		why = fmt.Sprintf("added to sweep %q by include %q", s.Name, c.Included)
	}
	e.pair("why", why+", "+c.SourceRecipe)
	e.pair("digest", c.Digest)
	e.pair("fingerprint", c.Fingerprint)
	e.from("model", p.Model.ID, p.Model.At)
	e.from("engine", strings.TrimSpace(p.Engine.Name+" "+p.Engine.Version), p.Engine.At)
	if len(p.Engine.Flags) > 0 {
		if flags, err := json.Marshal(p.Engine.Flags); err == nil {
			e.pair("flags", string(flags))
		}
	}
	address := p.Tier.BaseURL
	if address == "" {
		address = "the embedded engine, profile " + p.Tier.Profile
	}
	e.from("tier", p.Tier.Name+" at "+address, p.Tier.At)
	tokens := p.Context.Tokens
	context := fmt.Sprintf("%d tokens", tokens)
	if tokens == 0 {
		context = "sampled"
	}
	e.from("context", fmt.Sprintf("%s, %s prompts, sized by %s", context, p.Context.Cache, p.Context.Sizing), p.Context.At)
	e.from("concurrency", fmt.Sprint(p.Concurrency.Value), p.Concurrency.At)
	e.from("output", fmt.Sprintf("%s, max_tokens %d", outputText(p.Output), p.Output.MaxTokens), p.Output.At)
	for _, n := range p.Extra {
		e.from("axis."+n.Axis, n.Text, n.At)
	}
	e.pair("requests", fmt.Sprintf("%d, from %s; %d for warm-up", c.Requests, p.Concurrency.RequestsFrom(), p.Concurrency.Warmup))
	if c.Arrivals.Shape != "" {
		e.pair("arrivals", c.Arrivals.String()+", an open loop")
	}
	if n := sweep.Replicas(p); n > 1 {
		e.pair("replicas", fmt.Sprintf("%d, each with all of the requests", n))
	}
	e.pair("prompt tokens", fmt.Sprintf("%d planned", c.PlannedTokens()))
	seed := "derived anew in each run"
	if fixed := c.FixedSeed(); fixed != nil {
		seed = fmt.Sprintf("%d, from %s", *fixed, c.SeedOrigin)
	}
	e.pair("seed", seed)
	e.pair("repeat", fmt.Sprintf("%d of %d", p.Repeat, s.Rules.Repeat))
	for _, rule := range p.Concurrency.Stops {
		e.pair("stop "+rule.Name, rule.Text)
	}
	if goal := p.Concurrency.Search; goal != nil {
		e.pair("search", goal.Text)
	}
	for i := range s.Rules.Gates {
		gate := &s.Rules.Gates[i]
		if applies, diags := gate.Applies(p); applies && !diags.HasErrors() {
			e.pair("gate "+gate.Name, gate.Text)
		}
	}
	for _, v := range plan.Recipe.Variables {
		e.pair("var."+v.Name, fmt.Sprintf("%s (%s)", v.Value, v.Origin))
	}
}

type explained struct {
	shown
	recipe *recipe.Recipe
}

func (e explained) from(name, value string, at recipe.Place) {
	e.pair(name, fmt.Sprintf("%s  (%s line %d)", value, e.recipe.Portable(at.File), at.Line))
}

func outputText(o *recipe.Output) string {
	if o.Words == 0 {
		return "a short summary"
	}
	return fmt.Sprintf("%d words, %s", o.Words, o.Policy)
}
