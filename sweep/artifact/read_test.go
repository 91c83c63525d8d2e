package artifact

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFilesThatAreNoArtifact(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	whole, err := example(t).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ data, why string }{
		"empty":            {"", "ends in the middle"},
		"cut in half":      {string(whole[:len(whole)/2]), "ends in the middle"},
		"byte order mark":  {"\xef\xbb\xbf{}", "byte order mark"},
		"not UTF-8":        {"{\"a\":\"\xff\"}", "not UTF-8"},
		"a key twice":      {`{"a":1,"a":2}`, `"a" stands twice`},
		"a key twice deep": {`{"x":[{"schema":1,"schema":1}]}`, `"schema" stands twice`},
		"more after it":    {`{} {}`, "more after the value"},
		"too deep":         {deep, "nested more than"},
		"NaN":              {`{"a":NaN}`, "not JSON"},
		"infinite":         {`{"a":1e999}`, "out of range"},
		"a list":           {`[1]`, "not an object"},
		"no schema":        {`{"a":1}`, "has no schema"},
		"another schema":   {`{"schema":"x/v1"}`, `"x/v1" is not`},
		"aggregate":        {`{"schema":"anvil-serving.capacity-aggregate/v1"}`, "no metrics"},
		"evidence":         {`{"schema":"anvil-serving.benchmark-evidence/v1"}`, "evidence about runs"},
		"bake-off":         {`{"schema":"anvil-serving.fast-tier-bakeoff/v1"}`, "a comparison of runs"},
		"embedded":         {`{"benchmark_artifact":{"metrics":{}}}`, "under benchmark_artifact"},
		"embedded schema":  {`{"inner":{"schema":"anvil-serving.benchmark/v1"}}`, "under inner"},
		"no metrics":       {`{"schema":"anvil-serving.benchmark/v1"}`, "no metrics"},
		"wrong type":       {`{"schema":"anvil-serving.benchmark/v1","metrics":{},"requests":"many"}`, "requests holds a string"},
		"wrong type deep":  {`{"schema":"anvil-serving.benchmark/v1","metrics":{},"request_timings":[{"ttft_ms":"x"}]}`, "ttft_ms holds a string"},
		"broken manifest":  {`{"schema":"anvilsweep.sweep/v1","cells":1}`, "cells holds a number"},
	} {
		d := Decode("x.json", []byte(c.data))
		if d.Kind != KindOther || !strings.Contains(d.Why, c.why) {
			t.Errorf("%s: %s %q, want %q", name, d.Kind, d.Why, c.why)
		}
		if r := Verify(d); r.Verdict() != "not an artifact" {
			t.Errorf("%s: %s", name, r.Verdict())
		}
	}
}

// older makes an artifact of an earlier generation by taking away what came
// later.
func olderThan(t *testing.T, generation string) *Document {
	t.Helper()
	o := tree(t, example(t))
	metrics := o["metrics"].(map[string]any)
	drop := func(m map[string]any, names ...string) {
		for _, name := range names {
			delete(m, name)
		}
	}
	steps := []struct {
		generation string
		undo       func()
	}{
		{"G6", func() { drop(o, "prompt_set_id", "cache_policy", "sweep", "sampling") }},
		{"G5", func() { drop(o, "performance_eligible", "metric_population") }},
		{"G4", func() { drop(o, "prompt_cache_mode") }},
		{"G3", func() {
			for _, name := range keys(metrics) {
				if strings.HasPrefix(name, "time_to_first_output") || strings.HasPrefix(name, "tpot") || strings.HasPrefix(name, "mean_time_per") {
					delete(metrics, name)
				}
			}
		}},
		{"G2", func() { drop(o, "request_timings"); o["measurement_protocol"] = "capacity-v2" }},
		{"G1", func() { drop(o, "measurement_protocol", "failed") }},
	}
	for _, s := range steps {
		if s.generation == generation {
			break
		}
		s.undo()
	}
	data, err := Encode(o)
	if err != nil {
		t.Fatal(err)
	}
	return Decode("x.json", data)
}

// A generation is told by its fields, whatever its label says.
func TestGenerations(t *testing.T) {
	for _, g := range []string{"G6", "G5", "G4", "G3", "G2", "G1", "G0"} {
		d := olderThan(t, g)
		if d.Generation != g || d.Kind != KindBenchmark {
			t.Errorf("%s is taken for %s: %s", g, d.Generation, d.Why)
		}
		// Every generation tells its TTFT and, by whichever name, its TPOT.
		if v, note := d.Metric("ttft_p50_ms"); v == nil || *v != 121 {
			t.Errorf("%s: TTFT %v (%s)", g, v, note)
		}
		if v, note := d.Metric("tpot_p50_ms"); v == nil {
			t.Errorf("%s: no TPOT (%s)", g, note)
		}
	}
	g0 := olderThan(t, "G0")
	if g0.Failed != 0 || !strings.Contains(strings.Join(g0.Limitations, ";"), "failed is not in the file") {
		t.Errorf("%v", g0.Limitations)
	}
	if v, note := g0.Metric("ttft_p51_ms"); v != nil || !strings.Contains(note, "not in the file") {
		t.Errorf("%v %q", v, note)
	}
	// Rows tell what the metrics of their generation left out.
	if v, _ := olderThan(t, "G2").Metric("e2e_p90_ms"); v == nil {
		t.Error("a percentile that rows can tell is not told")
	}
}

func TestWhatIsWithheld(t *testing.T) {
	o := tree(t, example(t))
	o["failed"], o["completed"] = 1, 3
	o["metrics"].(map[string]any)["throughput_tok_s"] = 99.5
	data, err := Encode(o)
	if err != nil {
		t.Fatal(err)
	}
	d := Decode("x.json", data)
	if v, note := d.Metric("throughput_tok_s"); v != nil || !strings.Contains(note, "withheld") {
		t.Errorf("%v %q", v, note)
	}
	if !strings.Contains(strings.Join(d.Limitations, ";"), "claims a throughput") {
		t.Errorf("%v", d.Limitations)
	}
	if !example2(t).Descriptive("ttft_p99_ms") {
		t.Error("a p99 of four samples is descriptive")
	}
	if v, note := Decode("x.json", mustBytes(t, failing())).Metric("tpot_p50_ms"); v == nil && note == "" {
		t.Error("a figure is not there and nobody says why")
	}
}

func example2(t *testing.T) *Document { return Decode("x.json", mustBytes(t, input())) }

func mustBytes(t *testing.T, in Input) []byte {
	t.Helper()
	data, err := build(t, in).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestCollect(t *testing.T) {
	dir := t.TempDir()
	write := func(name, data string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(data), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("b.json", "{}")
	write("a/z.json", "{}")
	write("a/.hidden.json", "{}")
	write("a/.x.json.123.tmp", "{}")
	write(".git/c.json", "{}")
	write("notes.txt", "{}")
	docs, err := Collect([]string{dir, filepath.Join(dir, "b.json"), filepath.Join(dir, "notes.txt")})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range docs {
		rel, err := filepath.Rel(dir, d.Path)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, rel)
	}
	if got := strings.Join(names, " "); got != "a/z.json b.json notes.txt" {
		t.Errorf("%s", got)
	}
	if _, err := Collect([]string{filepath.Join(dir, "none")}); err == nil {
		t.Error("a path that is not there is no error")
	}
	big := filepath.Join(dir, "big.json")
	write("big.json", "")
	if err := os.Truncate(big, FileLimit+1); err != nil {
		t.Fatal(err)
	}
	if docs, err := Collect([]string{big}); err != nil || !strings.Contains(docs[0].Why, "more than") {
		t.Errorf("%v %v", docs[0].Why, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"schema":"anvil-serving.benchmark/v1","metrics":{"ttft_p50_ms":1.5},"requests":2,"completed":1}`))
	f.Add([]byte(`{"schema":"anvilsweep.sweep/v1","cells":[{"artifacts":[{"path":"x"}]}]}`))
	if data, err := os.ReadFile("testdata/example.json"); err == nil {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := Decode("none/x.json", data)
		if d.Kind == KindOther && d.Why == "" {
			t.Fatal("a file that is no artifact does not say what it is")
		}
		if d.Kind != KindOther {
			Verify(d)
		}
		if d.Kind == KindBenchmark {
			for _, name := range []string{"ttft_p50_ms", "throughput_tok_s", "tpot_p99_ms"} {
				if v, note := d.Metric(name); v == nil && note == "" {
					t.Fatalf("%s is not there and nobody says why", name)
				}
				d.Descriptive(name)
			}
		}
	})
}
