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
	lock     *os.File  // held while the run is in the folder
	saved    time.Time // when the manifest was last written
	dirty    bool      // it says less than is known
}

// saveEvery is how often the manifest is written at most: it names every cell,
// and thousands of cells would spend their time on it. What it does not name
// yet, the journal does.
const saveEvery = time.Second

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
	if s.lock, err = lockFolder(filepath.Join(dir, lockName)); err != nil {
		return nil, err
	}
	if s.journal, err = openJournal(dir); err != nil {
		return nil, errors.Join(err, s.lock.Close())
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
func (s *Store) Close() error {
	var err error
	if s.dirty {
		err = s.save()
	}
	return errors.Join(err, s.journal.close(), s.lock.Close())
}

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

// Whole reports whether the cell was run to success and its artifacts are
// still those that the manifest names, byte for byte.
func (s *Store) Whole(c *Cell) bool {
	cell := s.cell(c)
	files := cell.LastAttempt()
	if cell.State != artifact.StateDone || len(files) == 0 {
		return false
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(f.Path)))
		if err != nil || sum(data) != f.SHA256 {
			return false
		}
	}
	return true
}

func (s *Store) cell(c *Cell) *artifact.ManifestCell {
	return &s.manifest.Cells[s.at[key(c.Sweep, c.Digest)]]
}

// file is one to be written, its path relative to the folder, in slashes.
type file struct {
	rel  string
	data []byte
}

// NextStem is where the files of the cell's next attempt go, without what tells
// its replicas apart: a name no earlier attempt has.
func (s *Store) NextStem(c *Cell, replicas int) string {
	first := path.Join("cells", short(c.Sweep), c.ID)
	stem := first
	for n := 2; s.taken(stem, replicas); n++ {
		stem = fmt.Sprintf("%s.attempt%d", first, n)
	}
	return stem
}

// replicaPath is the file of a replica; a cell's only server has none in its
// name.
func replicaPath(stem string, i, replicas int) string {
	if replicas == 1 {
		return stem + ".json"
	}
	return fmt.Sprintf("%s.replica%d.json", stem, i+1)
}

// aggregatePath is where the files of a cell's replicas are joined.
func aggregatePath(replica string) string {
	return strings.TrimSuffix(replica, ".replica1.json") + ".aggregate.json"
}

func (s *Store) taken(stem string, replicas int) bool {
	for i := range replicas {
		rel := replicaPath(stem, i, replicas)
		if _, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(rel))); s.names[rel] || err == nil {
			return true
		}
	}
	return false
}

// Record writes the files of one attempt, then the manifest that names them.
func (s *Store) Record(c *Cell, state artifact.State, reason string, files ...file) error {
	cell := s.cell(c)
	attempt := cell.Attempts() + 1
	var named []artifact.ManifestFile
	for _, f := range files {
		if err := s.write(f.rel, f.data); err != nil {
			return err
		}
		s.names[f.rel] = true
		named = append(named, artifact.ManifestFile{Path: f.rel, SHA256: sum(f.data), Bytes: int64(len(f.data)), State: state, Attempt: attempt})
	}
	cell.State, cell.Reason = state, reason
	cell.Artifacts = append(cell.Artifacts, named...)
	if s.dirty = true; time.Since(s.saved) < saveEvery {
		return nil
	}
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
	if err == nil {
		err = s.inPlace()
	}
	if err != nil {
		return err
	}
	if err := artifact.WriteFile(filepath.Join(s.dir, artifact.ManifestName), data); err != nil {
		return err
	}
	s.saved, s.dirty = time.Now(), false
	return nil
}

func (s *Store) write(rel string, data []byte) error {
	if err := s.inPlace(); err != nil {
		return err
	}
	full := filepath.Join(s.dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	return artifact.WriteFile(full, data)
}
