package sweep

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"anvilsweep/client"
	"anvilsweep/client/prompt"
	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// load sends a cell's requests: as many workers as may be in flight, each
// taking the next request when its last one ended. In an open loop it waits
// until the request is due.
type load struct {
	cell     *Cell
	ep       *endpoint
	workload prompt.Workload
	size     sizing
	due      []time.Duration        // of an open loop, from its start; nil: a closed loop
	gather   *gather                // nil: nothing is measured
	done     func(*artifact.Result) // may be nil
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
	began := time.Now()
	var next atomic.Int64 // the first wave is one request a lane, so that all start at once
	next.Store(int64(len(lanes)))
	var wg sync.WaitGroup
	for first, lane := range lanes {
		wg.Go(func() {
			var free time.Time // when the last response ended
			for i := first; i < len(contexts); i = int(next.Add(1)) - 1 {
				res := &results[i]
				res.Index, res.PlannedContextTokens = firstIndex+i, contexts[i]
				if l.due != nil {
					due := began.Add(l.due[i])
					res.Due, res.NoSlot = &due, time.Now().After(due) && !free.IsZero()
				}
				l.one(admit, flight, lane, res, &free)
				if l.done != nil && res.NotSent == "" {
					l.done(res)
				}
			}
		})
	}
	wg.Wait()
	return results
}

// one runs one request. free is when its worker's last one ended, and becomes
// when this one did. The prompt is built before the request is due.
func (l *load) one(admit, flight context.Context, lane *client.Lane, res *artifact.Result, free *time.Time) {
	if admit.Err() != nil {
		res.NotSent = "not sent: " + context.Cause(admit).Error()
		return
	}
	begin := time.Now()
	text, err := l.workload.Build(res.Index, res.PlannedContextTokens, l.size.chars[res.PlannedContextTokens])
	if err != nil {
		res.PromptError = err.Error()
		res.Elapsed = time.Since(begin)
		return
	}
	if res.Due != nil && !waitUntil(admit, *res.Due) {
		res.NotSent = "not sent: " + context.Cause(admit).Error()
		return
	}
	o := lane.Do(flight, l.request(text))
	res.Observation, res.Elapsed = &o, time.Since(begin)
	l.check(res)
	if l.gather != nil {
		l.gather.take(res, *free)
	}
	*free = o.Start.Add(o.End)
	o.Text, o.Arrivals = "", client.Arrivals{} // looked at, and too much to keep of thousands
}

// waitUntil reports whether the time came before the context ended.
func waitUntil(ctx context.Context, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
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

// abortJudge ends a cell that can no longer be worth its time.
type abortJudge struct {
	rule recipe.Abort
	cut  context.CancelCauseFunc

	mu                 sync.Mutex
	seen, failed, full int
	last               string
}

// see counts a response in.
func (j *abortJudge) see(res *artifact.Result, failed bool) {
	if j.rule.After == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen++
	if failed {
		j.failed++
		if o := res.Observation; o != nil && o.Failure != nil {
			j.last = "; the last: " + o.Failure.Error()
		}
	}
	if o := res.Observation; o != nil && len(o.FinishReasons) > 0 && o.FinishReasons[len(o.FinishReasons)-1] == "length" {
		j.full++
	}
	if j.seen < j.rule.After {
		return
	}
	switch {
	case float64(j.failed) >= j.rule.ErrorRate*float64(j.seen):
		j.cut(&cutError{fmt.Sprintf("abort: %d of the first %d requests failed%s", j.failed, j.seen, firstLine(j.last))})
	case j.rule.AtMaxTokens && j.full == j.seen:
		j.cut(&cutError{fmt.Sprintf("abort: each of the first %d responses ran into max_tokens", j.seen)})
	}
}
