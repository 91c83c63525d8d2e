package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"anvilsweep/sweep/artifact"
)

// adopt takes in artifacts that the manifest does not name: a run that was
// killed wrote them and did not come to naming them.
func (s *Store) adopt() error {
	unnamed, err := s.unnamed()
	if err != nil || len(unnamed) == 0 {
		return err
	}
	docs, err := artifact.Collect(unnamed)
	if err != nil {
		return err
	}
	kind := func(d *artifact.Document) int { // replicas before their aggregate
		if d.Kind == artifact.KindAggregate {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(docs, func(a, b *artifact.Document) int { // the last attempt counts
		return cmp.Or(a.Started.Compare(b.Started), kind(a)-kind(b))
	})
	told, err := s.toldOf()
	if err != nil {
		return err
	}
	attempts := map[string]int{} // by stem
	for _, d := range docs {
		rel, err := filepath.Rel(s.dir, d.Path)
		if rel = filepath.ToSlash(rel); err != nil || s.names[rel] || d.Sweep == nil {
			continue
		}
		at, planned := s.at[key(d.Sweep.Name, d.Sweep.CellDigest)]
		if !planned {
			s.add(artifact.ManifestCell{
				ID: d.Sweep.CellID, Digest: d.Sweep.CellDigest, Sweep: d.Sweep.Name, Axes: d.Sweep.Axes,
				Repeat: d.Sweep.Repeat, Requests: d.Requests, Stale: true,
			})
			at = len(s.manifest.Cells) - 1
		}
		cell, stem := &s.manifest.Cells[at], stemOf(rel)
		if attempts[stem] == 0 {
			attempts[stem] = cell.Attempts() + 1
		}
		file := artifact.ManifestFile{Path: rel, SHA256: d.SHA256, Bytes: d.Bytes, State: stateOf(d), Attempt: attempts[stem]}
		cell.State, cell.Reason = file.State, ""
		switch e, ok := told[rel]; {
		case ok:
			cell.State, cell.Reason = e.State, e.Reason
		case d.Sweep.Replica != nil:
			cell.State, cell.Reason = artifact.StateInterrupted, "the run was killed before its replicas were taken together"
		case file.State != artifact.StateDone:
			cell.Reason = fmt.Sprintf("%d of %d requests failed; found after a run that was killed", d.Failed, d.Requests)
		}
		cell.Artifacts = append(cell.Artifacts, file)
		s.names[file.Path] = true
	}
	for i := range s.manifest.Cells {
		aggregateLast(s.manifest.Cells[i].Artifacts)
	}
	return nil
}

// unnamed are the files under cells that the manifest does not name.
func (s *Store) unnamed() (paths []string, err error) {
	cells := filepath.Join(s.dir, "cells")
	if _, err := os.Stat(cells); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err = filepath.WalkDir(cells, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || filepath.Ext(path) != ".json" {
			return err
		}
		if rel, err := filepath.Rel(s.dir, path); err == nil && !s.names[filepath.ToSlash(rel)] {
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}

// toldOf is what the journal says of artifacts, by path.
func (s *Store) toldOf() (map[string]Event, error) {
	out := map[string]Event{}
	for _, name := range []string{olderName, journalName} {
		events, _, err := readJournal(filepath.Join(s.dir, name))
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if e.Event == EventCellEnded && e.Path != "" {
				out[e.Path] = e
			}
		}
	}
	return out, nil
}

// stemOf is a file's path without what tells the files of an attempt apart.
func stemOf(rel string) string {
	stem := strings.TrimSuffix(rel, ".json")
	if ext := path.Ext(stem); ext == ".aggregate" || strings.HasPrefix(ext, ".replica") {
		stem = strings.TrimSuffix(stem, ext)
	}
	return stem
}

// aggregateLast puts each attempt's aggregate behind its replicas.
func aggregateLast(files []artifact.ManifestFile) {
	last := func(f artifact.ManifestFile) int {
		if strings.HasSuffix(f.Path, ".aggregate.json") {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(files, func(a, b artifact.ManifestFile) int {
		return cmp.Or(a.Attempt-b.Attempt, last(a)-last(b))
	})
}

// stateOf is what an artifact alone says of its cell.
func stateOf(d *artifact.Document) artifact.State {
	switch {
	case d.Sweep.State == "interrupted":
		return artifact.StateInterrupted
	case d.Failed == 0:
		return artifact.StateDone
	case d.Completed == 0:
		return artifact.StateFailed
	}
	return artifact.StateDegraded
}
