package sweep

import (
	"sync"
	"time"

	"anvilsweep/client"
	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/metrics"
)

// gather pools what a cell's requests leave beside their rows: the gaps
// between chunks, and how late the client was. Raw arrivals go into the trace,
// if there is one, and are not kept.
type gather struct {
	mu         sync.Mutex
	gaps       *metrics.Stream
	read       *client.Lag
	handled    *client.Lag
	turnaround *client.Lag
	trace      *trace // nil: none
}

func newGather(t *trace) *gather {
	return &gather{gaps: metrics.NewStream(), read: client.NewLag(), handled: client.NewLag(), turnaround: client.NewLag(), trace: t}
}

// take adds one result; idle is how long its worker had been without a
// request, negative for the first one. Only successes enter the gaps.
func (g *gather) take(res *artifact.Result, idle time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if idle >= 0 {
		g.turnaround.Add(idle)
	}
	ok := res.Succeeded()
	if ok {
		for gap := range res.Observation.Arrivals.Gaps() {
			g.gaps.Add(gap)
		}
	}
	if g.trace != nil {
		g.trace.add(res, ok)
	}
}

// leave adds what a worker saw of its own lateness.
func (g *gather) leave(w client.Watch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.read.Merge(w.Read)
	g.handled.Merge(w.Handled)
}

// fill completes the watch's own figures.
func (g *gather) fill(w *artifact.Watch) {
	w.Arrivals = "read"
	if w.ReadLag = artifact.NewLag(g.read); w.ReadLag != nil {
		w.Arrivals = "kernel"
	}
	w.HandleLag, w.Turnaround = artifact.NewLag(g.handled), artifact.NewLag(g.turnaround)
}
