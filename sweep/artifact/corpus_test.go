package artifact

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// corpus is a folder of real artifacts beside a checkout; it is no part of the
// project.
const corpus = "../../../shared/corpus"

func seed(t *testing.T) *Document {
	t.Helper()
	path := filepath.Join(corpus, "seed.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skip("the corpus of real artifacts is not beside this checkout: ", err)
	}
	return Decode(path, data)
}

func count(r Report, what string) int {
	for _, c := range r.Checks {
		if strings.HasPrefix(c.What, what) {
			return c.Count
		}
	}
	return 0
}

func TestSeedRecomputesToTheBit(t *testing.T) {
	r := Verify(seed(t))
	if len(r.Faults) > 0 || r.Generation != "G6" {
		t.Fatalf("%s: %v", r.Generation, r.Faults)
	}
	if n := count(r, "distribution values"); n != 143 {
		t.Errorf("%d distribution values, want 143", n)
	}
	if len(r.Limitations) != 1 || !strings.Contains(r.Limitations[0], "line end") {
		t.Errorf("limitations %q", r.Limitations)
	}
}

func TestSeedMetricsFromItsRowsAreTheSameBytes(t *testing.T) {
	d := seed(t)
	want, err := Encode(floats(d.tree["metrics"]))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Encode(population{rows: d.Rows, wallMS: *d.WallMS, eligible: true}.compute())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if raw, err := os.ReadFile(d.Path); err != nil || !bytes.Contains(raw, bytes.TrimSpace(indent(want))) {
		t.Error("the bytes do not stand in the file as they are")
	}
}

// indent moves a top-level object one level in.
func indent(object []byte) []byte {
	return bytes.ReplaceAll(bytes.TrimSpace(object), []byte("\n"), []byte("\n  "))
}

func TestSeedHasAllKeysThatWeWrite(t *testing.T) {
	d := seed(t)
	ours := map[string]bool{"prompt_set_id": true, "cache_policy": true, "sweep": true}
	var built map[string]any
	data, err := example(t).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &built); err != nil {
		t.Fatal(err)
	}
	for _, pair := range []struct {
		name        string
		built, seed map[string]any
		beside      map[string]bool
	}{
		{"artifact", built, d.tree, ours},
		{"metrics", built["metrics"].(map[string]any), d.tree["metrics"].(map[string]any), nil},
		{"row", built["request_timings"].([]any)[0].(map[string]any), d.tree["request_timings"].([]any)[0].(map[string]any), nil},
		{"population", built["metric_population"].(map[string]any), d.tree["metric_population"].(map[string]any), nil},
		{"methodology", built["timing_methodology"].(map[string]any), d.tree["timing_methodology"].(map[string]any), nil},
	} {
		for k := range pair.seed {
			if _, ok := pair.built[k]; !ok {
				t.Errorf("%s lacks %s", pair.name, k)
			}
		}
		for k := range pair.built {
			if _, ok := pair.seed[k]; !ok && !pair.beside[k] {
				t.Errorf("%s has %s, which the format has not", pair.name, k)
			}
		}
	}
	if len(built) != 41+len(ours) || len(built["metrics"].(map[string]any)) != 159 {
		t.Errorf("%d keys and %d metrics", len(built), len(built["metrics"].(map[string]any)))
	}
}

func TestRealArtifactsOfEveryGeneration(t *testing.T) {
	if _, err := os.Stat(corpus); err != nil {
		t.Skip("the corpus of real artifacts is not beside this checkout: ", err)
	}
	docs, err := Collect([]string{filepath.Join(corpus, "v1")})
	if err != nil {
		t.Fatal(err)
	}
	verdicts, generations := map[string]int{}, map[string]int{}
	recomputed, uncanonical, withheld := 0, 0, 0
	for _, d := range docs {
		r := Verify(d)
		verdicts[r.Verdict()]++
		generations[d.Generation]++
		recomputed += count(r, "distribution values")
		if len(r.Faults) > 0 {
			t.Errorf("%s: %v", d.Path, r.Faults)
		}
		for _, l := range r.Limitations {
			if strings.Contains(l, "layout") {
				uncanonical++
			}
			if strings.Contains(l, "withheld") {
				withheld++
				if v, note := d.Metric("throughput_tok_s"); v != nil || note == "" {
					t.Errorf("%s: throughput of a run with failures is shown", d.Path)
				}
			}
		}
		if r.Verdict() == "not an artifact" && !strings.Contains(r.Why, "benchmark_artifact") {
			t.Errorf("%s: %s", d.Path, r.Why)
		}
	}
	if len(docs) != 200 || verdicts["not an artifact"] != 1 || verdicts["refused"] != 0 {
		t.Errorf("%d files, %v", len(docs), verdicts)
	}
	if generations["G0"] != 113 || generations["G1"] != 27 || generations["G2"] != 21 || generations["G3"] != 38 {
		t.Errorf("%v", generations)
	}
	if withheld != 8 || uncanonical > 2 {
		t.Errorf("%d withheld, %d not canonical", withheld, uncanonical)
	}
	t.Logf("%v, %d distribution values recomputed, %d not canonical", verdicts, recomputed, uncanonical)
}

// Every real file in its generic form encodes to its own bytes.
func TestRealArtifactsRoundTrip(t *testing.T) {
	if _, err := os.Stat(corpus); err != nil {
		t.Skip("the corpus of real artifacts is not beside this checkout: ", err)
	}
	files, err := filepath.Glob(filepath.Join(corpus, "v1", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	other := 0
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := parse(data)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if same, end := canonical(data, tree); !same && !end {
			other++
			t.Log("not canonical: ", path)
		}
	}
	// Two are known: one is set by hand, one in order of insertion. The third
	// is no artifact.
	if other > 3 {
		t.Errorf("%d of %d files do not round-trip", other, len(files))
	}
}
