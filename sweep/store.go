package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// Store is a results folder: artifacts under cells/, copies of the recipe's
// sources under recipe/, the manifest that lists every cell, and the journal of
// what happened.
//
// What an earlier run left is never overwritten: a cell that is run again gets
// a new file, and cells that the recipe no longer has stay listed as stale.
type Store struct {
	dir      string
	manifest artifact.Manifest
	at       map[string]int // sweep/digest -> index in manifest.Cells
	names    map[string]bool
	journal  *journal
	unlock   func() error
}

// OpenStore makes or reopens the results folder, checks that it can be
// written, merges the plan into its manifest and writes it.
func OpenStore(dir string, plan *Plan, version string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("output folder: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".writable.*.tmp")
	if err != nil {
		return nil, fmt.Errorf("output folder is not writable: %w", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return nil, fmt.Errorf("output folder: %w", err)
	}
	earlier, err := readManifest(filepath.Join(dir, artifact.ManifestName))
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, at: map[string]int{}, names: map[string]bool{}}
	if s.unlock, err = lockFolder(filepath.Join(dir, lockName)); err != nil {
		return nil, err
	}
	if s.journal, err = openJournal(dir); err != nil {
		return nil, errors.Join(err, s.unlock())
	}
	s.merge(earlier, plan, version)
	if err := errors.Join(s.sweepUp(), s.adopt(), s.copySources(plan.Recipe), s.save()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// lockName is the file that keeps two runs out of one folder. The lock is the
// process's own and goes with it, so it is never stale.
const lockName = ".lock"

// Close lets the next run in.
func (s *Store) Close() error { return errors.Join(s.journal.close(), s.unlock()) }

// sweepUp removes the temporary files of a run that was killed: nothing names
// them, and no other run is in the folder.
func (s *Store) sweepUp() error {
	return filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.Type().IsRegular() && strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp") {
			return os.Remove(path)
		}
		return nil
	})
}

// readManifest returns nil where there is no manifest yet, and refuses a file
// of that name that is something else.
func readManifest(file string) (*artifact.Manifest, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("output folder: %w", err)
	}
	var m artifact.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%s: not a sweep manifest (%w); choose another output folder", file, err)
	}
	if m.Schema != artifact.ManifestSchema {
		return nil, fmt.Errorf("%s: schema %q is not %s; choose another output folder", file, m.Schema, artifact.ManifestSchema)
	}
	return &m, nil
}

func (s *Store) merge(earlier *artifact.Manifest, plan *Plan, version string) {
	now := time.Now().UTC()
	s.manifest = artifact.Manifest{
		Schema: artifact.ManifestSchema, Program: "anvilsweep " + version, CreatedAt: now, UpdatedAt: now,
		Rules: artifact.ManifestRules{CellDigest: CellDigestRule, ConfigurationFingerprint: FingerprintRule},
	}
	before := map[string]artifact.ManifestCell{}
	if earlier != nil {
		s.manifest.CreatedAt = earlier.CreatedAt
		for _, cell := range earlier.Cells {
			before[key(cell.Sweep, cell.Digest)] = cell
		}
	}
	for i := range plan.Sweeps {
		s.addSweep(&plan.Sweeps[i], before)
	}
	if earlier == nil {
		return
	}
	for _, cell := range earlier.Cells {
		if _, planned := s.at[key(cell.Sweep, cell.Digest)]; planned || len(cell.Artifacts) == 0 {
			continue
		}
		cell.Stale = true
		s.add(cell)
	}
}

func (s *Store) addSweep(sweep *PlannedSweep, before map[string]artifact.ManifestCell) {
	s.manifest.Sweeps = append(s.manifest.Sweeps, artifact.ManifestSweep{
		Name: sweep.Name, SourceRecipe: sweep.SourceRecipe, Cells: len(sweep.Cells), Excluded: len(sweep.Excluded),
	})
	for i := range sweep.Cells {
		c := &sweep.Cells[i]
		entry := artifact.ManifestCell{
			ID: c.ID, Digest: c.Digest, Sweep: c.Sweep, Axes: Axes(c.Point), Repeat: c.Point.Repeat,
			Requests: c.Requests, State: artifact.StateNotRun, Reason: "not started yet",
		}
		if old, ok := before[key(c.Sweep, c.Digest)]; ok {
			entry.State, entry.Reason, entry.Artifacts = old.State, old.Reason, old.Artifacts
		}
		s.add(entry)
	}
	for _, e := range sweep.Excluded {
		s.manifest.Excluded = append(s.manifest.Excluded, artifact.ManifestExcept{
			Sweep: sweep.Name, Axes: Axes(e.Point), Repeat: e.Point.Repeat, Reason: e.Reason,
		})
	}
}

// adopt takes in artifacts that the manifest does not name: a run that was
// killed wrote them and did not come to naming them.
func (s *Store) adopt() error {
	cells := filepath.Join(s.dir, "cells")
	if _, err := os.Stat(cells); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	docs, err := artifact.Collect([]string{cells})
	if err != nil {
		return err
	}
	slices.SortStableFunc(docs, func(a, b *artifact.Document) int { return a.Started.Compare(b.Started) }) // the last attempt counts
	for _, d := range docs {
		rel, err := filepath.Rel(s.dir, d.Path)
		if err != nil || s.names[filepath.ToSlash(rel)] || d.Sweep == nil {
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
		file := artifact.ManifestFile{Path: filepath.ToSlash(rel), SHA256: d.SHA256, Bytes: d.Bytes, State: stateOf(d)}
		cell := &s.manifest.Cells[at]
		cell.State, cell.Reason = file.State, ""
		if file.State != artifact.StateDone {
			cell.Reason = fmt.Sprintf("%d of %d requests failed; found after a run that was killed", d.Failed, d.Requests)
		}
		cell.Artifacts = append(cell.Artifacts, file)
		s.names[file.Path] = true
	}
	return nil
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

func (s *Store) add(cell artifact.ManifestCell) {
	s.at[key(cell.Sweep, cell.Digest)] = len(s.manifest.Cells)
	s.manifest.Cells = append(s.manifest.Cells, cell)
	for _, f := range cell.Artifacts {
		s.names[f.Path] = true
	}
}

func key(sweep, digest string) string { return sweep + "/" + digest }

// copySources puts the recipe's sources beside the results, sensitive values
// taken out, in a folder named by their digest: an earlier recipe's copies stay.
func (s *Store) copySources(r *recipe.Recipe) error {
	digest := r.Digest()
	s.manifest.Recipe = artifact.ManifestRecipe{Digest: digest}
	folder := path.Join("recipe", strings.TrimPrefix(digest, "sha256:")[:12])
	taken := map[string]bool{}
	for i, src := range r.Sources {
		name := r.Portable(src.Path)
		if taken[name] {
			name = path.Join(fmt.Sprint(i), name)
		}
		taken[name] = true
		content, redacted := r.Redacted(src)
		rel := path.Join(folder, name)
		if err := s.write(rel, content); err != nil {
			return err
		}
		s.manifest.Recipe.Sources = append(s.manifest.Recipe.Sources, artifact.ManifestSource{
			Path: name, SHA256: sum(src.Bytes), Copy: rel, CopySHA: sum(content), Redacted: redacted,
		})
	}
	for _, v := range r.Variables {
		s.manifest.Recipe.Variables = append(s.manifest.Recipe.Variables,
			artifact.ManifestVariable{Name: v.Name, Value: v.Value, Origin: v.Origin})
	}
	return nil
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// Whole reports whether the cell was run to success and its artifact is still
// the one the manifest names, byte for byte.
func (s *Store) Whole(c *Cell) bool {
	cell := s.cell(c)
	if cell.State != artifact.StateDone || len(cell.Artifacts) == 0 {
		return false
	}
	last := cell.Artifacts[len(cell.Artifacts)-1]
	data, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(last.Path)))
	return err == nil && sum(data) == last.SHA256
}

func (s *Store) cell(c *Cell) *artifact.ManifestCell {
	return &s.manifest.Cells[s.at[key(c.Sweep, c.Digest)]]
}

// NextPath is where the cell's next artifact goes, relative to the folder, in
// slashes: a name no earlier attempt has.
func (s *Store) NextPath(c *Cell) string {
	rel := path.Join("cells", short(c.Sweep), c.ID+".json")
	for n := 2; s.taken(rel); n++ {
		rel = path.Join("cells", short(c.Sweep), fmt.Sprintf("%s.attempt%d.json", c.ID, n))
	}
	return rel
}

func (s *Store) taken(rel string) bool {
	_, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(rel)))
	return s.names[rel] || err == nil
}

// Record writes the artifact, then the manifest that names it.
func (s *Store) Record(c *Cell, state artifact.State, reason, rel string, data []byte) error {
	if err := s.write(rel, data); err != nil {
		return err
	}
	s.names[rel] = true
	cell := s.cell(c)
	cell.State, cell.Reason = state, reason
	cell.Artifacts = append(cell.Artifacts, artifact.ManifestFile{
		Path: rel, SHA256: sum(data), Bytes: int64(len(data)), State: state,
	})
	return s.save()
}

// NotRun records why a planned cell was not started or is skipped; what an
// earlier run knew of it is kept.
func (s *Store) NotRun(c *Cell, state artifact.State, reason string) {
	cell := s.cell(c)
	if len(cell.Artifacts) == 0 {
		cell.State, cell.Reason = state, reason
	}
}

func (s *Store) save() error {
	s.manifest.UpdatedAt = time.Now().UTC()
	data, err := artifact.Encode(s.manifest)
	if err != nil {
		return err
	}
	return artifact.WriteFile(filepath.Join(s.dir, artifact.ManifestName), data)
}

func (s *Store) write(rel string, data []byte) error {
	full := filepath.Join(s.dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	return artifact.WriteFile(full, data)
}
