package sweep

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"anvilsweep/sweep/artifact"
)

// cell runs a cell, or says why it is not run.
func (r *Runner) cell(admit, flight context.Context, open *endpoints, s *course, l *ladder, c *Cell, number int) (CellEnd, error) {
	if end, settled, err := r.settled(admit, s, l, c); settled || err != nil {
		return end, err
	}
	if s.ran && s.sweep.Rules.Cooldown > 0 && !waitUntil(admit, time.Now().Add(s.sweep.Rules.Cooldown)) {
		end, _, err := r.settled(admit, s, l, c)
		return end, err
	}
	s.ran = true
	if err := r.store.journal.add(Event{Event: EventCellStarted, Sweep: c.Sweep, Cell: c.ID}); err != nil {
		return CellEnd{}, err
	}
	r.tell(func(o Observer) { o.CellStarted(c, number, r.Plan.Cells()) })
	eps, err := open.get(c)
	if err != nil {
		return CellEnd{}, err
	}
	parts, err := r.attempt(admit, flight, open, eps, c)
	if err != nil {
		return CellEnd{}, err
	}
	end := CellEnd{Path: parts[0].rel}
	for _, p := range parts {
		end.Artifacts = append(end.Artifacts, p.built)
	}
	end.State, end.Reason = outcome(parts)
	if err := open.crashed(); err != nil && end.State != artifact.StateDone {
		end.Reason += "; " + err.Error()
		if err := r.store.journal.add(Event{Event: EventEngineCrashed, Cell: c.ID, Reason: err.Error()}); err != nil {
			return CellEnd{}, err
		}
	}
	files := make([]file, len(parts))
	for i, p := range parts {
		files[i] = file{p.rel, p.data}
	}
	if len(parts) > 1 && end.State == artifact.StateDone {
		if files, err = r.aggregate(&end, files); err != nil {
			return CellEnd{}, err
		}
	}
	if err := r.store.Record(c, end.State, end.Reason, files...); err != nil {
		return CellEnd{}, err
	}
	r.tell(func(o Observer) { o.CellEnded(c, end) })
	return end, r.learn(s, l, c, end)
}

// settled is the end of a cell that is not to be run: done by an earlier run,
// decided by a rule, or cut off by the user.
func (r *Runner) settled(admit context.Context, s *course, l *ladder, c *Cell) (end CellEnd, settled bool, err error) {
	was := r.store.cell(c)
	if r.store.Whole(c) {
		end := CellEnd{State: artifact.StateDone, Kept: true, Path: was.Artifacts[len(was.Artifacts)-1].Path}
		if p := c.Point.Concurrency; len(p.Stops) > 0 || p.Search != nil || len(s.sweep.Rules.Gates) > 0 {
			docs, err := artifact.Collect([]string{filepath.Join(r.Dir, filepath.FromSlash(end.Path))})
			if err != nil {
				return end, true, err
			}
			end.Document = docs[0]
			if err := r.learn(s, l, c, end); err != nil {
				return end, true, err
			}
		}
		r.tell(func(o Observer) { o.CellEnded(c, end) })
		return end, true, nil
	}
	if len(was.Artifacts) > 0 && !r.Retry.again(was.State) {
		s.bad = true
		end := CellEnd{State: was.State, Reason: was.Reason, Kept: true, Path: was.Artifacts[len(was.Artifacts)-1].Path}
		r.tell(func(o Observer) { o.CellEnded(c, end) })
		return end, true, nil
	}
	why := s.skip(l, c)
	if admit.Err() != nil {
		why = halt{artifact.StateNotRun, "not started: " + context.Cause(admit).Error()}
	}
	if why.reason == "" {
		return CellEnd{}, false, nil
	}
	r.store.NotRun(c, why.state, why.reason)
	end = CellEnd{State: why.state, Reason: why.reason}
	if admit.Err() == nil {
		r.tell(func(o Observer) { o.CellEnded(c, end) })
	}
	return end, true, nil
}

// part is what one replica of a cell left.
type part struct {
	rel      string
	built    *artifact.Artifact
	measured measured
	data     []byte
}

// attempt measures the cell on all its replicas at once.
func (r *Runner) attempt(admit, flight context.Context, open *endpoints, eps []*endpoint, c *Cell) ([]part, error) {
	parts := make([]part, len(eps))
	traces := make([]*trace, len(eps))
	stem := r.store.NextStem(c, len(eps))
	for i := range parts {
		parts[i].rel = replicaPath(stem, i, len(eps))
		if r.Trace {
			var err error
			if traces[i], err = newTrace(filepath.Join(r.Dir, filepath.FromSlash(parts[i].rel))); err != nil {
				return nil, err
			}
		}
	}
	run := c.salted(time.Now())
	var noted error
	launched := open.launch(admit, eps[0], c.Point, func(what, command string) {
		r.Log.Info(what, "command", command)
		noted = r.store.journal.add(Event{Event: EventEngineStarts, Cell: c.ID, Reason: command})
	})
	if noted != nil {
		return nil, noted
	}
	line := newStartLine(len(eps))
	var wg sync.WaitGroup
	for i, ep := range eps {
		wg.Go(func() { parts[i].measured = r.measure(admit, flight, ep, launched, run, traces[i], line) })
	}
	wg.Wait()
	domain := c.clockDomain(run.Seed)
	for i, ep := range eps {
		p := &parts[i]
		if t := traces[i]; t != nil {
			if err := t.keep(); err != nil {
				return nil, fmt.Errorf("raw trace: %w", err)
			}
		}
		in := r.input(ep, run, p.measured, p.rel)
		if len(eps) > 1 {
			in.Sweep.Replica = &artifact.Replica{Number: i + 1, Of: len(eps)}
			in.ClockDomainID = domain
		}
		var err error
		if p.built, err = artifact.Build(in); err != nil {
			return nil, err
		}
		if p.data, err = p.built.Bytes(); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// clockDomain is the tier's, else one of this run alone: its replicas are timed
// by one process on one clock.
func (c *Cell) clockDomain(seed int64) string {
	return cmp.Or(c.Point.Tier.ClockDomain, fmt.Sprintf("anvilsweep-%s-%d", c.Digest[len("sha256:"):][:12], seed))
}

// aggregate joins the replicas' artifacts to one document, which the cell's
// rules look at. Where they cannot be joined the cell is not done.
func (r *Runner) aggregate(end *CellEnd, files []file) ([]file, error) {
	docs := make([]*artifact.Document, len(files))
	for i, f := range files {
		docs[i] = artifact.Decode(filepath.Join(r.Dir, filepath.FromSlash(f.rel)), f.data)
	}
	end.Path = aggregatePath(files[0].rel)
	path := filepath.Join(r.Dir, filepath.FromSlash(end.Path))
	joined, err := artifact.Combine(docs, filepath.Dir(path))
	if err != nil {
		end.State, end.Reason, end.Path = artifact.StateDegraded, "its replicas cannot be taken together: "+err.Error(), files[0].rel
		return files, nil
	}
	data, err := artifact.Encode(joined)
	if err != nil {
		return nil, err
	}
	end.Document = artifact.Decode(path, data)
	return append(files, file{end.Path, data}), nil
}

// outcome names the cell's state and, where something failed, the most
// frequent kinds of failure with the first message of the commonest.
func outcome(parts []part) (artifact.State, string) {
	failed, requests, completed := 0, 0, 0
	kinds := map[string]int{}
	cut, first := "", ""
	for _, p := range parts {
		if p.measured.interrupted != "" {
			return artifact.StateInterrupted, p.measured.interrupted
		}
		cut = cmp.Or(cut, p.measured.cut)
		failed, requests, completed = failed+p.built.Failed, requests+p.built.Requests, completed+p.built.Completed
		for kind, n := range p.built.Sweep.FailureKinds {
			kinds[kind] += n
		}
		for _, f := range p.built.Failures {
			first = cmp.Or(first, f.ErrorMessage)
		}
	}
	if failed == 0 {
		return artifact.StateDone, ""
	}
	names := slices.SortedFunc(maps.Keys(kinds), func(x, y string) int { return cmp.Or(kinds[y]-kinds[x], cmp.Compare(x, y)) })
	reason := fmt.Sprintf("%d of %d requests failed", failed, requests)
	if cut != "" {
		reason = cut + "; " + reason
	}
	for i, name := range names {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		reason += fmt.Sprintf("%s%s %d", sep, name, kinds[name])
	}
	if first != "" {
		reason += "; first: " + firstLine(first)
	}
	if completed == 0 {
		return artifact.StateFailed, reason
	}
	return artifact.StateDegraded, reason
}

func firstLine(s string) string {
	const limit = 200
	for i, r := range s {
		if r == '\n' || r == '\r' || i >= limit {
			return s[:i] + "…"
		}
	}
	return s
}
