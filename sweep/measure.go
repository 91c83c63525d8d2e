package sweep

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"sync"
	"time"

	"anvilsweep/client"
	"anvilsweep/client/prompt"
	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// measured is what running a cell's requests left, before it becomes an
// artifact.
type measured struct {
	started, finished time.Time
	wall              time.Duration
	window            *int // tokens; what the prompts were cut by
	size              sizing
	results           []artifact.Result
	warmup            artifact.Warmup
	gather            *gather
	watch             artifact.Watch
	server            *artifact.Server
	gpu               *artifact.GPU
	other             []artifact.Flag // in what the server is not the recipe's
	interrupted       string          // why, when the run was stopped in this cell
	cut               string          // why, when a rule ended the cell before its last request
}

// warmupIndex is where warm-up requests are numbered from: far above the
// format's 10,000 requests, so they share no prompt with a measured one.
const warmupIndex = 90_000

// startLine lets the replicas of a cell begin at one moment: each waits there
// until all have come.
type startLine struct{ sync.WaitGroup }

func newStartLine(replicas int) *startLine {
	var s startLine
	s.Add(replicas)
	return &s
}

func (s *startLine) wait() {
	s.Done()
	s.Wait()
}

// cutError ends a cell by a rule of the recipe; it is the cause of the contexts
// that end with it.
type cutError struct{ why string }

// Error is part of error.
func (e *cutError) Error() string { return e.why }

// measure warms the endpoint up, then runs the cell's requests.
func (r *Runner) measure(admit, flight context.Context, ep *endpoint, launched *client.Failure, c *Cell, t *trace, line *startLine) measured {
	m := measured{window: c.declaredWindow(), gather: newGather(t)}
	down := launched
	if down == nil {
		down = r.meet(flight, ep, c, &m)
	}
	if entry := ep.entry(c.Point.Model.ID); m.window == nil && entry != nil {
		m.window = entry.MaxModelLen
	}
	contexts, unfit := c.contexts(m.window), error(nil)
	if _, err := prompt.Cap(m.window, c.Point.Output.MaxTokens); err != nil {
		unfit = err
	}
	// A rule ends this cell, not the run: its contexts are the cell's own.
	began, done := admit, flight
	admit, endAdmission := context.WithCancelCause(admit)
	defer endAdmission(nil)
	flight, endFlight := context.WithCancelCause(flight)
	defer endFlight(nil)
	if limit, why := c.limit(); limit > 0 {
		timer := time.AfterFunc(limit, func() {
			endAdmission(&cutError{why})
			endFlight(&cutError{why})
		})
		defer timer.Stop()
	}
	l := &load{cell: c, ep: ep, workload: workload(c)}
	if down == nil && unfit == nil {
		unfit = l.calibrate(admit, flight, contexts)
	}
	m.size = l.size
	if down == nil && unfit == nil {
		if m.warmup = l.warm(admit, flight, contexts[0]); m.warmup.Failed > 0 {
			r.Log.Warn("warm-up requests failed; they are in no figure", "cell", c.ID, "failed", m.warmup.Failed, "of", m.warmup.Requests)
		}
	}
	judge := &abortJudge{rule: c.Abort, cut: endAdmission}
	l.done = func(res *artifact.Result) {
		failed := !res.Succeeded()
		r.tell(func(o Observer) { o.RequestDone(c, failed) })
		judge.see(res, failed)
	}
	l.gather = m.gather

	m.started = time.Now()
	switch {
	case down != nil:
		line.wait()
		m.results = fill(contexts, func(res *artifact.Result) {
			failure := *down
			failure.Message = "not sent, " + notSent(down.Kind) + failure.Message
			res.Observation = &client.Observation{Start: m.started, Failure: &failure}
		})
	case unfit != nil:
		line.wait()
		m.results = fill(contexts, func(res *artifact.Result) { res.PromptError = unfit.Error() })
	default:
		r.drive(admit, flight, l, contexts, line, &m)
	}
	if m.wall == 0 {
		m.wall = time.Since(m.started)
	}
	m.finished = m.started.Add(m.wall)
	m.gather.fill(&m.watch)
	var cut *cutError
	switch short := unfinished(m.results); {
	case short && began.Err() != nil:
		m.interrupted = context.Cause(began).Error()
	case short && done.Err() != nil:
		m.interrupted = context.Cause(done).Error()
	case short && errors.As(context.Cause(admit), &cut):
		m.cut = cut.why
	}
	return m
}

func notSent(kind client.Kind) string {
	if kind == client.KindIdentity {
		return "the server is another one: "
	}
	return "the endpoint is down: "
}

// meet asks an endpoint what it is, once, and says what a reader of the log
// should know of it. A failure is of the cell's requests, none of which is sent.
func (r *Runner) meet(ctx context.Context, ep *endpoint, c *Cell, m *measured) *client.Failure {
	asked := ep.probed
	if down := ep.probe(ctx); down != nil {
		return down
	}
	ep.identify(ctx, c.Point.Engine.Kind)
	m.other = ep.other(c.Point)
	if failure := refused(c.Point, m.other); failure != nil {
		return failure
	}
	if asked {
		return nil
	}
	if ep.noModels != nil {
		r.Log.Warn("the server does not list its models; prompts are cut to no window but the recipe's", "base_url", ep.baseURL, "reason", ep.noModels.Error())
	}
	for _, o := range m.other {
		r.Log.Warn("the server is not the recipe's; its cells are flagged", "base_url", ep.baseURL, "reason", o.Reason)
	}
	if t := c.Point.Tier; t.TLS != nil && t.TLS.Insecure {
		r.Log.Warn("ANY TLS certificate is accepted (insecure = true): whoever is on the way can read and change requests, the key included", "tier", t.Name, "base_url", ep.baseURL)
	}
	if ep.proxy != nil {
		r.Log.Warn("requests go through a proxy that the environment names; its time is in every figure", "proxy", ep.proxy.Host, "base_url", ep.baseURL)
	}
	return nil
}

// drive opens the connections, waits for the other replicas, and measures.
func (r *Runner) drive(admit, flight context.Context, l *load, contexts []int, line *startLine, m *measured) {
	c := l.cell
	lanes := l.open(flight, min(c.Point.Concurrency.Value, len(contexts)))
	page := watchPage(flight, l.ep.client, c.Point.Engine.Metrics)
	power := watchPower(flight, c.Point.Tier.Power)
	line.wait()
	w := startWatch()
	m.started = time.Now()
	if c.Arrivals.Shape != "" {
		l.due = schedule(c.Arrivals, len(contexts), c.Seed)
	}
	m.results = l.run(admit, flight, contexts, 0, lanes)
	m.wall, m.watch = time.Since(m.started), w.end()
	m.gpu = power.end(m.started, m.started.Add(m.wall), c.Point.Tier.Count)
	m.server = page.end(flight)
	l.close(lanes)
}

// limit is how long the cell's own budget lets it take; 0 is no limit. Cost is
// time at the tier's price.
func (c *Cell) limit() (time.Duration, string) {
	b, limit, why := c.Budget, time.Duration(0), ""
	if b.Minutes > 0 {
		limit, why = time.Duration(b.Minutes*float64(time.Minute)), fmt.Sprintf("cell_budget: %g minutes are over", b.Minutes)
	}
	if price := c.Point.Tier.PricePerHour; b.Cost > 0 && price != nil && *price > 0 {
		if d := time.Duration(b.Cost / *price * float64(time.Hour)); limit == 0 || d < limit {
			limit, why = d, fmt.Sprintf("cell_budget: %g %s are spent", b.Cost, c.Point.Tier.Currency)
		}
	}
	return limit, why
}

func workload(c *Cell) prompt.Workload {
	return prompt.Workload{
		Seed: c.Seed, Unique: c.Point.Context.Cache == recipe.CacheUnique,
		SharedPrefixTokens: c.Point.Context.SharedPrefixTokens,
		Canaries:           c.Point.Output.Canaries, Words: c.Point.Output.Words,
		Tokens: c.Point.Context.Sizing == recipe.SizingTokens,
	}
}

func fill(contexts []int, set func(*artifact.Result)) []artifact.Result {
	results := make([]artifact.Result, len(contexts))
	for i := range results {
		results[i] = artifact.Result{Index: i, PlannedContextTokens: contexts[i]}
		set(&results[i])
	}
	return results
}

// unfinished reports whether an end before the end cost a request: one not
// sent or one cancelled.
func unfinished(results []artifact.Result) bool {
	for i := range results {
		o := results[i].Observation
		if results[i].NotSent != "" || o != nil && o.Failure != nil && o.Failure.Kind == client.KindCancelled {
			return true
		}
	}
	return false
}

// input gathers what the artifact says about the cell.
func (r *Runner) input(ep *endpoint, c *Cell, m measured, rel string) artifact.Input {
	p := c.Point
	engine, gpu := labels(ep, p)
	manifest, err := filepath.Rel(filepath.Dir(filepath.FromSlash(rel)), artifact.ManifestName)
	if err != nil {
		manifest = path.Join("..", "..", artifact.ManifestName) // both relative; cannot fail
	}
	w := workload(c)
	return artifact.Input{
		Started: m.started, Finished: m.finished, Wall: m.wall,
		BaseURL: ep.baseURL, Model: p.Model.ID, Engine: engine, GPU: gpu, Tier: p.Tier.Name,
		Manifest: filepath.ToSlash(manifest), SourceRecipe: c.SourceRecipe,
		ClockDomainID: p.Tier.ClockDomain, ConfigurationFingerprint: c.Fingerprint,
		Concurrency: p.Concurrency.Value, ContextTokens: p.Context.Tokens, ContextSeed: c.Seed,
		MaxContextTokens: m.window, MaxTokens: p.Output.MaxTokens, ResponseWords: p.Output.Words,
		PromptCacheMode: p.Context.Cache, SharedPrefixTokens: p.Context.SharedPrefixTokens,
		RequestCanaries: p.Output.Canaries, ControlledOutputPolicy: p.Output.Policy,
		Temperature: p.Output.Temperature, TopP: p.Output.TopP,
		ThinkingMode: p.Output.Thinking, ReasoningEffort: p.Output.ReasoningEffort,
		PromptSetID: w.SetID(), CachePolicy: p.Context.Cache,
		Results: m.results, Sweep: r.describe(ep, c, m),
	}
}

// labels are the artifact's engine and gpu. A simulation always says so, also
// where the recipe claims a real engine on a real GPU.
func labels(ep *endpoint, p recipe.Point) (engine, gpu string) {
	engine, gpu = p.Engine.Name, p.Tier.GPU
	version := p.Engine.Version
	if said := ep.reported.Version; said != nil && version != "" && !sameVersion(version, *said) && !ep.simulated(p.Model.ID) {
		version = *said // the recipe's would be a claim that the server denies
	}
	if version != "" {
		engine += "-" + version
	}
	if !ep.simulated(p.Model.ID) {
		return engine, gpu
	}
	if engine != "sim" {
		engine = "sim-" + engine
	}
	switch {
	case gpu == "" && p.Tier.Profile != "":
		gpu = "sim-" + p.Tier.Profile
	case gpu == "":
		gpu = "sim"
	default:
		gpu = "sim (" + gpu + ")"
	}
	return engine, gpu
}
