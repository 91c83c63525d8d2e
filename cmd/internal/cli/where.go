package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// keepWhere leaves of documents the runs that an expression holds for; what is no
// run stays.
func keepWhere(env Env, docs []*artifact.Document, text string) ([]*artifact.Document, error) {
	axes := map[string]bool{}
	for _, d := range docs {
		if d.Sweep != nil {
			for name := range d.Sweep.Axes {
				axes[name] = true
			}
		}
	}
	w, diags := recipe.ReadWhere("<--where>", text, slices.Sorted(maps.Keys(axes)))
	var kept []*artifact.Document
	runs, taken := 0, 0
	for _, d := range docs {
		if diags.HasErrors() {
			break
		}
		if d.Kind != artifact.KindBenchmark && d.Kind != artifact.KindAggregate {
			kept = append(kept, d)
			continue
		}
		runs++
		holds, more := w.Holds(measured(d))
		if diags = diags.Append(more); holds {
			taken++
			kept = append(kept, d)
		}
	}
	if diags.HasErrors() {
		if err := view.Diagnostics(env.Stderr, env.Getenv, diags); err != nil {
			return nil, failed(err)
		}
		return nil, silent(exitUsage)
	}
	if taken == 0 && runs > 0 {
		return nil, failed(fmt.Errorf("--where holds for none of %d artifacts", runs))
	}
	return kept, nil
}

// measured is a run in the names of a recipe's cell.
func measured(d *artifact.Document) recipe.Measured {
	output := map[string]any{"max_tokens": d.MaxTokens, "policy": d.Policy, "words": number(d.ResponseWords)}
	if d.RequestCanaries != nil {
		output["canaries"] = *d.RequestCanaries
	}
	model, engine := map[string]any{"name": d.Model}, map[string]any{"name": d.Engine}
	tier := map[string]any{"name": cmp.Or(d.Tier, d.GPU), "gpu": d.GPU}
	m := recipe.Measured{Cell: map[string]any{
		"model": model, "engine": engine, "tier": tier, "output": output,
		"context": cmp.Or(number(d.ContextTokens), any(0)), "cache": d.CacheMode, "concurrency": d.Concurrency,
	}}
	s := d.Sweep
	if s == nil {
		return m
	}
	m.Axes, m.Cell["repeat"], output["name"] = s.Axes, s.Repeat, s.Axes["output"]
	engine["name"], engine["kind"], engine["version"], engine["image"], engine["flags"] = s.Engine.Name, s.Engine.Kind, s.Engine.Version, s.Engine.Image, s.Engine.Flags
	model["name"], model["id"], model["revision"], model["quantization"], model["context_window"] =
		s.Model.Name, s.Model.ID, s.Model.Revision, s.Model.Quantization, number(s.Model.ContextWindow)
	if t := s.Tier; t != nil {
		tier["count"], tier["memory_gib"], tier["price_per_hour"] = t.Count, number(t.MemoryGiB), number(t.PricePerHour)
	}
	return m
}

// number is null where there is none.
func number[T int | float64](n *T) any {
	if n == nil {
		return nil
	}
	return *n
}
