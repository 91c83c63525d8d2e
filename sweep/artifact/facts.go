package artifact

import (
	"runtime"
	"slices"
	"time"

	"anvilsweep/sweep/metrics"
)

// fill computes the sweep object's figures over all requests, so that a cell's
// failures show where the format's own rates leave them out.
func (s *Sweep) fill(a *Artifact, results []Result, kinds []string) {
	s.Schema = CellSchema
	s.Attempted = a.Requests
	if wall := a.WallClockMS / 1000; wall > 0 {
		s.RequestsPerS = ptr(float64(a.Completed) / wall)
		s.AttemptsPerS = ptr(float64(a.Requests) / wall)
	}
	s.SuccessRate = ptr(float64(a.Completed) / float64(a.Requests))
	s.FailureKinds = map[string]int{}
	canaries, exact := 0, 0
	for i := range results {
		if kinds[i] != "" {
			s.FailureKinds[kinds[i]]++
		}
		if c := results[i].Canary; c != nil && c.Passed {
			canaries++
		}
		if w := results[i].Words; w != nil && w.ExactAdherence != nil && *w.ExactAdherence {
			exact++
		}
	}
	if a.RequestCanaries {
		s.CanaryPassRate = ptr(float64(canaries) / float64(a.Requests))
	}
	if a.ResponseWords > 0 {
		s.AdherenceRate = ptr(float64(exact) / float64(a.Requests))
	}
	s.sizes(a)
	s.cached(results, kinds)
	s.Steady = steady(a, results)
	s.Arrivals.fill(results, kinds)
	s.Server.fill(a)
	s.GPU.fill(a)
	s.RequestObservations = facts(results, kinds)
	s.Client = clientFacts(a, results, s.Client.Watch)
	s.Flags = s.flags(a)
}

// sizes holds the plan against the server's count.
func (s *Sweep) sizes(a *Artifact) {
	var realTokens, planned, output, chunks int64
	var errs []float64
	for i := range a.RequestTimings {
		r := &a.RequestTimings[i]
		if r.PromptTokens != nil {
			planned += int64(r.PlannedContextTokens)
			realTokens += *r.PromptTokens
			errs = append(errs, 100*float64(*r.PromptTokens-int64(r.PlannedContextTokens))/float64(r.PlannedContextTokens))
		}
		if r.OutputTokens != nil {
			output += *r.OutputTokens
			chunks += int64(r.ContentChunks + r.ReasoningChunks)
		}
	}
	s.PromptSize.Planned = planned
	if len(errs) > 0 {
		s.PromptSize.Real, s.PromptSize.ErrorPctMean = &realTokens, ptr(metrics.Mean(errs))
	}
	if chunks > 0 {
		s.TokensPerChunkMean = ptr(float64(output) / float64(chunks))
	}
}

// cached sums the cache hits that the server told, over successes.
func (s *Sweep) cached(results []Result, kinds []string) {
	var hit, prompt int64
	told := false
	for i := range results {
		o := results[i].Observation
		if kinds[i] != "" || o.Usage == nil || o.Usage.CachedTokens == nil || o.Usage.PromptTokens == nil {
			continue
		}
		told = true
		hit += *o.Usage.CachedTokens
		prompt += *o.Usage.PromptTokens
	}
	s.CachedTokensTotal, s.CacheHitRate = nil, nil
	if told {
		s.CachedTokensTotal = &hit
	}
	if prompt > 0 {
		s.CacheHitRate = ptr(float64(hit) / float64(prompt))
	}
}

func facts(results []Result, kinds []string) []RequestFacts {
	var first time.Time
	for i := range results {
		if o := results[i].Observation; o != nil && (first.IsZero() || o.Start.Before(first)) {
			first = o.Start
		}
	}
	out := make([]RequestFacts, len(results))
	for i := range results {
		f := &out[i]
		f.RequestIndex, f.FailureKind = results[i].Index, maybe(kinds[i])
		f.FinishReasons, f.Warnings = []string{}, []string{}
		o := results[i].Observation
		if o == nil {
			continue
		}
		f.StartOffsetMS = ptr(ms(o.Start.Sub(first)))
		if due := results[i].Due; due != nil {
			f.DueOffsetMS, f.NoFreeSlot = ptr(ms(due.Sub(first))), results[i].NoSlot
		}
		if !o.Reused && o.Connect > 0 {
			f.ConnectMS = ptr(ms(o.Connect))
		}
		f.ConnectionReused, f.SentBytes, f.ReceivedBytes = o.Reused, o.Sent, o.BytesRead
		f.FinishReasons, f.Warnings, f.ToolChunks = o.FinishReasons, o.Warnings, o.ToolChunks
		if o.Usage != nil {
			f.CachedTokens = o.Usage.CachedTokens
		}
		if o.FirstTool != nil {
			f.FirstToolMS = ptr(ms(*o.FirstTool))
		}
		if o.Failure != nil {
			f.RetryAfter = maybe(o.Failure.RetryAfter)
			if o.Failure.Status != 0 {
				f.HTTPStatus = &o.Failure.Status
			}
		}
	}
	return out
}

// clientFacts: effective concurrency is the time-weighted number of requests
// in flight, the sum of all E2E times over the pool's wall time.
func clientFacts(a *Artifact, results []Result, w Watch) ClientFacts {
	c := ClientFacts{Watch: w, GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, MaxProcs: runtime.GOMAXPROCS(0)}
	var connects []float64
	var busy time.Duration
	var first, last time.Time // starts of the first wave
	for i := range results {
		o := results[i].Observation
		if o == nil {
			continue
		}
		busy += o.End
		if i < a.Concurrency {
			if first.IsZero() || o.Start.Before(first) {
				first = o.Start
			}
			if o.Start.After(last) {
				last = o.Start
			}
		}
		switch {
		case o.Reused:
			c.ConnectionsReused++
		case o.Sent > 0:
			c.ConnectionsOpened++
			connects = append(connects, ms(o.Connect))
		}
	}
	if len(connects) > 0 {
		slices.Sort(connects)
		c.Connect = &Connected{
			Samples: len(connects), Mean: metrics.Mean(connects), P50: metrics.Percentile(connects, 50),
			P99: metrics.Percentile(connects, 99), Max: connects[len(connects)-1],
		}
	}
	if !first.IsZero() {
		c.StartSkewMS = ptr(ms(last.Sub(first)))
	}
	if a.WallClockMS > 0 {
		c.EffectiveConcurrencyMean = ptr(ms(busy) / a.WallClockMS)
	}
	return c
}
