package history

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"anvilsweep/client"
	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/compare"
)

// measured is one run of a cell: TTFT in ms on a day of September.
type measured struct {
	day, ttft, concurrency int
	version, fingerprint   string
	words                  int
	failed, limited        bool
}

func (m measured) document(t testing.TB) *artifact.Document {
	t.Helper()
	began := time.Date(2026, 9, m.day, 22, 0, 0, 0, time.UTC)
	in := artifact.Input{
		Started: began, Finished: began.Add(time.Second), Wall: time.Second, BaseURL: "http://127.0.0.1/v1", Model: "m", Tier: "t", Engine: "vllm",
		ConfigurationFingerprint: "sha256:" + m.fingerprint, Concurrency: max(1, m.concurrency), ContextTokens: 512, MaxTokens: 64, ResponseWords: m.words, PromptCacheMode: "unique", ControlledOutputPolicy: "observe",
		Sweep: &artifact.Sweep{Name: "nightly", CellID: "c", Engine: artifact.Engine{Name: "vllm", Version: m.version}, Tier: &artifact.Tier{Name: "t"}},
	}
	first, tokens := time.Duration(m.ttft)*time.Millisecond, int64(11)
	for i := range 2 {
		o := &client.Observation{Start: began, FirstOutput: &first, FirstContent: &first, End: first + 100*time.Millisecond, ContentChunks: 11, Received: true, Terminal: true, Usage: &client.Usage{PromptTokens: &tokens, CompletionTokens: &tokens}}
		if m.failed && i == 0 {
			o = &client.Observation{Start: began, End: time.Millisecond, Failure: &client.Failure{Kind: client.KindHTTPStatus, Message: "HTTP 503", Status: 503}}
		}
		in.Results = append(in.Results, artifact.Result{Index: i, PlannedContextTokens: 512, Observation: o})
	}
	a, err := artifact.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	data, err := a.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	d := artifact.Decode(fmt.Sprintf("%d-%d-%d.json", m.day, m.concurrency, m.ttft), data)
	if d.Kind != artifact.KindBenchmark {
		t.Fatal(d.Why)
	}
	if m.limited {
		d.Sweep.Flags = append(d.Sweep.Flags, artifact.Flag{Name: artifact.FlagClientLimited})
	}
	return d
}

func follow(t testing.TB, all ...measured) *History {
	t.Helper()
	var docs []*artifact.Document
	for _, m := range all {
		docs = append(docs, m.document(t))
	}
	return Of(docs, Options{Metric: compare.Metric{Name: "ttft_p50_ms", Better: "lower"}, Threshold: 2})
}

func nights(values ...int) []measured {
	var out []measured
	for i, v := range values {
		out = append(out, measured{day: i + 1, ttft: v})
	}
	return out
}

func TestALevelThatChangedIsFound(t *testing.T) {
	h := follow(t, nights(100, 102, 99, 101, 100, 120, 121, 119, 122, 120)...)
	if len(h.Cells) != 1 || len(h.Nights) != 10 || len(h.Cells[0].Changes) != 1 {
		t.Fatalf("%+v", h)
	}
	c := h.Cells[0].Changes[0]
	if c.Night != 5 || c.Before != 100 || c.After != 120 || c.Pct < 19.9 || c.Pct > 20.1 || c.P >= 0.01 || c.Verdict != compare.Worse {
		t.Errorf("%+v", c)
	}
	if *h.Cells[0].Level != 120 || *h.Cells[0].LastPct > 0.5 || *h.Cells[0].LastPct < -0.5 {
		t.Errorf("level %v, last %v", *h.Cells[0].Level, *h.Cells[0].LastPct)
	}
}

// Of the 252 ways to part ten values in two fives, two part them wholly; no
// other order has as large a U.
func TestPIsThatOfAllOrders(t *testing.T) {
	_, p, ok := pettitt([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.05)
	if want := 2. / 252; !ok || p < want-0.003 || p > want+0.003 {
		t.Errorf("p %v, want %v", p, want)
	}
}

func TestTwoChangesAreTwo(t *testing.T) {
	h := follow(t, nights(100, 102, 99, 101, 100, 98, 120, 121, 119, 122, 120, 123, 90, 91, 89, 92, 88, 91)...)
	var got []string
	for _, c := range h.Cells[0].Changes {
		got = append(got, fmt.Sprintf("%d %s", c.Night, c.Verdict))
	}
	if strings.Join(got, " ") != "6 worse 12 better" {
		t.Errorf("%v", got)
	}
}

// Noise is no change: of 200 cells without one, at the default level, few are
// said to have one, and with few nights none can be.
func TestNoiseIsNoChange(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	alarms := 0
	for range 200 {
		values := make([]float64, 30)
		for i := range values {
			values[i] = 100 + 5*random.NormFloat64()
		}
		alarms += len(changePoints(values, 0.01))
	}
	if alarms > 8 { // 2 on average; 8 or more are met once in a thousand times
		t.Errorf("%d alarms of 200", alarms)
	}
	if got := changePoints([]float64{1, 1, 1, 9, 9, 9}, 0.01); len(got) > 0 {
		t.Errorf("six nights cannot show a change at 1 %%: %+v", got)
	}
	if got := changePoints([]float64{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, 0.01); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestASmallChangeIsNone(t *testing.T) {
	h := follow(t, nights(1000, 1001, 1000, 1001, 1000, 1010, 1011, 1010, 1011, 1010)...)
	if len(h.Cells[0].Changes) != 0 {
		t.Errorf("%+v", h.Cells[0].Changes)
	}
}

// Points that failed or that the client bent are shown and not used.
func TestBadNightsAreNotUsed(t *testing.T) {
	all := nights(100, 102, 99, 101, 100, 500, 101, 100, 102, 900)
	all[5].failed, all[9].limited = true, true
	h := follow(t, all...)
	c := h.Cells[0]
	if len(c.Points) != 10 || c.Points[5].Note != "requests failed" || c.Points[9].Note != "client_limited" || c.Points[9].Value == nil {
		t.Fatalf("%+v", c.Points)
	}
	if len(c.Changes) != 0 || *c.Level != 100.5 || c.LastUse || c.LastPct != nil {
		t.Errorf("%+v level %v", c.Changes, *c.Level)
	}
}

// A new engine is a change of the server: the line goes on, and the change is
// told. Another output is other work: nothing is held against what was before.
func TestWhatChangedIsTold(t *testing.T) {
	all := nights(100, 101, 100, 101, 100, 120, 121, 120, 121, 120)
	for i := range all {
		all[i].version, all[i].fingerprint = "0.11", "aaaaaaaaaaaa"
		if i >= 5 {
			all[i].version, all[i].fingerprint = "0.12", "bbbbbbbbbbbb"
		}
	}
	h := follow(t, all...)
	if got := h.Nights[5].Changes; len(got) != 1 || got[0] != `engine version "0.11" and "0.12"` {
		t.Errorf("%v", got)
	}
	if len(h.Cells[0].Changes) != 1 || h.Cells[0].Points[5].Cut {
		t.Errorf("%+v", h.Cells[0])
	}
	for i := range all {
		all[i].version = "0.11"
	}
	if h = follow(t, all...); h.Nights[5].Changes[0] != "configuration fingerprint aaaaaaaa and bbbbbbbb" {
		t.Errorf("%v", h.Nights[5].Changes)
	}
	for i := range all[:5] {
		all[i].words = 8
	}
	h = follow(t, all...)
	if c := h.Cells[0]; !c.Points[5].Cut || len(c.Changes) != 0 || *c.Level != 120 {
		t.Errorf("%+v", c)
	}
}

// Cells are followed each for itself, and runs of one night are one point.
func TestRepeatsOfANightAreOnePoint(t *testing.T) {
	h := follow(t, measured{day: 1, ttft: 100}, measured{day: 1, ttft: 110}, measured{day: 1, ttft: 104}, measured{day: 2, ttft: 90}, measured{day: 1, ttft: 7, concurrency: 4})
	if len(h.Cells) != 2 || len(h.Cells[0].Points) != 2 {
		t.Fatalf("%+v", h.Cells)
	}
	if p := h.Cells[0].Points[0]; p.Runs != 3 || *p.Value != 104 || *p.Low != 100 || *p.High != 110 {
		t.Errorf("%+v", p)
	}
}

func BenchmarkThousandCellsOfThirtyNights(b *testing.B) {
	random := rand.New(rand.NewPCG(7, 7))
	cells := make([][]float64, 1000)
	for i := range cells {
		for n := range 30 {
			cells[i] = append(cells[i], 100+5*random.NormFloat64()+float64(n/15*(i%2)*20))
		}
	}
	for b.Loop() {
		for _, c := range cells {
			changePoints(c, 0.01)
		}
	}
}
