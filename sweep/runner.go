package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// Runner runs the cells of a plan and fills a results folder.
type Runner struct {
	Plan     *Plan
	Dir      string // results folder; made if it is not there
	Version  string // of the program, for the artifacts
	Getenv   func(string) string
	Log      hclog.Logger
	Observer Observer // may be nil
	Trace    bool     // keep raw arrivals beside each artifact
	Baseline Baseline // what gates compare with; may be nil
	Locks    string   // folder with a lock for each endpoint; empty: none is taken
	Retry    Retry    // which cells of an earlier run are run again; RetryFailed when not said

	store  *Store
	unlock func() error // the endpoints
}

// Retry says which cells that an earlier run attempted are run again. Those it
// did not come to are always run.
type Retry string

// Retry policies.
const (
	RetryFailed      Retry = "failed"      // all that are not done
	RetryInterrupted Retry = "interrupted" // only those that were stopped
	RetryNone        Retry = "none"
)

// again reports whether a cell in that state is run again.
func (r Retry) again(state artifact.State) bool {
	switch state {
	case artifact.StateFailed, artifact.StateDegraded:
		return r == RetryFailed || r == ""
	case artifact.StateInterrupted:
		return r != RetryNone
	}
	return true
}

// Observer is told what a run does, for progress. Calls come from several
// goroutines.
type Observer interface {
	CellStarted(c *Cell, number, of int)
	RequestDone(c *Cell, failed bool)
	CellEnded(c *Cell, end CellEnd)
}

// CellEnd is what became of a cell.
type CellEnd struct {
	State     artifact.State
	Reason    string
	Kept      bool                 // an earlier run had done it; nothing was sent
	Path      string               // of the artifact, or the replicas' aggregate, relative to the results folder
	Artifacts []*artifact.Artifact // of a cell that was run, one a replica
	Document  *artifact.Document   // of a kept one, where its rules need it, and of an aggregate
}

// Report counts what became of the plan's cells.
type Report struct {
	Cells  int
	Kept   int // done by an earlier run, part of States
	States map[artifact.State]int
	Gates  []GateResult
}

// OK reports whether every cell is done, or was skipped by a rule.
func (r Report) OK() bool {
	return r.States[artifact.StateDone]+r.States[artifact.StateSkipped] == r.Cells
}

// Check holds everything that can be known before the first request and is
// the caller's to mend: keys that the recipe names and the environment lacks,
// CA files that cannot be read, more connections than the system allows.
func (r *Runner) Check() error {
	seen := map[*recipe.Tier]bool{}
	var errs []error
	connections := 0
	for i := range r.Plan.Sweeps {
		for j := range r.Plan.Sweeps[i].Cells {
			p := r.Plan.Sweeps[i].Cells[j].Point
			need := p.Concurrency.Value * Replicas(p)
			if embedded(p) {
				need *= 2 // both ends are in this process
			}
			connections = max(connections, need)
			if !seen[p.Tier] {
				seen[p.Tier] = true
				errs = append(errs, r.checkTier(p.Tier)...)
			}
		}
	}
	if limit, known := openFiles(); known {
		errs = append(errs, checkFiles(connections, limit))
	}
	return errors.Join(errs...)
}

// spareFiles is what a run has open beside its connections.
const spareFiles = 32

func checkFiles(connections int, limit uint64) error {
	if need := connections + spareFiles; uint64(need) > limit {
		return fmt.Errorf("a cell needs %d connections and %d other files, but this process may have %d open: raise the limit with ulimit -n %d", connections, spareFiles, limit, need)
	}
	return nil
}

func (r *Runner) checkTier(t *recipe.Tier) (errs []error) {
	if t.APIKeyEnv != "" && r.Getenv(t.APIKeyEnv) == "" {
		errs = append(errs, fmt.Errorf("tier %q: the environment variable %s, named by api_key_env, is not set", t.Name, t.APIKeyEnv))
	}
	for _, h := range t.Headers {
		if h.Env != "" && r.Getenv(h.Env) == "" {
			errs = append(errs, fmt.Errorf("tier %q: the environment variable %s, named by header_env for %s, is not set", t.Name, h.Env, h.Name))
		}
	}
	if t.TLS != nil && t.TLS.CAFile != "" {
		if _, err := os.ReadFile(t.TLS.CAFile); err != nil {
			errs = append(errs, fmt.Errorf("tier %q: ca_file: %w", t.Name, err))
		}
	}
	if t.BaseURL != "" && t.UnixSocket == "" {
		if _, err := proxyOf(t.BaseURL, r.Getenv); err != nil {
			errs = append(errs, fmt.Errorf("tier %q: %w", t.Name, err))
		}
	}
	return errs
}

// Open makes or reopens the results folder, and takes the endpoints where Locks
// is set. An error leaves an existing folder as it was.
func (r *Runner) Open() (err error) {
	r.unlock = func() error { return nil }
	if r.Locks != "" {
		if r.unlock, err = lockEndpoints(r.Locks, r.Plan, r.Dir); err != nil {
			return err
		}
	}
	if r.store, err = OpenStore(r.Dir, r.Plan, r.Version); err != nil {
		return errors.Join(err, r.unlock())
	}
	return nil
}

// Run runs every cell that is not already done in the folder; Open comes first.
//
// When admit ends, no new request is sent: those in flight finish, what is
// there is written and marked interrupted, and the cells left are recorded as
// not run. When flight ends as well, requests in flight are cancelled. A cell
// that fails does not end the run; an error means the folder could not be
// used or written.
func (r *Runner) Run(admit, flight context.Context) (report Report, err error) {
	report.Cells, report.States = r.Plan.Cells(), map[artifact.State]int{}
	open := &endpoints{open: map[string][]*endpoint{}, getenv: r.Getenv, logs: filepath.Join(r.Dir, "logs"), crashes: map[string]int{}}
	defer func() { err = errors.Join(err, open.close(), r.store.Close(), r.unlock()) }()

	if err := r.store.journal.add(Event{Event: EventRunStarted, Reason: fmt.Sprintf("%d cells", report.Cells)}); err != nil {
		return report, err
	}
	number := 0
	bad := map[string]bool{} // sweeps in which a cell did not go well
	for i := range r.Plan.Sweeps {
		s := &course{sweep: &r.Plan.Sweeps[i], began: time.Now()}
		for _, before := range s.sweep.After {
			if bad[before] {
				s.stopped, s.bad = halt{artifact.StateNotRun, fmt.Sprintf("sweep %q, which comes before, did not go well", before)}, true
			}
		}
		for _, l := range ladders(s.sweep.Cells) {
			run := func(c *Cell) (CellEnd, error) {
				number++
				end, err := r.cell(admit, flight, open, s, l, c, number)
				if err == nil {
					err = r.store.journal.add(ended(c, end))
				}
				if err != nil {
					return end, fmt.Errorf("cell %s: %w", c.ID, err)
				}
				report.States[end.State]++
				if end.Kept {
					report.Kept++
				}
				return end, nil
			}
			if err := r.climb(l, run); err != nil {
				return report, err
			}
			l.previous = nil // figures of thousands of ladders are not kept
		}
		bad[s.sweep.Name] = s.bad
		report.Gates = append(report.Gates, s.gates...)
	}
	ended := Event{Event: EventRunEnded, Reason: fmt.Sprintf("%d of %d cells done", report.States[artifact.StateDone], report.Cells)}
	if admit.Err() != nil {
		ended.Reason += ", " + context.Cause(admit).Error()
	}
	return report, errors.Join(r.store.save(), r.store.journal.add(ended))
}

// ended is the journal's word of a cell.
func ended(c *Cell, end CellEnd) Event {
	e := Event{Event: EventCellEnded, Sweep: c.Sweep, Cell: c.ID, State: end.State, Reason: end.Reason, Path: end.Path}
	switch {
	case end.Kept:
		e.Event = EventCellKept
	case end.Path == "":
		e.Event = EventCellNotRun
	}
	return e
}

// climb runs a ladder's cells, from the lowest or as its search decides.
func (r *Runner) climb(l *ladder, run func(*Cell) (CellEnd, error)) error {
	cells := l.cells
	if cells[0].Point.Concurrency.Search != nil {
		left, why, err := l.search(run)
		if err != nil {
			return err
		}
		cells, l.stopped = left, halt{artifact.StateSkipped, why}
	}
	for _, c := range cells {
		if _, err := run(c); err != nil {
			return err
		}
	}
	return nil
}

// learn lets the rules see a cell. One that has no value for it is an error:
// what follows would be decided by chance.
func (r *Runner) learn(s *course, l *ladder, c *Cell, end CellEnd) error {
	diags := s.learn(l, c, end, r.Baseline[c.Digest])
	if !diags.HasErrors() {
		return nil
	}
	first := diags.List()[0]
	return fmt.Errorf("%s line %d: %s: %s", first.File, first.Line, first.Summary, first.Detail)
}

func (r *Runner) tell(what func(Observer)) {
	if r.Observer != nil {
		what(r.Observer)
	}
}

// ManifestPath is where the run's manifest is.
func (r *Runner) ManifestPath() string { return filepath.Join(r.Dir, artifact.ManifestName) }
