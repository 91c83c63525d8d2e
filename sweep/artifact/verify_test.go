package artifact

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder is a results folder of one artifact with its manifest.
func folder(t *testing.T, change func(*Manifest)) (dir string, data []byte) {
	t.Helper()
	dir = t.TempDir()
	a := example(t)
	data, err := a.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	cells := filepath.Join(dir, "cells", "s")
	if err := os.MkdirAll(cells, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(cells, "a.json"), data); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "r.sweep.hcl"), []byte("recipe")); err != nil {
		t.Fatal(err)
	}
	recipe, _, err := sumFile(filepath.Join(dir, "r.sweep.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	m := Manifest{
		Schema: ManifestSchema, Recipe: ManifestRecipe{Sources: []ManifestSource{{Copy: "r.sweep.hcl", CopySHA: recipe}}},
		Cells: []ManifestCell{
			{ID: "cell", Digest: a.Sweep.CellDigest, Sweep: "s", State: StateDone, Artifacts: []ManifestFile{
				{Path: "cells/s/a.json", SHA256: Decode("", data).SHA256, Bytes: int64(len(data)), State: StateDone}}},
			{ID: "later", Sweep: "s", State: StateNotRun, Reason: "not started yet"},
		},
	}
	if change != nil {
		change(&m)
	}
	out, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, ManifestName), out); err != nil {
		t.Fatal(err)
	}
	return dir, data
}

func faultsOf(t *testing.T, dir string) string {
	t.Helper()
	docs, err := Collect([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var faults []string
	for _, d := range docs {
		r := Verify(d)
		faults = append(faults, r.Faults...)
		if r.Kind == KindOther {
			faults = append(faults, r.Why)
		}
	}
	return strings.Join(faults, "; ")
}

func TestAFolderVerifies(t *testing.T) {
	dir, _ := folder(t, nil)
	if faults := faultsOf(t, dir); faults != "" {
		t.Error(faults)
	}
}

// Whichever byte of an artifact is changed, its manifest tells.
func TestAChangedByteIsFound(t *testing.T) {
	dir, data := folder(t, nil)
	path := filepath.Join(dir, "cells", "s", "a.json")
	for i := 0; i < len(data); i += 37 {
		changed := append([]byte{}, data...)
		changed[i] ^= 1
		if err := os.WriteFile(path, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		if faults := faultsOf(t, dir); faults == "" {
			t.Fatalf("byte %d changed from %q to %q and nobody says so", i, data[i], changed[i])
		}
		d := readFile(path)
		if d.Kind == KindBenchmark && d.ManifestPath != "../../sweep.json" {
			continue // it leads elsewhere now; only the manifest can tell
		}
		if r := Verify(d); r.Kind == KindBenchmark && len(r.Faults) == 0 {
			t.Fatalf("byte %d: the artifact alone, beside its manifest, does not tell", i)
		}
	}
}

// Without a manifest, a figure that does not follow from the rows is found.
func TestEachFigureIsHeldAgainstTheRows(t *testing.T) {
	// What nothing else in the file tells: how it was asked for and where.
	// The manifest's SHA-256 covers it.
	free := map[string]bool{
		"concurrency": true, "context_tokens": true, "max_context_tokens": true, "max_tokens": true, "response_words": true,
		"context_seed": true, "shared_prefix_tokens": true,
	}
	for _, name := range keys(tree(t, example(t))) {
		o := tree(t, example(t))
		n, ok := o[name].(json.Number)
		if !ok || free[name] {
			continue
		}
		o[name] = bump(n)
		found(t, o, name)
	}
	for _, name := range keys(tree(t, example(t))["metrics"].(map[string]any)) {
		o := tree(t, example(t))
		m := o["metrics"].(map[string]any)
		if n, ok := m[name].(json.Number); ok {
			m[name] = bump(n)
			found(t, o, "metrics."+name)
		}
	}
	for _, name := range keys(tree(t, example(t))["request_timings"].([]any)[0].(map[string]any)) {
		o := tree(t, example(t))
		row := o["request_timings"].([]any)[1].(map[string]any)
		if n, ok := row[name].(json.Number); ok && name != "planned_context_tokens" {
			row[name] = bump(n)
			found(t, o, "row."+name)
		}
	}
	for _, name := range []string{"attempted_requests", "requests_per_s", "attempted_requests_per_s", "success_rate"} {
		o := tree(t, example(t))
		s := o["sweep"].(map[string]any)
		s[name] = bump(s[name].(json.Number))
		found(t, o, "sweep."+name)
	}
	for name, v := range map[string]any{"performance_eligible": false, "measurement_protocol": "capacity-v3", "run_id": "benchmark-x", "started_at": "2026-09-17T17:21:05Z"} {
		o := tree(t, example(t))
		o[name] = v
		found(t, o, name)
	}
	o := tree(t, example(t))
	o["metric_population"].(map[string]any)["p99_interpretation"] = p99Estimate
	found(t, o, "metric_population")
	o = tree(t, example(t))
	delete(o["metrics"].(map[string]any), "e2e_p75_ms")
	found(t, o, "a metric taken away")
}

// bump changes a number by enough to be another one.
func bump(n json.Number) any {
	if strings.ContainsAny(string(n), ".e") {
		v, err := n.Float64()
		if err != nil {
			panic(err)
		}
		return v*1.01 + 1
	}
	v, err := n.Int64()
	if err != nil {
		panic(err)
	}
	if v > 1<<40 {
		return v + 2_000_000_000 // nanoseconds: another second
	}
	return v + 1
}

func found(t *testing.T, o map[string]any, what string) {
	t.Helper()
	data, err := Encode(o)
	if err != nil {
		t.Fatal(err)
	}
	d := Decode(filepath.Join(t.TempDir(), "x.json"), data)
	if d.Kind != KindBenchmark {
		return
	}
	if r := Verify(d); len(r.Faults) == 0 {
		t.Errorf("%s was changed and nobody says so (%v)", what, r.Limitations)
	}
}

func TestManifestsThatDoNotAgree(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Manifest)
		want   string
	}{
		"size":            {func(m *Manifest) { m.Cells[0].Artifacts[0].Bytes++ }, "the manifest names"},
		"digest of bytes": {func(m *Manifest) { m.Cells[0].Artifacts[0].SHA256 = strings.Repeat("0", 64) }, "SHA-256"},
		"missing file":    {func(m *Manifest) { m.Cells[0].Artifacts[0].Path = "cells/s/b.json" }, "no such file"},
		"another cell":    {func(m *Manifest) { m.Cells[0].Digest = "sha256:22" }, "the manifest says sha256:22"},
		"state":           {func(m *Manifest) { m.Cells[1].State = StateDone }, "no artifact says so"},
		"cells":           {func(m *Manifest) { m.Sweeps = []ManifestSweep{{Name: m.Cells[0].Sweep, Cells: 7}} }, "has 7 cells, the manifest lists"},
		"one digest":      {func(m *Manifest) { m.Cells = append(m.Cells, m.Cells[0]) }, "have one digest"},
		"recipe":          {func(m *Manifest) { m.Recipe.Sources[0].CopySHA = "00" }, "copy of the recipe"},
	} {
		dir, _ := folder(t, c.change)
		if faults := faultsOf(t, dir); !strings.Contains(faults, c.want) {
			t.Errorf("%s: %q", name, faults)
		}
	}
	unnamed, _ := folder(t, func(m *Manifest) { m.Cells = m.Cells[1:] })
	if r := Verify(readFile(filepath.Join(unnamed, "cells", "s", "a.json"))); !strings.Contains(strings.Join(r.Limitations, ";"), "does not name it yet") {
		t.Errorf("%v %v", r.Faults, r.Limitations)
	}
	dir, _ := folder(t, nil)
	alone := filepath.Join(dir, "cells", "s", "a.json")
	if err := os.Remove(filepath.Join(dir, ManifestName)); err != nil {
		t.Fatal(err)
	}
	if r := Verify(readFile(alone)); len(r.Faults) > 0 || !strings.Contains(strings.Join(r.Limitations, ";"), "manifest") {
		t.Errorf("an artifact without its manifest: %v %v", r.Faults, r.Limitations)
	}
}

func TestVerdicts(t *testing.T) {
	if v := Verify(saved(t, example(t))).Verdict(); v != "accepted with limitations" {
		t.Errorf("an artifact whose manifest is not there is %s", v)
	}
	in := input()
	in.Manifest = ""
	if v := Verify(saved(t, build(t, in))).Verdict(); v != "accepted" {
		t.Errorf("%s", v)
	}
	in = failing()
	in.Manifest = ""
	if r := Verify(saved(t, build(t, in))); r.Verdict() != "accepted" {
		t.Errorf("%s %v", r.Verdict(), r.Faults)
	}
}
