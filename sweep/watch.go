package sweep

import (
	"runtime"
	"runtime/debug"
	"time"

	"anvilsweep/client"
	"anvilsweep/sweep/artifact"
)

// tick is how often the watch looks whether it is woken in time.
const tick = 10 * time.Millisecond

// watch observes the client itself while it measures a cell.
type watch struct {
	begin time.Time
	cpu   time.Duration
	gc    debug.GCStats
	timer *client.Lag
	stop  chan struct{}
	ended chan struct{}
}

func startWatch() *watch {
	w := &watch{begin: time.Now(), cpu: cpuTime(), timer: client.NewLag(), stop: make(chan struct{}), ended: make(chan struct{})}
	debug.ReadGCStats(&w.gc)
	go w.run()
	return w
}

// run sleeps to absolute times, so one late waking does not hide the next.
func (w *watch) run() {
	defer close(w.ended)
	due := w.begin.Add(tick)
	timer := time.NewTimer(tick)
	defer timer.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-timer.C:
		}
		now := time.Now()
		w.timer.Add(now.Sub(due))
		for !due.After(now) {
			due = due.Add(tick)
		}
		timer.Reset(time.Until(due))
	}
}

// end stops the watch and says what it saw.
func (w *watch) end() artifact.Watch {
	close(w.stop)
	<-w.ended
	out := artifact.Watch{TimerLag: artifact.NewLag(w.timer)}
	if wall := time.Since(w.begin); w.cpu > 0 && wall > 0 {
		share := float64(cpuTime()-w.cpu) / float64(wall) / float64(runtime.GOMAXPROCS(0))
		out.CPUShare = &share
	}
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	out.GCPauses = int(gc.NumGC - w.gc.NumGC)
	out.GCPauseMS = float64((gc.PauseTotal - w.gc.PauseTotal).Nanoseconds()) / 1e6
	for i, pause := range gc.Pause { // the most recent first, and no more than the runtime keeps
		if i >= out.GCPauses {
			break
		}
		out.GCLongest = max(out.GCLongest, float64(pause.Nanoseconds())/1e6)
	}
	return out
}
