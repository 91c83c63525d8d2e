package sweep

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"anvilsweep/client/prompt"
	"anvilsweep/recipe"
)

// Names of the identity rules, kept in manifest and artifact so that a later
// change of a rule is seen. docs/artifact.md lists the fields of each.
const (
	CellDigestRule  = "anvilsweep.cell-digest/v1"
	FingerprintRule = "anvilsweep.replica-configuration/v1"
)

// identities computes digests for many cells: their parts are blocks that
// thousands of cells share, and each is written once.
type identities struct {
	sweep        *recipe.Sweep
	parts        map[any]string
	fingerprints map[[3]any]string
	buf          []byte
}

func newIdentities(s *recipe.Sweep) *identities {
	return &identities{sweep: s, parts: map[any]string{}, fingerprints: map[[3]any]string{}}
}

// newCell gives a point its identity. The digest covers all that shapes the
// measurement and no name made for people; the seed is derived from it unless
// the recipe fixes one, so two cells never share prompts by accident.
func (id *identities) newCell(sourceRecipe string, p recipe.Point, requests int, arrivals recipe.Arrivals) Cell {
	s := id.sweep
	c := Cell{
		Sweep: s.Name, SourceRecipe: sourceRecipe, Point: p, Requests: requests, Arrivals: arrivals, Timeout: s.Timeout, Fresh: s.Fresh, Budget: s.CellBudget, Abort: s.Abort,
		Digest: id.digest(p, requests, arrivals), Fingerprint: id.fingerprint(p),
	}
	if s.Seed != nil {
		c.Seed, c.SeedOrigin = *s.Seed, "recipe"
	} else {
		c.Seed, c.SeedOrigin = seedFrom(c.Digest), seedOfRun
		if p.Context.Tokens == 0 {
			c.SeedOrigin = "cell_digest" // it draws the contexts: two runs must draw the same
		}
	}
	return c
}

func (id *identities) fingerprint(p recipe.Point) string {
	key := [3]any{p.Model, p.Engine, p.Tier}
	found, ok := id.fingerprints[key]
	if !ok {
		found = digest(replica(p))
		id.fingerprints[key] = found
	}
	return found
}

// digest is digest(measurement(…)), written from its parts.
func (id *identities) digest(p recipe.Point, requests int, arrivals recipe.Arrivals) string {
	type endpointKey struct{ t *recipe.Tier }
	type loadKey struct {
		r        *recipe.Rung
		requests int
		arrivals recipe.Arrivals
	}
	type workloadKey struct {
		c *recipe.Context
		o *recipe.Output
	}
	b := append(id.buf[:0], `{"endpoint":`...)
	b = append(b, id.part(endpointKey{p.Tier}, func() any { return endpointOf(p) })...)
	b = append(append(b, `,"engine":`...), id.part(p.Engine, func() any { return engineOf(p) })...)
	b = append(append(b, `,"load":`...), id.part(loadKey{p.Concurrency, requests, arrivals}, func() any { return loadOf(id.sweep, p, requests, arrivals) })...)
	b = append(append(b, `,"model":`...), id.part(p.Model, func() any { return modelOf(p) })...)
	b = strconv.AppendInt(append(b, `,"repeat":`...), int64(p.Repeat), 10)
	b = append(append(append(b, `,"rule":"`...), CellDigestRule...), `","sampling":`...)
	b = append(b, id.part(p.Output, func() any { return samplingOf(p) })...)
	b = append(append(b, `,"tier":`...), id.part(p.Tier, func() any { return tierOf(p) })...)
	b = append(append(b, `,"workload":`...), id.part(workloadKey{p.Context, p.Output}, func() any { return workloadOf(id.sweep, p) })...)
	b = append(b, '}')
	id.buf = b
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (id *identities) part(key any, value func() any) string {
	found, ok := id.parts[key]
	if !ok {
		found = string(canonical(value()))
		id.parts[key] = found
	}
	return found
}

// seedOfRun is the origin of a seed that each run of the cell derives anew.
const seedOfRun = "cell_digest_and_start"

// FixedSeed is the seed that the recipe fixes; nil where each run has its own.
func (c *Cell) FixedSeed() *int64 {
	if c.SeedOrigin == seedOfRun {
		return nil
	}
	return &c.Seed
}

// salted is the cell with the prompts of this run alone: on a server that has
// been up since the last one, the same prompts would be in its cache. A seed
// that the recipe fixes stays.
func (c *Cell) salted(start time.Time) *Cell {
	if c.SeedOrigin != seedOfRun {
		return c
	}
	out := *c
	out.Seed = seedFrom(digest(map[string]any{"cell": c.Digest, "start_unix_ns": start.UnixNano()}))
	return &out
}

// measurement is all that shapes a cell's figures.
func measurement(s *recipe.Sweep, p recipe.Point, requests int, arrivals recipe.Arrivals) map[string]any {
	return map[string]any{
		"rule": CellDigestRule, "endpoint": endpointOf(p), "engine": engineOf(p), "load": loadOf(s, p, requests, arrivals), "model": modelOf(p),
		"repeat": p.Repeat, "sampling": samplingOf(p), "tier": tierOf(p), "workload": workloadOf(s, p),
	}
}

// endpointOf: two tiers of the same GPU behind different addresses are two
// measurements, not one.
func endpointOf(p recipe.Point) map[string]any {
	out := map[string]any{"base_url": p.Tier.BaseURL, "profile": p.Tier.Profile}
	if n := Replicas(p); n > 1 {
		out["replicas"] = n
		if len(p.Tier.Replicas) > 0 {
			out["replicas"] = p.Tier.Replicas
		}
	}
	return out
}

// Replicas is how many servers a cell is measured on at once.
func Replicas(p recipe.Point) int {
	if embedded(p) {
		return max(1, p.Tier.Embedded)
	}
	return 1 + len(p.Tier.Replicas)
}

func loadOf(s *recipe.Sweep, p recipe.Point, requests int, a recipe.Arrivals) map[string]any {
	out := map[string]any{"loop": loop(a), "fresh_connections": s.Fresh, "concurrency": p.Concurrency.Value, "requests": requests, "warmup": p.Concurrency.Warmup}
	if a.Shape != "" {
		out["arrivals"] = map[string]any{"shape": a.Shape, "rate": a.Rate, "to": a.To, "burstiness": a.Burstiness, "size": a.Size}
	}
	return out
}

// loop names how requests are let in: a closed loop sends one when one has
// ended, an open one at its time.
func loop(a recipe.Arrivals) string {
	if a.Shape == "" {
		return "closed"
	}
	return "open"
}

func workloadOf(s *recipe.Sweep, p recipe.Point) map[string]any {
	return map[string]any{
		"context_tokens":       p.Context.Tokens,
		"cache":                p.Context.Cache,
		"shared_prefix_tokens": p.Context.SharedPrefixTokens,
		"prompt_rule":          promptRule(p.Context),
		"words":                p.Output.Words,
		"policy":               p.Output.Policy,
		"canaries":             p.Output.Canaries,
		"seed":                 s.Seed,
	}
}

func samplingOf(p recipe.Point) map[string]any {
	return map[string]any{
		"max_tokens":       p.Output.MaxTokens,
		"min_tokens":       p.Output.MinTokens,
		"ignore_eos":       p.Output.IgnoreEOS,
		"temperature":      p.Output.Temperature,
		"top_p":            p.Output.TopP,
		"thinking":         p.Output.Thinking,
		"reasoning_effort": p.Output.ReasoningEffort,
	}
}

func modelOf(p recipe.Point) map[string]any {
	return map[string]any{
		"id": p.Model.ID, "revision": p.Model.Revision,
		"quantization": p.Model.Quantization, "context_window": p.Model.ContextWindow,
	}
}

func engineOf(p recipe.Point) map[string]any {
	flags := p.Engine.Flags
	if flags == nil {
		flags = map[string]any{} // no flags and an empty set are one configuration
	}
	return map[string]any{"kind": p.Engine.Kind, "version": p.Engine.Version, "image": p.Engine.Image, "flags": flags}
}

func tierOf(p recipe.Point) map[string]any {
	return map[string]any{"gpu": p.Tier.GPU, "count": p.Tier.Count, "memory_gib": p.Tier.MemoryGiB}
}

func promptRule(c *recipe.Context) string {
	return prompt.Workload{Tokens: c.Sizing == recipe.SizingTokens}.Rule()
}

// replica is the normalised configuration of one server: what two replicas
// behind two ports have in common.
func replica(p recipe.Point) map[string]any {
	return map[string]any{"rule": FingerprintRule, "model": modelOf(p), "engine": engineOf(p), "tier": tierOf(p)}
}

// digest hashes canonical JSON.
func digest(v any) string {
	sum := sha256.Sum256(canonical(v))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// canonical is JSON with sorted keys, no insignificant space and no HTML
// escapes.
func canonical(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("sweep: identity of a cell is not JSON: " + err.Error()) // plain values only; recipe rejects the rest
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}

// seedFrom takes 31 bits of a digest: small enough to read in a canary.
func seedFrom(digest string) int64 {
	raw, err := hex.DecodeString(strings.TrimPrefix(digest, "sha256:"))
	if err != nil {
		panic("sweep: not a digest: " + digest)
	}
	return int64(binary.BigEndian.Uint32(raw[:4]) >> 1)
}

// nameCells gives each cell its id, such as "vllm.h200.ctx8192.c4.exact64-3fa9c1d2".
// The model is named only where a sweep has several.
func nameCells(cells []Cell) {
	models := map[*recipe.Model]bool{}
	for i := range cells {
		models[cells[i].Point.Model] = true
	}
	used := map[string]bool{}
	for i := range cells {
		c := &cells[i]
		hash := strings.TrimPrefix(c.Digest, "sha256:")
		readable := readableID(c.Point, len(models) > 1)
		id := readable + "-" + hash[:8]
		for n := 12; used[strings.ToLower(id)]; n += 4 {
			id = readable + "-" + hash[:n]
		}
		used[strings.ToLower(id)] = true
		c.ID = id
	}
}

func readableID(p recipe.Point, withModel bool) string {
	var parts []string
	if withModel {
		parts = append(parts, short(p.Model.Name))
	}
	parts = append(parts, short(p.Engine.Name), short(p.Tier.Name), contextName(p.Context),
		fmt.Sprintf("c%d", p.Concurrency.Value), short(outputName(p.Output)))
	for _, n := range p.Extra {
		parts = append(parts, short(n.Axis+n.Text))
	}
	if p.Repeat > 1 {
		parts = append(parts, fmt.Sprintf("r%d", p.Repeat))
	}
	return strings.Join(parts, ".")
}

func contextName(c *recipe.Context) string {
	name := fmt.Sprintf("ctx%d", c.Tokens)
	if c.Tokens == 0 {
		name = "ctxsampled"
	}
	if c.Cache == recipe.CacheShared {
		name += "-shared"
	}
	if c.Sizing == recipe.SizingTokens {
		name += "-tokens"
	}
	return name
}

func outputName(o *recipe.Output) string {
	if o.Name != "" {
		return o.Name
	}
	if o.Words == 0 {
		return "summary"
	}
	return fmt.Sprintf("words%d", o.Words)
}

// short makes a name safe for every file system and keeps ids under 255 bytes.
func short(name string) string {
	const limit = 40
	var b strings.Builder
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
		if b.Len() == limit {
			break
		}
	}
	return b.String()
}

// Axes names the cell's position for people and tables, by axis.
func Axes(p recipe.Point) map[string]string {
	context := fmt.Sprint(p.Context.Tokens)
	if p.Context.Tokens == 0 {
		context = "sampled"
	}
	axes := map[string]string{
		"model": p.Model.Name, "engine": p.Engine.Name, "tier": p.Tier.Name,
		"context": context, "concurrency": fmt.Sprint(p.Concurrency.Value), "output": outputName(p.Output),
	}
	for _, n := range p.Extra {
		axes[n.Axis] = n.Text
	}
	return axes
}
