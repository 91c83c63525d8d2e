package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"anvilsweep/sweep/artifact"
)

// VerifyJournal holds a results folder's journal against its manifest and its
// files: numbers without a gap, every artifact that it tells of there and named,
// and each cell's last word the manifest's. ok is false where there is none.
func VerifyJournal(manifest *artifact.Document) (report artifact.Report, ok bool) {
	dir := filepath.Dir(manifest.Path)
	report = artifact.Report{Path: filepath.Join(dir, journalName), Kind: artifact.KindJournal}
	if _, err := os.Stat(report.Path); errors.Is(err, fs.ErrNotExist) {
		return report, false
	}
	fault := func(format string, args ...any) {
		report.Faults = append(report.Faults, fmt.Sprintf(format, args...))
	}
	limit := func(format string, args ...any) {
		report.Limitations = append(report.Limitations, fmt.Sprintf(format, args...))
	}
	events, err := ReadEvents(dir, 0)
	if err != nil {
		fault("%v", err)
		return report, true
	}
	if _, whole, err := readJournal(report.Path); err == nil {
		if info, err := os.Stat(report.Path); err == nil && info.Size() != whole {
			limit("its last %d bytes are no whole line, as a killed run leaves it; going on with the run cuts them off", info.Size()-whole)
		}
	}
	named := map[string]artifact.ManifestCell{}
	cells := map[string]artifact.ManifestCell{}
	for _, c := range manifest.Manifest.Cells {
		cells[c.Sweep+"\x00"+c.ID] = c
		for _, f := range c.Artifacts {
			named[f.Path] = c
		}
	}
	last := map[string]Event{} // of a cell, its last result
	open := map[string]Event{}
	var order []string
	running := false
	for i, e := range events {
		if i > 0 && e.N != events[i-1].N+1 {
			fault("event %d follows event %d", e.N, events[i-1].N)
		}
		key := e.Sweep + "\x00" + e.Cell
		switch e.Event {
		case EventRunStarted:
			running = true
			clear(open)
		case EventRunEnded:
			running = false
		case EventCellStarted:
			open[key] = e
		case EventCellEnded:
			delete(open, key)
			if _, seen := last[key]; !seen {
				order = append(order, key)
			}
			last[key] = e
			if e.Path == "" {
				continue
			}
			_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(e.Path)))
			_, known := named[e.Path]
			switch {
			case err != nil && known:
				fault("event %d tells of %s, which is not there", e.N, e.Path)
			case err != nil:
				fault("event %d tells of %s, which is neither there nor in the manifest", e.N, e.Path)
			case !known:
				limit("event %d tells of %s, which the manifest does not name yet; going on with the run takes it in", e.N, e.Path)
			}
		}
	}
	agreed := 0
	for _, key := range order {
		e := last[key]
		c, planned := cells[key]
		if _, known := named[e.Path]; !planned || !known {
			continue // of an earlier recipe, renamed, or not taken in yet
		}
		if c.State != e.State {
			fault("event %d says that cell %s is %s, the manifest says %s", e.N, e.Cell, e.State, c.State)
			continue
		}
		agreed++
	}
	if running {
		limit("the last run did not end: it goes on, or was killed in the middle of %d cells", len(open))
	}
	report.Checks = append(report.Checks, artifact.Check{What: "events in their order", Count: len(events)})
	if agreed > 0 {
		report.Checks = append(report.Checks, artifact.Check{What: "cells' last events against the manifest", Count: agreed})
	}
	return report, true
}
