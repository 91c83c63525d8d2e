package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// link follows an artifact to its manifest and back: the manifest must name
// the file, with this size and these bytes.
func (v *verifier) link() {
	if v.d.ManifestPath == "" || v.d.Sweep == nil {
		return
	}
	path := v.d.Beside(v.d.ManifestPath)
	m := readFile(path)
	if m.Kind != KindManifest {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			v.limit("its manifest %s is not there: its place in the sweep cannot be checked", v.d.ManifestPath)
			return
		}
		v.fault("its manifest %s is not one: %s", v.d.ManifestPath, m.Why)
		return
	}
	own, err := filepath.Rel(filepath.Dir(path), v.d.Path)
	if err != nil {
		v.fault("its manifest %s cannot be reached: %v", v.d.ManifestPath, err)
		return
	}
	for _, cell := range m.Manifest.Cells {
		for _, f := range cell.Artifacts {
			if f.Path == filepath.ToSlash(own) {
				n := v.hold(f.SHA256 == v.d.SHA256 && f.Bytes == v.d.Bytes, "the manifest names %d bytes with SHA-256 %s, the file has %d with %s", f.Bytes, f.SHA256, v.d.Bytes, v.d.SHA256)
				v.checked("link to the manifest", n)
				return
			}
		}
	}
	// The manifest is never ahead of the artifacts, and behind by one where a
	// run was killed between the two.
	v.limit("its manifest does not name it yet; going on with the run takes it in")
}

// verifyManifest follows a manifest to its artifacts and its recipe's copies.
func verifyManifest(d *Document, r *Report) {
	v := &verifier{d: d, r: r}
	artifacts, copies := 0, 0
	planned, ids := map[string]int{}, map[[2]string]int{}
	for i, cell := range d.Manifest.Cells {
		if !cell.Stale {
			planned[cell.Sweep]++
			if first, twice := ids[[2]string{cell.Sweep, cell.Digest}]; twice {
				v.fault("cells %s and %s have one digest", d.Manifest.Cells[first].ID, cell.ID)
			}
			ids[[2]string{cell.Sweep, cell.Digest}] = i
		}
		for _, f := range cell.Artifacts {
			if fault := followed(d, cell, f); fault != "" {
				v.fault("%s: %s", f.Path, fault)
				continue
			}
			artifacts++
		}
		done := len(cell.Artifacts) > 0 && cell.Artifacts[len(cell.Artifacts)-1].State == cell.State
		if cell.State != StateNotRun && cell.State != StateSkipped && !done {
			v.fault("cell %s is %s and no artifact says so", cell.ID, cell.State)
		}
	}
	for _, s := range d.Manifest.Sweeps {
		v.hold(planned[s.Name] == s.Cells, "sweep %s has %d cells, the manifest lists %d", s.Name, s.Cells, planned[s.Name])
	}
	for _, s := range d.Manifest.Recipe.Sources {
		sum, _, err := sumFile(d.Beside(s.Copy))
		copies += v.hold(err == nil && sum == s.CopySHA, "the copy of the recipe %s is not the one the manifest names", s.Copy)
	}
	v.checked("artifacts linked, with size and SHA-256", artifacts)
	v.checked("recipe sources", copies)
}

// followed reports what is wrong with one artifact of a cell. Its id may be an
// earlier one: a renamed label keeps the digest.
func followed(d *Document, cell ManifestCell, f ManifestFile) string {
	a := readFile(d.Beside(f.Path))
	switch {
	case a.Kind != KindBenchmark && a.Kind != KindAggregate:
		return a.Why
	case a.Bytes != f.Bytes || a.SHA256 != f.SHA256:
		return fmt.Sprintf("the manifest names %d bytes with SHA-256 %s, the file has %d with %s", f.Bytes, f.SHA256, a.Bytes, a.SHA256)
	case a.Sweep == nil:
		return "it has no sweep object"
	case a.Sweep.CellDigest != cell.Digest:
		return fmt.Sprintf("it is cell %s with digest %s, the manifest says %s", a.Sweep.CellID, a.Sweep.CellDigest, cell.Digest)
	case a.Kind == KindBenchmark && filepath.Clean(a.Beside(a.ManifestPath)) != filepath.Clean(d.Path):
		return fmt.Sprintf("it names the manifest %s", a.ManifestPath)
	case f.State == StateDone && a.Failed > 0:
		return fmt.Sprintf("the cell is done and %d of its requests failed", a.Failed)
	}
	return ""
}

// verifyAggregate makes the aggregate again from its replicas' artifacts: it
// must come out the same, byte for byte.
func verifyAggregate(d *Document, r *Report) {
	v := &verifier{d: d, r: r}
	replicas, _ := d.tree["replicas"].([]any)
	var docs []*Document
	for i, entry := range replicas {
		in, _ := entry.(map[string]any)
		rel, _ := in["artifact"].(string)
		if rel == "" {
			v.fault("replica %d names no artifact", i+1)
			return
		}
		doc := readFile(d.Beside(rel))
		if doc.Kind == KindOther {
			v.limit("replica %d, %s, cannot be read, so the aggregate cannot be made again: %s", i+1, rel, doc.Why)
			return
		}
		if doc.SHA256 != in["sha256"] {
			v.fault("replica %d, %s, has SHA-256 %s, the aggregate names %v", i+1, rel, doc.SHA256, in["sha256"])
		}
		docs = append(docs, doc)
	}
	again, err := Combine(docs, filepath.Dir(d.Path))
	if err != nil {
		v.fault("its replicas cannot be taken together: %v", err)
		return
	}
	data, err := Encode(again)
	if err != nil {
		v.fault("made again it cannot be written: %v", err)
		return
	}
	if v.d.Sweep == nil { // another writer's may differ in keys, not in figures
		for name, want := range again.Metrics {
			if got, ok := d.metric(name); ok {
				w, _ := again.Metrics.Float(name)
				v.hold(near(got, w, rateTolerance), "metrics.%s is %v, the replicas make %v", name, got, want)
			}
		}
	} else {
		v.hold(bytes.Equal(data, d.data), "made again from its replicas it comes out different")
	}
	v.checked("replicas, with SHA-256", len(docs))
	v.checked("figures made again", len(again.Metrics))
}

func sumFile(path string) (sum string, size int64, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", 0, err
	}
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:]), int64(len(data)), nil
}
