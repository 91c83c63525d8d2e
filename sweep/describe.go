package sweep

import (
	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// describe fills the artifact's sweep object with what the recipe declares and
// the endpoint says; artifact.Build adds the figures.
func (r *Runner) describe(ep *endpoint, c *Cell, m measured) *artifact.Sweep {
	p := c.Point
	s := &artifact.Sweep{
		Program: artifact.Program{Name: "anvilsweep", Version: r.Version},
		Name:    c.Sweep, CellID: c.ID, CellDigest: c.Digest,
		CellDigestRule: CellDigestRule, ConfigurationRule: FingerprintRule,
		Axes: Axes(p), Repeat: p.Repeat, State: "complete", Loop: loop(c.Arrivals), Connection: "reuse", SeedOrigin: c.SeedOrigin,
		Engine:         artifact.Engine{Name: p.Engine.Name, Kind: p.Engine.Kind, Version: p.Engine.Version, Image: p.Engine.Image, Flags: p.Engine.Flags},
		Model:          artifact.Model{Name: p.Model.Name, ID: p.Model.ID, Revision: p.Model.Revision, Quantization: p.Model.Quantization, ContextWindow: c.declaredWindow()},
		Tier:           describeTier(p.Tier),
		Endpoint:       ep.describe(p),
		RequestOptions: artifact.RequestOptions{MinTokens: p.Output.MinTokens, IgnoreEOS: p.Output.IgnoreEOS},
		Warmup:         m.warmup,
		Identity:       m.other,
		Arrivals:       describeArrivals(c),
		Server:         m.server,
		GPU:            m.gpu,
		InterChunk:     artifact.NewSpread(m.gather.gaps.Milliseconds()),
		PromptSize:     m.size.describe(p.Context),
		Client:         artifact.ClientFacts{Watch: m.watch},
	}
	if c.Fresh {
		s.Connection = "fresh"
	}
	if t := m.gather.trace; t != nil {
		name := t.name()
		s.Trace = &name
	}
	switch {
	case m.interrupted != "":
		s.State, s.StateReason = "interrupted", m.interrupted
	case m.cut != "":
		s.State, s.StateReason = "cut", m.cut
	}
	return s
}

// describeArrivals is the schedule as the recipe declares it; nil of a closed
// loop.
func describeArrivals(c *Cell) *artifact.Arrivals {
	a := c.Arrivals
	if a.Shape == "" {
		return nil
	}
	out := &artifact.Arrivals{Shape: a.Shape, Rate: a.Rate, Slots: c.Point.Concurrency.Value}
	switch a.Shape {
	case recipe.ShapeRamp:
		out.To = &a.To
	case recipe.ShapeGamma:
		out.Burstiness = &a.Burstiness
	case recipe.ShapeBurst:
		out.Size = &a.Size
	}
	return out
}

func describeTier(t *recipe.Tier) *artifact.Tier {
	out := &artifact.Tier{Name: t.Name, GPU: t.GPU, Count: t.Count, PricePerHour: t.PricePerHour, Currency: t.Currency, Profile: t.Profile}
	if t.MemoryGiB > 0 {
		out.MemoryGiB = &t.MemoryGiB
	}
	return out
}

func (ep *endpoint) describe(p recipe.Point) artifact.Endpoint {
	model := p.Model.ID
	out := artifact.Endpoint{ReportedModels: []string{}, Simulated: ep.simulated(model), Reported: ep.reported, TLSInsecure: p.Tier.TLS != nil && p.Tier.TLS.Insecure}
	if ep.proxy != nil {
		out.Proxy = &ep.proxy.Host
	}
	if p.Tier.UnixSocket != "" {
		out.UnixSocket = &p.Tier.UnixSocket
	}
	if ep.noModels != nil {
		text := ep.noModels.Error()
		out.ModelsError = &text
	}
	for _, m := range ep.models {
		out.ReportedModels = append(out.ReportedModels, m.ID)
	}
	if entry := ep.entry(model); entry != nil {
		out.MaxModelLen = entry.MaxModelLen
		if entry.OwnedBy != "" {
			out.OwnedBy = &entry.OwnedBy
		}
	}
	return out
}
