package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"anvilsweep/sweep/artifact"
)

// position is where a document stands, by the names that people give axes.
func position(d *artifact.Document) map[string]string {
	out := map[string]string{"model": d.Model, "engine": d.Engine, "tier": cmp.Or(d.Tier, d.GPU), "concurrency": fmt.Sprint(d.Concurrency), "context": "sampled"}
	if d.ContextTokens != nil {
		out["context"] = fmt.Sprint(*d.ContextTokens)
	}
	if d.Sweep != nil {
		maps.Copy(out, d.Sweep.Axes)
		out["sweep"] = d.Sweep.Name
	}
	return out
}

// axisOrder is how people read a position; other axes follow by name.
var axisOrder = []string{"sweep", "model", "engine", "tier", "context", "concurrency", "output"}

func rank(name string) int {
	if i := slices.Index(axisOrder, name); i >= 0 {
		return i
	}
	return len(axisOrder)
}

// place is a position without some of its axes, as a key and for people.
func place(axes map[string]string, without ...string) string {
	var parts []string
	names := slices.SortedFunc(maps.Keys(axes), func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
	for _, name := range names {
		if !slices.Contains(without, name) {
			parts = append(parts, name+"="+axes[name])
		}
	}
	return strings.Join(parts, " ")
}

// Place is where a document stands among the cells of any set, for people and
// as a key: two nights of one cell have one place.
func Place(d *artifact.Document) string { return place(position(d)) }

// Natural orders places so that numbers in them ascend.
func Natural(a, b string) int { return natural(a, b) }

// Varying names the axes in which places differ.
func Varying(places []string) map[string]bool {
	seen := map[string]string{}
	out := map[string]bool{}
	for _, p := range places {
		for _, part := range strings.Split(p, " ") {
			name, value, _ := strings.Cut(part, "=")
			if before, ok := seen[name]; ok && before != value {
				out[name] = true
			}
			seen[name] = value
		}
	}
	return out
}

// Short is a place without the axes in which no place differs.
func Short(place string, varying map[string]bool) string {
	var parts []string
	for _, part := range strings.Split(place, " ") {
		if name, _, _ := strings.Cut(part, "="); varying[name] {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "(the one cell)"
	}
	return strings.Join(parts, " ")
}

// Differences are what keeps two documents of one place from being about the
// same, each as "field this and that".
func Differences(a, b *artifact.Document) []string { return differs(a, b, "", nil) }

// OfTheServer reports whether a difference is one of the server's own: engine or
// GPU. Any other is one of the work that it was given.
func OfTheServer(difference string) bool {
	return strings.HasPrefix(difference, "engine ") || strings.HasPrefix(difference, "engine.") || strings.HasPrefix(difference, "gpu ")
}

// natural orders places so that numbers in them ascend.
func natural(a, b string) int {
	for x, y := strings.Fields(a), strings.Fields(b); len(x) > 0 && len(y) > 0; x, y = x[1:], y[1:] {
		if x[0] == y[0] {
			continue
		}
		_, v, _ := strings.Cut(x[0], "=")
		_, w, _ := strings.Cut(y[0], "=")
		n, err := strconv.ParseFloat(v, 64)
		m, err2 := strconv.ParseFloat(w, 64)
		if err == nil && err2 == nil {
			return cmp.Compare(n, m)
		}
		return cmp.Compare(x[0], y[0])
	}
	return cmp.Compare(len(a), len(b))
}

// control is one of the things that two cells must have in common for their
// figures to be about the same.
type control struct {
	name string
	of   func(*artifact.Document) any
}

// controls are the contract's matched fields and sampling, then what our own
// artifacts know besides.
var controls = []control{
	{"measurement_protocol", func(d *artifact.Document) any { return d.Protocol }},
	{"model", func(d *artifact.Document) any { return d.Model }},
	{"requests", func(d *artifact.Document) any { return d.Requests }},
	{"max_tokens", func(d *artifact.Document) any { return d.MaxTokens }},
	{"response_words", func(d *artifact.Document) any { return plain(d.ResponseWords) }},
	{"controlled_output_policy", func(d *artifact.Document) any { return d.Policy }},
	{"prompt_cache_mode", func(d *artifact.Document) any { return d.CacheMode }},
	{"shared_prefix_tokens", func(d *artifact.Document) any {
		if d.CacheMode == "unique" {
			return nil
		}
		return plain(d.SharedPrefixTokens)
	}},
	{"request_canaries", func(d *artifact.Document) any { return plain(d.RequestCanaries) }},
	{"thinking_mode", func(d *artifact.Document) any { return d.ThinkingMode }},
	{"reasoning_effort", func(d *artifact.Document) any { return d.ReasoningEffort }},
	{"temperature", func(d *artifact.Document) any { return plain(d.Temperature) }},
	{"top_p", func(d *artifact.Document) any { return plain(d.TopP) }},
	{"prompt sizing", ours(func(s *artifact.Sweep) any { return s.PromptSize.Sizing })},
	{"loop", ours(func(s *artifact.Sweep) any { return s.Loop })},
	{"connection", ours(func(s *artifact.Sweep) any { return s.Connection })},
	{"arrivals", ours(func(s *artifact.Sweep) any {
		if s.Arrivals == nil {
			return nil
		}
		return fmt.Sprint(s.Arrivals.Shape, s.Arrivals.Rate, plain(s.Arrivals.To), plain(s.Arrivals.Burstiness), plain(s.Arrivals.Size))
	})},
	{"engine kind", ours(func(s *artifact.Sweep) any { return s.Engine.Kind })},
	{"engine version", ours(func(s *artifact.Sweep) any { return s.Engine.Version })},
	{"engine image", ours(func(s *artifact.Sweep) any { return s.Engine.Image })},
	{"gpu", func(d *artifact.Document) any { return d.GPU }},
	{"simulated", ours(func(s *artifact.Sweep) any { return s.Endpoint.Simulated })},
}

func plain[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func ours(of func(*artifact.Sweep) any) func(*artifact.Document) any {
	return func(d *artifact.Document) any {
		if d.Sweep == nil {
			return nil
		}
		return of(d.Sweep)
	}
}

// belongs are the controls that an axis is about, which may differ where the
// axis is the factor.
var belongs = map[string][]string{
	"engine":      {"engine kind", "engine version", "engine image", "measurement_protocol"},
	"tier":        {"gpu"},
	"model":       {"model", "measurement_protocol"},
	"concurrency": {"requests"},
	"output":      {"max_tokens", "response_words", "controlled_output_policy", "request_canaries", "temperature", "top_p", "thinking_mode", "reasoning_effort", "measurement_protocol"},
}

// differs is what keeps two documents from being compared, beyond the factor.
func differs(a, b *artifact.Document, factor string, allowed []string) []string {
	var out []string
	for _, c := range controls {
		x, y := c.of(a), c.of(b)
		if reflect.DeepEqual(x, y) || slices.Contains(belongs[factor], c.name) || slices.Contains(allowed, c.name) {
			continue
		}
		if (a.Sweep == nil || b.Sweep == nil) && (x == nil || y == nil) {
			continue // another writer does not say
		}
		out = append(out, fmt.Sprintf("%s %s and %s", c.name, show(x), show(y)))
	}
	if a.Sweep != nil && b.Sweep != nil && factor != "engine" {
		for _, name := range flagNames(a.Sweep.Engine.Flags, b.Sweep.Engine.Flags) {
			x, y := a.Sweep.Engine.Flags[name], b.Sweep.Engine.Flags[name]
			at := "engine.flags." + name
			_, axis := a.Sweep.Axes[factor]
			if !reflect.DeepEqual(x, y) && !slices.Contains(allowed, at) && !(axis && !builtin(factor)) {
				out = append(out, fmt.Sprintf("%s %s and %s", at, show(x), show(y)))
			}
		}
	}
	return out
}

// builtin reports an axis that every sweep has; one of its own may set the
// engine's flags.
func builtin(axis string) bool {
	return slices.Contains([]string{"model", "engine", "tier", "context", "concurrency", "output", "repeat", ""}, axis)
}

func flagNames(a, b map[string]any) []string {
	names := map[string]bool{}
	for name := range a {
		names[name] = true
	}
	for name := range b {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func show(v any) string {
	data, err := json.Marshal(v)
	if err != nil || string(data) == `""` || string(data) == "null" {
		return "none"
	}
	return string(data)
}
