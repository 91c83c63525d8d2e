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
	send       *client.Lag
	trace      *trace // nil: none
}

func newGather(t *trace) *gather {
	return &gather{gaps: metrics.NewStream(), read: client.NewLag(), handled: client.NewLag(), turnaround: client.NewLag(), send: client.NewLag(), trace: t}
}

// take adds one result; free is when its worker's last one ended, zero for the
// first one. Only successes enter the gaps. Between two requests of a closed
// loop a worker is late from the end of the one; in an open loop, where it
// waited for the time, from the time.
func (g *gather) take(res *artifact.Result, free time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := res.Observation
	switch {
	case res.Due != nil && !res.NoSlot:
		g.send.Add(o.Start.Sub(*res.Due) - o.Connect)
	case res.Due == nil && !free.IsZero():
		g.turnaround.Add(max(0, o.Start.Sub(free)-o.Connect))
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
	w.SendLag = artifact.NewLag(g.send)
}
