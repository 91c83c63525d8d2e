package view

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"anvilsweep/sweep"
	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/metrics"
)

// Progress shows a run: one line written over on a terminal, log lines at the
// start and end of each cell elsewhere. It writes to stderr only.
type Progress struct {
	out   io.Writer
	log   hclog.Logger
	live  bool
	width func() int

	mu       sync.Mutex
	cells    int
	requests int64
	began    time.Time
	ended    int // cells
	failed   int // cells not done
	answered int64
	bad      int64
	current  *sweep.Cell
	inCell   int
	shown    bool
	ticker   *time.Ticker
	quit     chan struct{}
	gone     chan struct{}
}

// NewProgress makes the progress view of a plan's run.
func NewProgress(stderr io.Writer, getenv func(string) string, log hclog.Logger, plan *sweep.Plan) *Progress {
	requests, _ := plan.Totals()
	p := &Progress{
		out: stderr, log: log, live: live(stderr, getenv), width: func() int { return Width(stderr, getenv) },
		cells: plan.Cells(), requests: requests, began: time.Now(),
		quit: make(chan struct{}), gone: make(chan struct{}),
	}
	if !p.live {
		close(p.gone)
		return p
	}
	p.ticker = time.NewTicker(200 * time.Millisecond)
	go func() {
		defer close(p.gone)
		for {
			select {
			case <-p.quit:
				return
			case <-p.ticker.C:
				p.mu.Lock()
				p.draw()
				p.mu.Unlock()
			}
		}
	}()
	return p
}

// Close takes the live line away.
func (p *Progress) Close() {
	close(p.quit)
	<-p.gone
	if p.ticker != nil {
		p.ticker.Stop()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

// Say puts a message above the live line.
func (p *Progress) Say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.log.Warn(text)
}

// CellStarted is part of sweep.Observer.
func (p *Progress) CellStarted(c *sweep.Cell, number, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.inCell = c, 0
	if p.live {
		p.draw()
		return
	}
	p.log.Info("cell started", "cell", c.ID, "number", fmt.Sprintf("%d/%d", number, of), "requests", c.Sent())
}

// RequestDone is part of sweep.Observer.
func (p *Progress) RequestDone(_ *sweep.Cell, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered++
	p.inCell++
	if failed {
		p.bad++
	}
}

// CellEnded is part of sweep.Observer.
func (p *Progress) CellEnded(c *sweep.Cell, end sweep.CellEnd) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended++
	p.requests -= int64(c.Sent() - p.inCell) // those never sent are not ahead any more
	p.inCell, p.current = 0, nil
	switch {
	case end.Kept:
		if !p.live {
			p.log.Info("cell kept from an earlier run", "cell", c.ID, "artifact", end.Path)
		}
	case end.State == artifact.StateSkipped:
		if !p.live {
			p.log.Info("cell skipped", "cell", c.ID, "reason", line(end.Reason))
		}
	case end.State != artifact.StateDone:
		p.failed++
		p.erase()
		p.log.Warn("cell "+string(end.State), "cell", c.ID, "reason", line(end.Reason))
	case !p.live:
		p.log.Info("cell done", append([]any{"cell", c.ID}, figures(end)...)...)
	}
	if p.live {
		p.draw()
	}
}

func figures(end sweep.CellEnd) []any {
	completed := 0
	for _, a := range end.Artifacts {
		completed += a.Completed
	}
	out := []any{"completed", completed}
	for _, name := range []string{"ttft_p50_ms", "throughput_tok_s"} {
		if v := end.Figure(name); v != nil {
			out = append(out, name, metrics.Human(*v))
		}
	}
	return out
}

func (p *Progress) erase() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}

func (p *Progress) draw() {
	if !p.live {
		return
	}
	parts := []string{fmt.Sprintf("%d/%d cells", p.ended, p.cells)}
	if p.failed > 0 {
		parts = append(parts, fmt.Sprintf("%d not done", p.failed))
	}
	if p.current != nil {
		parts = append(parts, fmt.Sprintf("%s %d/%d", p.current.ID, p.inCell, p.current.Sent()))
	}
	if p.bad > 0 {
		parts = append(parts, fmt.Sprintf("%d requests failed", p.bad))
	}
	elapsed := time.Since(p.began)
	if p.answered > 0 {
		rate := float64(p.answered) / elapsed.Seconds()
		left := time.Duration(float64(p.requests-p.answered) / rate * float64(time.Second))
		parts = append(parts, fmt.Sprintf("%.1f req/s", rate), "about "+left.Round(time.Second).String()+" left")
	}
	text := strings.Join(parts, " · ")
	for limit := p.width() - 1; columns(text) > limit && text != ""; {
		r := []rune(text)
		text = string(r[:len(r)-1])
	}
	fmt.Fprint(p.out, "\r\x1b[K"+text)
	p.shown = true
}
