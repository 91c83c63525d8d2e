package artifact

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// agree fails where a file says something else when only its figures are read.
func agree(t *testing.T, path string, data []byte) {
	t.Helper()
	whole := Decode(path, data)
	for _, keep := range []Keep{{}, {Rows: true}, {Failures: true}, {SLO: SLO{{"ttft", 100}}}} {
		slim := keep.decode(path, data)
		if slim.Kind != whole.Kind || slim.Why != whole.Why || slim.Generation != whole.Generation || slim.SHA256 != whole.SHA256 ||
			slim.Model != whole.Model || slim.CacheMode != whole.CacheMode || !reflect.DeepEqual(slim.Temperature, whole.Temperature) ||
			!slim.Started.Equal(whole.Started) || slim.Failed != whole.Failed || !reflect.DeepEqual(slim.Limitations, whole.Limitations) {
			t.Fatalf("%s: %+v\nand of the whole file %+v", path, slim, whole)
		}
		if whole.Kind != KindBenchmark {
			continue
		}
		if keep.Rows && len(slim.Rows) != len(whole.Rows) {
			t.Fatalf("%s: %d rows of %d", path, len(slim.Rows), len(whole.Rows))
		}
		if keep.Failures {
			if len(slim.FailureList()) != len(whole.FailureList()) {
				t.Fatalf("%s: %d failures of %d", path, len(slim.FailureList()), len(whole.FailureList()))
			}
			for i, f := range whole.FailureList() {
				if !reflect.DeepEqual(f["error_message"], slim.FailureList()[i]["error_message"]) {
					t.Fatalf("%s: failure %d is %v, of the whole file %v", path, i, slim.FailureList()[i], f)
				}
			}
		}
		for _, name := range FigureNames() {
			a, why := slim.Metric(name)
			b, want := whole.Metric(name)
			if (a == nil) != (b == nil) || a != nil && *a != *b || why != want {
				t.Fatalf("%s: %s is %v (%s), of the whole file %v (%s)", path, name, a, why, b, want)
			}
		}
	}
}

func TestFiguresSayWhatTheWholeFileSays(t *testing.T) {
	for _, generation := range []string{"G1", "G2", "G3", "G4", "G5", "G6"} {
		agree(t, generation, olderThan(t, generation).data)
	}
	agree(t, "example", mustBytes(t, input()))
	agree(t, "failing", mustBytes(t, failing()))
	for _, text := range []string{"", "{}", "{} {}", `{"schema":"anvil-serving.benchmark/v1"}`, `{"schema":"anvil-serving.benchmark/v1","metrics":[]}`,
		`{"schema":"anvil-serving.benchmark/v1","metrics":{},"requests":"many"}`, `{"schema":"anvil-serving.benchmark/v1","metrics":{"ttft_p50_ms":1e999}}`,
		`{"schema":"anvil-serving.benchmark/v1","metrics":{"ttft_p50_ms":"x"},"sampling":null,"sweep":null}`} {
		agree(t, text, []byte(text))
	}
}

func TestFiguresOfTheCorpus(t *testing.T) {
	seed(t)
	files, err := filepath.Glob(filepath.Join(corpus, "v1", "*.json"))
	if err != nil || len(files) < 200 {
		t.Fatal(len(files), err)
	}
	for _, path := range append(files, filepath.Join(corpus, "seed.json")) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, path, data)
	}
}

// Of four requests with TTFT 120, 121, 122 and 123 ms two are within 121 ms; the
// wall time is 1.5 s.
func TestGoodput(t *testing.T) {
	data := mustBytes(t, input())
	slo, err := ParseSLO("ttft=0.121s, e2e<=1000")
	if err != nil {
		t.Fatal(err)
	}
	if slo.String() != "ttft ≤ 121 ms, e2e ≤ 1000 ms" {
		t.Error(slo)
	}
	g := Keep{SLO: slo}.decode("x", data).Goodput
	if g.Met != 2 || math.Abs(*g.PerSecond-2/1.5) > 1e-12 || *g.Share != 0.5 {
		t.Errorf("%+v", g)
	}
	// A failed request met nothing, and counts.
	g = Keep{SLO: slo}.decode("x", mustBytes(t, failing())).Goodput
	if g.Met > 1 || *g.Share != float64(g.Met)/7 {
		t.Errorf("%+v", g)
	}
	for _, text := range []string{"", "ttft", "ttft=", "ttft=-1", "ttft=fast", "speed=5ms", "ttft=1,ttft=2", "ttft=NaN", "ttft=Inf", "ttft=1e300"} {
		if slo, err := ParseSLO(text); err == nil {
			t.Errorf("%q is read as %v", text, slo)
		}
	}
	if g := (Keep{SLO: slo}).decode("x", olderThan(t, "G1").data).Goodput; g.PerSecond != nil || !strings.Contains(g.Note, "no request rows") {
		t.Errorf("%+v", g)
	}
}

func FuzzFigures(f *testing.F) {
	f.Add([]byte(`{"schema":"anvil-serving.benchmark/v1","metrics":{"ttft_p50_ms":1,"tpot_p50_ms":null},"request_timings":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, slim := Decode("x", data), Keep{}.decode("x", data)
		if whole.Kind != KindBenchmark || slim.Kind != KindBenchmark {
			return
		}
		for name := range metricIndex {
			a, stateA := whole.lookup(name)
			b, stateB := slim.lookup(name)
			if a != b || stateA != stateB {
				t.Fatalf("%s is %v (%d), of the whole file %v (%d)", name, b, stateB, a, stateA)
			}
		}
	})
}
