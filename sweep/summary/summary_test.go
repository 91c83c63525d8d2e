package summary

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anvilsweep/client"
	"anvilsweep/sweep/artifact"
)

// cell says what one artifact of a test is like.
type cell struct {
	path                 string
	model                string
	tier, gpu, engine    string
	fingerprint          string
	context, concurrency int
	ttft                 int // ms of the fastest request; each next one takes 1 ms longer
	requests, failed     int
	price                float64
	words                int
	cacheMode            string
	gpus                 int                // of the tier; 1 where nothing is said
	set                  map[string]float64 // metrics to have instead of those of the requests
}

func (c cell) input() artifact.Input {
	began := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	wall := 2 * time.Second
	in := artifact.Input{
		Started: began, Finished: began.Add(wall), Wall: wall, BaseURL: "http://127.0.0.1/v1", Model: c.model,
		Tier: c.tier, GPU: c.gpu, Engine: c.engine, ConfigurationFingerprint: c.fingerprint, Concurrency: c.concurrency,
		ContextTokens: c.context, MaxTokens: 64, ResponseWords: c.words, PromptCacheMode: c.cacheMode, ControlledOutputPolicy: "observe",
		Sweep: &artifact.Sweep{Tier: &artifact.Tier{Name: c.tier, Count: max(c.gpus, 1), Currency: "USD"}},
	}
	if c.price > 0 {
		in.Sweep.Tier.PricePerHour = &c.price
	}
	for i := range c.requests {
		first := time.Duration(c.ttft+i) * time.Millisecond
		prompt, output := int64(100), int64(11)
		o := &client.Observation{
			Start: began, FirstOutput: &first, FirstContent: &first, End: first + 100*time.Millisecond, ContentChunks: 11, Received: true, Terminal: true,
			Usage: &client.Usage{PromptTokens: &prompt, CompletionTokens: &output},
		}
		if i < c.failed {
			o = &client.Observation{Start: began, End: time.Millisecond, Failure: &client.Failure{Kind: client.KindHTTPStatus, Message: "HTTP 503", Status: 503}}
		}
		in.Results = append(in.Results, artifact.Result{Index: i, PlannedContextTokens: c.context, Observation: o})
	}
	return in
}

func documents(t *testing.T, cells ...cell) []*artifact.Document {
	t.Helper()
	var docs []*artifact.Document
	for i, c := range cells {
		if c.model == "" {
			c.model = "m"
		}
		if c.context == 0 {
			c.context = 512
		}
		if c.concurrency == 0 {
			c.concurrency = 1
		}
		if c.requests == 0 {
			c.requests = 4
		}
		if c.cacheMode == "" {
			c.cacheMode = "unique"
		}
		if c.path == "" {
			c.path = fmt.Sprintf("%d.json", i)
		}
		a, err := artifact.Build(c.input())
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range c.set {
			a.Metrics[name] = v
		}
		data, err := a.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		d := artifact.Decode(c.path, data)
		if d.Kind != artifact.KindBenchmark {
			t.Fatal(d.Why)
		}
		docs = append(docs, d)
	}
	return docs
}

func summarize(t *testing.T, metrics []string, docs ...*artifact.Document) *Summary {
	t.Helper()
	s, err := Build(docs, Options{Metrics: metrics})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func columnNames(s Section) string {
	var names []string
	for _, c := range s.Columns {
		names = append(names, c.Name)
	}
	return strings.Join(names, ",")
}

// places are the rows of a section, the values of each with commas between.
func places(s Section) string {
	var rows []string
	for _, r := range s.Rows {
		var values []string
		for _, axis := range s.RowAxes {
			values = append(values, r.At[axis])
		}
		rows = append(rows, strings.Join(values, ","))
	}
	return strings.Join(rows, " ")
}

func TestTiersStandSideBySide(t *testing.T) {
	s := summarize(t, nil, documents(t,
		cell{tier: "slow", concurrency: 2, ttft: 200, requests: 8}, cell{tier: "fast", concurrency: 2, ttft: 100},
		cell{tier: "slow", ttft: 100}, cell{tier: "fast", ttft: 80},
		cell{tier: "slow", context: 4096, ttft: 900})...)
	if len(s.Sections) != 1 {
		t.Fatalf("%d sections", len(s.Sections))
	}
	section := s.Sections[0]
	if columnNames(section) != "slow,fast" || len(section.Rows) != 3 {
		t.Fatalf("%s, %d rows", columnNames(section), len(section.Rows))
	}
	if places(section) != "512,1 512,2 4096,1" {
		t.Errorf("rows out of order: %+v", section.Rows)
	}
	first, second := section.Rows[0].Cells[0], section.Rows[0].Cells[1]
	// p50 of 100..103 is 101, of 80..83 is 81.
	if *first.Values[0].Value != 101 || *second.Values[0].Value != 81 {
		t.Errorf("%v and %v", *first.Values[0].Value, *second.Values[0].Value)
	}
	if first.Values[0].Best || !second.Values[0].Best || first.Values[0].DeltaPct != nil || math.Abs(*second.Values[0].DeltaPct-(81.-101)/101*100) > 1e-12 {
		t.Errorf("best and difference: %+v %+v", first.Values[0], second.Values[0])
	}
	// throughput: 8×11 and 4×11 tokens in 2 s; higher is better.
	row := section.Rows[1]
	if v := row.Cells[0].Values[3]; *v.Value != 44 || !v.Best {
		t.Errorf("%+v", v)
	}
	// One tier did not run the last row, and nothing is best of one.
	last := section.Rows[2]
	if last.Cells[1].Runs != 0 || last.Cells[1].Values[0].Value != nil || last.Cells[0].Values[0].Best {
		t.Errorf("%+v", last.Cells)
	}
}

func TestCellsWithFailuresAreShownAndNotRanked(t *testing.T) {
	s := summarize(t, nil, documents(t, cell{tier: "a", ttft: 100}, cell{tier: "b", ttft: 10, failed: 1}, cell{tier: "c", ttft: 200})...)
	cells := s.Sections[0].Rows[0].Cells
	b := cells[1]
	if b.Attempted != 4 || b.Completed != 3 || b.Failed != 1 || b.Values[0].Value == nil || b.Values[0].Best || b.Values[0].DeltaPct != nil {
		t.Errorf("%+v", b)
	}
	if b.Values[3].Value != nil || !strings.Contains(b.Values[3].Note, "withheld") {
		t.Errorf("throughput of a cell with failures: %+v", b.Values[3])
	}
	if !cells[0].Values[0].Best {
		t.Error("the best of those that are ranked is not marked")
	}
	if !strings.Contains(strings.Join(s.Notes, " "), "not ranked") {
		t.Errorf("%q", s.Notes)
	}
	none := summarize(t, nil, documents(t, cell{tier: "a", failed: 4})...)
	for _, v := range none.Sections[0].Rows[0].Cells[0].Values {
		if v.Value != nil {
			t.Errorf("a figure of no success: %+v", v)
		}
	}
}

func TestAMissingTierFallsBackAndSaysSo(t *testing.T) {
	s := summarize(t, nil, documents(t, cell{gpu: "H200", engine: "vllm"}, cell{engine: "vllm"}, cell{}, cell{tier: "t", gpu: "H200"})...)
	section := s.Sections[0]
	if columnNames(section) != "H200,vllm,(unnamed),t" {
		t.Errorf("%s", columnNames(section))
	}
	notes := strings.Join(s.Notes, " ")
	for _, want := range []string{"their tier is the gpu", "their tier is the engine", "(unnamed)"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q: %s", want, notes)
		}
	}
}

func TestColumnsThatShareANameAreToldApart(t *testing.T) {
	s := summarize(t, nil, documents(t, cell{tier: "t", engine: "vllm"}, cell{tier: "t", engine: "sglang"}, cell{tier: "u", engine: "vllm"})...)
	if got := columnNames(s.Sections[0]); got != "t vllm,t sglang,u" {
		t.Errorf("%s", got)
	}
	one, two := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64)
	s = summarize(t, nil, documents(t, cell{tier: "t", engine: "e", fingerprint: one}, cell{tier: "t", engine: "e", fingerprint: two})...)
	if got := columnNames(s.Sections[0]); got != "t e aaaaaaaa,t e bbbbbbbb" {
		t.Errorf("%s", got)
	}
}

func TestDifferentWorkloadsAreNotCompared(t *testing.T) {
	s := summarize(t, nil, documents(t, cell{tier: "a"}, cell{tier: "b", words: 8}, cell{tier: "b", model: "other"}, cell{tier: "b", cacheMode: "shared"})...)
	if len(s.Sections) != 4 {
		t.Errorf("%d sections", len(s.Sections))
	}
	for _, want := range []string{"short summary", "8 words observe"} {
		found := false
		for _, section := range s.Sections {
			found = found || strings.Contains(section.Workload, want)
		}
		if !found {
			t.Errorf("no workload says %q", want)
		}
	}
}

func TestRepeatsFoldToTheirMedian(t *testing.T) {
	s := summarize(t, []string{"ttft_min_ms"}, documents(t, cell{tier: "a", ttft: 10}, cell{tier: "a", ttft: 30}, cell{tier: "a", ttft: 90})...)
	c := s.Sections[0].Rows[0].Cells[0]
	if c.Runs != 3 || c.Attempted != 12 || *c.Values[0].Value != 30 || c.Values[0].Note != "median of 3 runs" || len(c.Files) != 3 || *c.Values[0].Low != 10 || *c.Values[0].High != 90 {
		t.Errorf("%+v", c)
	}
}

func TestAP99OfFewSamplesIsMarked(t *testing.T) {
	s := summarize(t, []string{"ttft_p99_ms", "ttft_p95_ms"}, documents(t, cell{tier: "a", requests: 99}, cell{tier: "b", requests: 100})...)
	cells := s.Sections[0].Rows[0].Cells
	if !cells[0].Values[0].Descriptive || cells[1].Values[0].Descriptive || cells[0].Values[1].Descriptive {
		t.Errorf("%+v", cells)
	}
}

func TestCost(t *testing.T) {
	s := summarize(t, nil, documents(t, cell{tier: "a", price: 3.6}, cell{tier: "b"})...)
	last := len(s.Metrics) - 1
	if s.Metrics[last].Name != CostMetric {
		t.Fatalf("cost is shown where a tier has a price: %v", s.Metrics)
	}
	cells := s.Sections[0].Rows[0].Cells
	// 3.6 an hour is 0.001 a second; 4×11 tokens in 2 s are 22 tok/s.
	if got, want := *cells[0].Values[last].Value, 0.001/22*1e6; math.Abs(got-want) > 1e-9 {
		t.Errorf("%v, want %v", got, want)
	}
	if cells[1].Values[last].Value != nil || !strings.Contains(cells[1].Values[last].Note, "no price") {
		t.Errorf("%+v", cells[1].Values[last])
	}
	if s := summarize(t, nil, documents(t, cell{tier: "b"})...); len(s.Metrics) != len(DefaultMetrics) {
		t.Error("cost without any price")
	}
	rate := summarize(t, []string{RequestRateMetric}, documents(t, cell{tier: "a"})...)
	if *rate.Sections[0].Rows[0].Cells[0].Values[0].Value != 2 {
		t.Error("4 requests in 2 s are 2 a second")
	}
}

// Goodput is shown where an SLO was given, and is not made up where none was;
// what is the same everywhere is best nowhere.
func TestGoodputStandsBesideTheRest(t *testing.T) {
	docs := documents(t, cell{tier: "a", ttft: 100}, cell{tier: "b", ttft: 10, failed: 1})
	half := 0.5
	docs[0].Goodput = &artifact.Goodput{Met: 2, PerSecond: &half, Share: &half}
	s := summarize(t, nil, docs...)
	n := len(s.Metrics)
	if s.Metrics[n-2] != (Metric{GoodputMetric, "higher"}) || s.Metrics[n-1] != (Metric{AttainedMetric, "higher"}) {
		t.Fatalf("%v", s.Metrics)
	}
	cells := s.Sections[0].Rows[0].Cells
	if *cells[0].Values[n-1].Value != 0.5 || cells[1].Values[n-2].Value != nil || cells[1].Values[n-2].Note != "no SLO was given" {
		t.Errorf("%+v", cells)
	}
	same := summarize(t, nil, documents(t, cell{tier: "a", ttft: 100}, cell{tier: "b", ttft: 100})...)
	for _, c := range same.Sections[0].Rows[0].Cells {
		for i, v := range c.Values {
			if v.Best {
				t.Errorf("%s is best where all are equal", same.Metrics[i].Name)
			}
		}
	}
}

func TestMetricNames(t *testing.T) {
	for name, near := range map[string]string{"ttft_p55_ms": "ttft_p50_ms", "tempo": "examples: ttft_p50_ms", "troughput_tok_s": "throughput_tok_s", "": "examples"} {
		if _, err := Build(nil, Options{Metrics: []string{name}}); err == nil || !strings.Contains(err.Error(), near) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"ttft_p50_ms": "lower", "throughput_tok_s": "higher", "decode_tok_s_p50": "higher", "tpot_p99_ms": "lower", CostMetric: "lower",
		"ttft_samples": "", "ttft_stddev_ms": "", "output_tokens": "", "prompt_tokens_p50": "", "effective_prefill_tok_s_mean_ci95_low": "",
	} {
		m, err := LookUp(name)
		if err != nil || m.Better != want {
			t.Errorf("%s: better is %q, want %q: %v", name, m.Better, want, err)
		}
	}
}

// A manifest gives the order, the cells that are missing, and which attempt
// counts.
func TestManifestsOrderAndCover(t *testing.T) {
	docs := documents(t, cell{path: "out/cells/a.json", tier: "second"}, cell{path: "out/cells/b.attempt2.json", tier: "first"}, cell{path: "out/cells/b.json", tier: "first", failed: 4}, cell{path: "out/cells/d.json", tier: "third"})
	m := artifact.Manifest{Schema: artifact.ManifestSchema, Cells: []artifact.ManifestCell{
		{ID: "b", State: artifact.StateDone, Artifacts: []artifact.ManifestFile{{Path: "cells/b.json"}, {Path: "cells/b.attempt2.json"}}},
		{ID: "a", State: artifact.StateDone, Artifacts: []artifact.ManifestFile{{Path: "cells/a.json"}}},
		{ID: "c", State: artifact.StateNotRun, Reason: "not started: interrupted"},
		{ID: "d", State: artifact.StateDone, Stale: true, Artifacts: []artifact.ManifestFile{{Path: "cells/d.json"}}},
	}}
	data, err := artifact.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	s := summarize(t, nil, append(docs, artifact.Decode("out/sweep.json", data), artifact.Decode("out/x.json", []byte("nonsense")))...)
	if got := columnNames(s.Sections[0]); got != "first,second" {
		t.Errorf("columns %s", got)
	}
	if c := s.Sections[0].Rows[0].Cells[0]; c.Runs != 1 || c.Failed != 0 {
		t.Errorf("the later attempt counts: %+v", c)
	}
	if s.Cells.Planned != 3 || len(s.Cells.Gaps) != 1 || s.Cells.Gaps[0].Cell != "c" {
		t.Errorf("%+v", s.Cells)
	}
	var why string
	for _, f := range s.LeftOut {
		why += f.Path + " " + f.Why + "\n"
	}
	for _, want := range []string{"out/cells/b.json replaced by a later attempt", "out/cells/d.json measured under an earlier recipe", "out/x.json not JSON"} {
		if !strings.Contains(why, want) || len(s.LeftOut) != 3 {
			t.Errorf("left out %d, no %q:\n%s", len(s.LeftOut), want, why)
		}
	}
}

// Every file read is in a table or left out by name: none vanishes.
func TestRealArtifactsAllCount(t *testing.T) {
	corpus := "../../../shared/corpus"
	if _, err := os.Stat(corpus); err != nil {
		t.Skip("the corpus of real artifacts is not beside this checkout: ", err)
	}
	docs, err := artifact.Collect([]string{filepath.Join(corpus, "v1"), filepath.Join(corpus, "seed.json")})
	if err != nil {
		t.Fatal(err)
	}
	s := summarize(t, []string{"ttft_p50_ms", "throughput_tok_s"}, docs...)
	shown := map[string]bool{}
	for _, section := range s.Sections {
		for _, row := range section.Rows {
			for _, c := range row.Cells {
				for _, f := range c.Files {
					if shown[f] {
						t.Errorf("%s stands twice", f)
					}
					shown[f] = true
				}
				if c.Failed > 0 && c.Values[1].Value != nil && c.Runs == 1 {
					t.Errorf("%v: a throughput with failures", c.Files)
				}
			}
		}
	}
	if len(docs) != 201 || len(shown)+len(s.LeftOut) != len(docs) || len(s.LeftOut) != 1 {
		t.Errorf("%d files, %d shown, %d left out", len(docs), len(shown), len(s.LeftOut))
	}
}

// Values of an axis of the recipe's own are different cells: they are rows, and
// never runs of one cell. Where the axis makes the configuration another, they
// are columns, side by side.
func TestOwnAxesAreNotRepeats(t *testing.T) {
	docs := documents(t, cell{tier: "a"}, cell{tier: "a"}, cell{tier: "b"}, cell{tier: "b"})
	for i, d := range docs {
		if d.Sweep == nil {
			d.Sweep = &artifact.Sweep{}
		}
		d.Sweep.Axes = map[string]string{"tier": d.Tier, "rate": []string{"4", "8"}[i%2]}
	}
	s := summarize(t, nil, docs...)
	section := s.Sections[0]
	if places(section) != "512,1,4 512,1,8" {
		t.Fatalf("%+v", section)
	}
	for _, row := range section.Rows {
		for _, c := range row.Cells {
			if c.Runs != 1 {
				t.Errorf("%d runs at rate %s", c.Runs, row.At["rate"])
			}
		}
	}
	for i, d := range docs {
		d.Sweep.Axes = map[string]string{"draft": []string{"0", "0", "3", "3"}[i]}
	}
	if section := summarize(t, nil, docs...).Sections[0]; len(section.RowAxes) != 2 || len(section.Rows) != 1 {
		t.Errorf("%+v", section)
	}
}
