package sweep

import (
	"context"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
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
	interrupted       string // why, when the run was stopped in this cell
}

// warmupIndex is where warm-up requests are numbered from: far above the
// format's 10,000 requests, so they share no prompt with a measured one.
const warmupIndex = 90_000

// load is one cell's closed loop: as many workers as requests in flight, each
// taking the next request when its last one ended.
type load struct {
	cell     *Cell
	ep       *endpoint
	workload prompt.Workload
	size     sizing
	gather   *gather // nil: nothing is measured
	done     func(failed bool)
}

// measure warms the endpoint up, then runs the cell's requests.
func (r *Runner) measure(admit, flight context.Context, ep *endpoint, launched *client.Failure, c *Cell, t *trace) measured {
	m := measured{window: c.declaredWindow(), gather: newGather(t)}
	asked := ep.probed
	down := launched
	if down == nil {
		down = ep.probe(flight)
	}
	if !asked && ep.noModels != nil {
		r.Log.Warn("the server does not list its models; prompts are cut to no window but the recipe's", "base_url", ep.baseURL, "reason", ep.noModels.Error())
	}
	if t := c.Point.Tier; !asked && t.TLS != nil && t.TLS.Insecure {
		r.Log.Warn("ANY TLS certificate is accepted (insecure = true): whoever is on the way can read and change requests, the key included", "tier", t.Name, "base_url", ep.baseURL)
	}
	if !asked && ep.proxy != nil {
		r.Log.Warn("requests go through a proxy that the environment names; its time is in every figure", "proxy", ep.proxy.Host, "base_url", ep.baseURL)
	}
	if entry := ep.entry(c.Point.Model.ID); m.window == nil && entry != nil {
		m.window = entry.MaxModelLen
	}
	contexts, unfit := c.contexts(m.window), error(nil)
	if _, err := prompt.Cap(m.window, c.Point.Output.MaxTokens); err != nil {
		unfit = err
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
	l.done = func(failed bool) { r.tell(func(o Observer) { o.RequestDone(c, failed) }) }
	l.gather = m.gather

	m.started = time.Now()
	switch {
	case down != nil:
		m.results = fill(contexts, func(res *artifact.Result) {
			failure := *down
			failure.Message = "not sent, the endpoint is down: " + failure.Message
			res.Observation = &client.Observation{Start: m.started, Failure: &failure}
		})
	case unfit != nil:
		m.results = fill(contexts, func(res *artifact.Result) { res.PromptError = unfit.Error() })
	default:
		lanes := l.open(flight, min(c.Point.Concurrency.Value, len(contexts)))
		w := startWatch()
		m.started = time.Now()
		m.results = l.run(admit, flight, contexts, 0, lanes)
		m.wall, m.watch = time.Since(m.started), w.end()
		l.close(lanes)
	}
	if m.wall == 0 {
		m.wall = time.Since(m.started)
	}
	m.finished = m.started.Add(m.wall)
	m.gather.fill(&m.watch)
	if admit.Err() != nil && unfinished(m.results) {
		m.interrupted = context.Cause(admit).Error()
	}
	return m
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

// unfinished reports whether the interruption cost a request: one not sent or
// one cancelled.
func unfinished(results []artifact.Result) bool {
	for i := range results {
		o := results[i].Observation
		if results[i].NotSent != "" || o != nil && o.Failure != nil && o.Failure.Kind == client.KindCancelled {
			return true
		}
	}
	return false
}

// warm sends requests of the cell's own shape that are counted and not
// measured.
func (l *load) warm(admit, flight context.Context, contextTokens int) artifact.Warmup {
	n := l.cell.Point.Concurrency.Warmup
	if n == 0 {
		return artifact.Warmup{}
	}
	contexts := make([]int, n)
	for i := range contexts {
		contexts[i] = contextTokens
	}
	w := artifact.Warmup{Requests: n}
	lanes := l.open(flight, min(n, l.cell.Point.Concurrency.Value))
	defer l.close(lanes)
	for _, res := range l.run(admit, flight, contexts, warmupIndex, lanes) {
		if o := res.Observation; o != nil && o.Failure == nil {
			w.Completed++
			continue
		}
		w.Failed++
		kind := "not_sent"
		if res.Observation != nil {
			kind = string(res.Observation.Failure.Kind)
		}
		if w.FailureKinds == nil {
			w.FailureKinds = map[string]int{}
		}
		w.FailureKinds[kind]++
	}
	return w
}

// open opens the workers' connections at once, before anything is measured.
func (l *load) open(ctx context.Context, n int) []*client.Lane {
	lanes := make([]*client.Lane, n)
	var wg sync.WaitGroup
	for i := range lanes {
		lanes[i] = l.ep.client.Lane()
		wg.Go(func() { lanes[i].Open(ctx) })
	}
	wg.Wait()
	return lanes
}

func (l *load) close(lanes []*client.Lane) {
	for _, lane := range lanes {
		lane.Close()
		if l.gather != nil {
			l.gather.leave(lane.Watch)
		}
	}
}

// run sends one request for each context over the lanes and returns when all
// have ended. Requests that were never sent say why.
func (l *load) run(admit, flight context.Context, contexts []int, firstIndex int, lanes []*client.Lane) []artifact.Result {
	results := make([]artifact.Result, len(contexts))
	var next atomic.Int64 // the first wave is one request a lane, so that all start at once
	next.Store(int64(len(lanes)))
	var wg sync.WaitGroup
	for first, lane := range lanes {
		wg.Go(func() {
			var free time.Time // when the last response ended
			for i := first; i < len(contexts); i = int(next.Add(1)) - 1 {
				if admit.Err() != nil {
					results[i] = artifact.Result{
						Index: firstIndex + i, PlannedContextTokens: contexts[i],
						NotSent: "not sent: " + context.Cause(admit).Error(),
					}
					continue
				}
				results[i] = l.one(flight, lane, firstIndex+i, contexts[i], &free)
				if l.done != nil {
					l.done(results[i].Observation == nil || results[i].Observation.Failure != nil)
				}
			}
		})
	}
	wg.Wait()
	return results
}

// one runs one request. free is when its worker's last one ended, and becomes
// when this one did.
func (l *load) one(flight context.Context, lane *client.Lane, index, contextTokens int, free *time.Time) artifact.Result {
	begin := time.Now()
	res := artifact.Result{Index: index, PlannedContextTokens: contextTokens}
	text, err := l.workload.Build(index, contextTokens, l.size.chars[contextTokens])
	if err != nil {
		res.PromptError = err.Error()
		res.Elapsed = time.Since(begin)
		return res
	}
	o := lane.Do(flight, l.request(text))
	res.Observation, res.Elapsed = &o, time.Since(begin)
	l.check(&res)
	if l.gather != nil {
		idle := time.Duration(-1)
		if !free.IsZero() {
			idle = o.Start.Sub(*free) - o.Connect
		}
		l.gather.take(&res, idle)
	}
	*free = o.Start.Add(o.End)
	o.Text, o.Arrivals = "", client.Arrivals{} // looked at, and too much to keep of thousands
	return res
}

func (l *load) request(text string) *client.Request {
	out := l.cell.Point.Output
	request := &client.Request{
		Model: l.cell.Point.Model.ID, Prompt: text, MaxTokens: out.MaxTokens,
		TopP: out.TopP, MinTokens: out.MinTokens, IgnoreEOS: out.IgnoreEOS,
		EnableThinking: thinking(out.Thinking), ReasoningEffort: out.ReasoningEffort,
	}
	if out.Temperature != nil {
		request.Temperature = *out.Temperature
	}
	return request
}

// check holds the response against what the prompt asked for. A response
// without a stream has nothing to check.
func (l *load) check(res *artifact.Result) {
	o := res.Observation
	if !o.Received {
		return
	}
	var marker string
	if l.workload.Canaries {
		marker = prompt.Marker(l.workload.Seed, res.Index)
		canary := artifact.Canary(prompt.CheckCanary(o.Text, o.Truncated, marker))
		res.Canary = &canary
	}
	if l.workload.Words > 0 {
		words := artifact.ControlledOutput(prompt.CheckWords(o.Text, o.Truncated, marker, l.workload.Words, l.cell.Point.Output.Policy))
		res.Words = &words
	}
}

func thinking(mode string) *bool {
	var on bool
	switch mode {
	case "enabled":
		on = true
	case "disabled":
	default:
		return nil
	}
	return &on
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
	if p.Engine.Version != "" {
		engine += "-" + p.Engine.Version
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
