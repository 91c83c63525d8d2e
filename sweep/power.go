package sweep

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"slices"
	"sync"
	"time"

	"anvilsweep/client"
	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// powerWatch reads GPUs while a cell is measured.
type powerWatch struct {
	power    recipe.Power
	mu       sync.Mutex
	readings []reading
	fault    string // the last thing that went wrong
	stop     context.CancelFunc
	finished chan struct{}
}

// watchPower starts reading; nil where the tier has no readings.
func watchPower(ctx context.Context, p *recipe.Power) *powerWatch {
	if p == nil {
		return nil
	}
	w := &powerWatch{power: *p, finished: make(chan struct{})}
	ctx, w.stop = context.WithCancel(ctx)
	go func() {
		defer close(w.finished)
		if p.Exporter != "" {
			w.scrape(ctx)
		} else {
			w.follow(ctx)
		}
	}()
	return w
}

func (w *powerWatch) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = err.Error()
}

func (w *powerWatch) add(rs ...reading) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range rs {
		if len(w.power.GPUs) == 0 || slices.Contains(w.power.GPUs, r.gpu) {
			w.readings = append(w.readings, r)
		}
	}
}

// scrape asks an exporter at each interval.
func (w *powerWatch) scrape(ctx context.Context) {
	u, err := url.Parse(w.power.Exporter)
	if err != nil {
		w.failed(err)
		return
	}
	cl, err := client.New(client.Config{BaseURL: u.Scheme + "://" + u.Host, UserAgent: "anvilsweep"})
	if err != nil {
		w.failed(err)
		return
	}
	ask := func() {
		ctx, cancel := context.WithTimeoutCause(ctx, max(w.power.Interval, time.Second), fmt.Errorf("no readings within %s", max(w.power.Interval, time.Second)))
		defer cancel()
		text, failure := cl.Get(ctx, u.EscapedPath(), "asking the exporter")
		if failure != nil {
			if failure.Kind != client.KindCancelled {
				w.failed(failure)
			}
			return
		}
		rs, err := readExporter(text, time.Now())
		if err != nil {
			w.failed(err)
			return
		}
		w.add(rs...)
	}
	ask()
	every(ctx, w.power.Interval, ask)
}

// follow runs the command until the cell ends and reads its lines: nvidia-smi's
// CSV, or a JSON object a line.
func (w *powerWatch) follow(ctx context.Context) {
	c := w.power.Command
	cmd := exec.Command(c[0], c[1:]...)
	ownGroup(cmd)
	unlock := ownThread()
	defer unlock()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.failed(fmt.Errorf("the command for readings cannot be started: %w", err))
		return
	}
	ended := context.AfterFunc(ctx, func() { killGroup(cmd) })
	lines := bufio.NewScanner(out)
	var p readingParser
	for lines.Scan() {
		r, ok, err := p.line(lines.Text(), time.Now())
		if err != nil {
			w.failed(err)
			break
		}
		if ok {
			w.add(r)
		}
	}
	if lines.Err() != nil || p.broken {
		killGroup(cmd)
	}
	_, _ = io.Copy(io.Discard, out) // until the command is gone; what it still says is not read
	if err := cmd.Wait(); ended() && !p.broken {
		w.failed(fmt.Errorf("the command for readings ended before the cell: %w", orStatus(err)))
	}
}

func orStatus(err error) error {
	if err == nil {
		return fmt.Errorf("status 0")
	}
	return err
}

// end stops reading and sums up over the cell's measured time. gpus is how many
// the tier has.
func (w *powerWatch) end(from, to time.Time, gpus int) *artifact.GPU {
	if w == nil {
		return nil
	}
	w.stop()
	<-w.finished
	out := sumPower(w.readings, from, to, w.power.Interval, gpus)
	out.Source = "command"
	if w.power.Exporter != "" {
		out.Source = "exporter"
	}
	if w.fault != "" {
		why := w.fault
		if out.Reason != nil {
			why = *out.Reason + "; " + why
		}
		out.Valid, out.Energy, out.Reason = false, nil, &why
	}
	return out
}

// largestGap is how many intervals two readings may be apart for the energy
// between them to be known.
const largestGap = 3

// sumPower takes each GPU's energy as the area under straight lines between its
// readings, from the first before the cell, or at its start, to its end.
func sumPower(all []reading, from, to time.Time, interval time.Duration, gpus int) *artifact.GPU {
	out := &artifact.GPU{IntervalMS: float64(interval.Milliseconds())}
	byGPU := map[int][]reading{}
	var clocks []float64
	for _, r := range all {
		byGPU[r.gpu] = append(byGPU[r.gpu], r)
		if r.at.Before(from) || r.at.After(to) {
			continue
		}
		out.Samples++
		if r.clock != nil {
			clocks = append(clocks, *r.clock)
		}
		if r.temperature != nil && (out.Temperature == nil || *r.temperature > *out.Temperature) {
			out.Temperature = r.temperature
		}
	}
	out.GPUs = len(byGPU)
	if len(clocks) > 0 {
		mean, _ := meanMax(clocks)
		least := slices.Min(clocks)
		out.ClockMean, out.ClockMin = &mean, &least
	}
	invalid := func(format string, args ...any) *artifact.GPU {
		why := fmt.Sprintf(format, args...)
		out.Reason = &why
		return out
	}
	if len(byGPU) == 0 {
		return invalid("no readings")
	}
	energy, most := 0.0, 0.0
	for _, rs := range byGPU {
		joules, peak, why := energyOf(rs, from, to, interval)
		if why != "" {
			return invalid("GPU %d: %s", rs[0].gpu, why)
		}
		energy, most = energy+joules, most+peak
	}
	mean := energy / to.Sub(from).Seconds()
	out.PowerMean, out.PowerMax = &mean, &most
	if len(byGPU) != gpus {
		return invalid("%d GPUs were read, and the tier has %d", len(byGPU), gpus)
	}
	out.Valid, out.Energy = true, &energy
	return out
}

// energyOf is one GPU's energy between two times, in joules, and its highest
// power.
func energyOf(rs []reading, from, to time.Time, interval time.Duration) (joules, peak float64, why string) {
	var known []reading
	for _, r := range rs {
		if r.power != nil {
			known = append(known, r)
		}
	}
	if len(known) < 2 {
		return 0, 0, fmt.Sprintf("%d readings of its power, which is too few", len(known))
	}
	limit := largestGap * interval
	if gap := known[0].at.Sub(from); gap > limit {
		return 0, 0, fmt.Sprintf("the first reading came %v into the cell", gap.Round(time.Millisecond))
	}
	if gap := to.Sub(known[len(known)-1].at); gap > limit {
		return 0, 0, fmt.Sprintf("the last reading came %v before the cell's end", gap.Round(time.Millisecond))
	}
	// The power at the ends is that of the nearest reading.
	if known[0].at.After(from) {
		first := known[0]
		first.at = from
		known = slices.Insert(known, 0, first)
	}
	if last := known[len(known)-1]; last.at.Before(to) {
		last.at = to
		known = append(known, last)
	}
	for i := 1; i < len(known); i++ {
		a, b := known[i-1], known[i]
		if b.at.Sub(a.at) > limit && b.at.After(from) && a.at.Before(to) {
			return 0, 0, fmt.Sprintf("two readings are %v apart", b.at.Sub(a.at).Round(time.Millisecond))
		}
		begin, end := maxTime(a.at, from), minTime(b.at, to)
		if !end.After(begin) {
			continue
		}
		at := func(t time.Time) float64 {
			return *a.power + (*b.power-*a.power)*t.Sub(a.at).Seconds()/b.at.Sub(a.at).Seconds()
		}
		joules += (at(begin) + at(end)) / 2 * end.Sub(begin).Seconds()
		peak = max(peak, at(begin), at(end))
	}
	return joules, peak, ""
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
