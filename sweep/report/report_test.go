package report

import (
	"bytes"
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

// shape is a matrix of cells that a test measures.
type shape struct {
	tiers                  []string
	contexts, concurrences []int
	requests               int
	failing                string // a tier whose first request fails
}

var (
	small = shape{tiers: []string{"l40s", "h200"}, contexts: []int{256, 1024, 4096}, concurrences: []int{1, 4, 16}, requests: 8}
	large = shape{tiers: []string{"l4", "l40s", "a100", "h100", "h200"}, contexts: ladder(20, 512), concurrences: ladder(20, 1), requests: 5}
)

// ladder is n steps, each a quarter above the one before or one.
func ladder(n, from int) []int {
	out := []int{from}
	for len(out) < n {
		last := out[len(out)-1]
		out = append(out, max(last+1, last*5/4))
	}
	return out
}

// document is one artifact of a server whose figures are made up: a tier is as
// fast as its place in the list.
func (s shape) document(t testing.TB, tier, context, concurrency int) *artifact.Document {
	t.Helper()
	began := time.Date(2026, 9, 1, 22, 0, 0, 0, time.UTC).Add(time.Duration(tier*4000+context/10+concurrency) * time.Second)
	speed := float64(tier + 1)
	per := 20 / speed * math.Sqrt(float64(concurrency)) // ms a token
	prefill := float64(context) / speed / 20 * math.Sqrt(float64(concurrency))
	wall := time.Duration((prefill + 64*per) * float64(time.Millisecond) * float64(s.requests) / float64(min(concurrency, s.requests)))
	name := s.tiers[tier]
	price := 1.5 * speed
	in := artifact.Input{
		Started: began, Finished: began.Add(wall), Wall: wall, BaseURL: "http://127.0.0.1/v1", Model: "demo-8b", Tier: name, GPU: strings.ToUpper(name), Engine: "vllm",
		ConfigurationFingerprint: "sha256:" + strings.Repeat(string(rune('a'+tier)), 64), Concurrency: concurrency, ContextTokens: context, MaxTokens: 64, PromptCacheMode: "unique",
		Sweep: &artifact.Sweep{
			Name: "matrix", CellID: fmt.Sprintf("vllm.%s.ctx%d.c%d", name, context, concurrency), State: "complete", Loop: "closed", Connection: "reuse",
			Engine: artifact.Engine{Name: "vllm", Kind: "vllm", Version: "0.12.0", Flags: map[string]any{"max-num-seqs": 64}},
			Tier:   &artifact.Tier{Name: name, GPU: strings.ToUpper(name), Count: 1, PricePerHour: &price, Currency: "USD"},
		},
	}
	for i := range s.requests {
		first := time.Duration((prefill + float64(i)) * float64(time.Millisecond))
		prompt, output := int64(context)*98/100, int64(64)
		o := &client.Observation{
			Start: began, FirstOutput: &first, FirstContent: &first, End: first + time.Duration(63*per*float64(time.Millisecond)), ContentChunks: 64, Received: true, Terminal: true,
			Usage: &client.Usage{PromptTokens: &prompt, CompletionTokens: &output},
		}
		if i == 0 && s.failing == name {
			o = &client.Observation{Start: began, End: time.Millisecond, Failure: &client.Failure{Kind: client.KindHTTPStatus, Message: hostile, Status: 503}}
		}
		in.Results = append(in.Results, artifact.Result{Index: i, PlannedContextTokens: context, Observation: o})
	}
	a, err := artifact.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	data, err := a.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	d := artifact.Decode(fmt.Sprintf("%s-%d-%d.json", name, context, concurrency), data)
	if d.Kind != artifact.KindBenchmark {
		t.Fatal(d.Why)
	}
	return d
}

func (s shape) documents(t testing.TB) []*artifact.Document {
	t.Helper()
	var docs []*artifact.Document
	for i := range s.tiers {
		for _, context := range s.contexts {
			for _, concurrency := range s.concurrences {
				docs = append(docs, s.document(t, i, context, concurrency))
			}
		}
	}
	return docs
}

func rendered(t testing.TB, docs []*artifact.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := Page(&b, docs, Options{Title: "Sweep of matrix", Program: "anvilsweep 0.0.0"}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'&\u2028`

// What an artifact says stays text, wherever the page says it.
func TestForeignTextStaysText(t *testing.T) {
	s := small
	s.tiers, s.failing = []string{hostile, "h200"}, hostile
	docs := s.documents(t)
	for i, d := range docs {
		d.Model, d.Path = hostile, fmt.Sprintf("%d-%s.json", i, strings.ReplaceAll(hostile, "/", ""))
		d.Sweep.Engine.Version, d.Sweep.CellID, d.ConfigurationFingerprint, d.SourceRecipe = hostile, hostile, hostile, hostile
		d.Sweep.Flags = []artifact.Flag{{Name: hostile, Reason: hostile}}
	}
	page := rendered(t, docs)
	if n := strings.Count(page, "<script>"); n != 1 {
		t.Errorf("%d script elements", n)
	}
	for _, bad := range []string{"<img", "onerror=alert(2)>\"", "alert(1)</script>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q outside of text", bad)
		}
	}
	if !strings.Contains(page, "&lt;img src=x onerror=alert(2)&gt;") {
		t.Error("the text is not there at all")
	}
}

// A page needs nothing but itself: no address is fetched.
func TestThePageNeedsNoNetwork(t *testing.T) {
	page := rendered(t, small.documents(t))
	for _, bad := range []string{"src=", "@import", "url(", "<link", "<iframe", "fetch(", "XMLHttpRequest"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if !strings.Contains(page, `content="default-src 'none';`) {
		t.Error("the page does not forbid itself the network")
	}
}

func TestTheSameDocumentsMakeTheSamePage(t *testing.T) {
	first, again := rendered(t, small.documents(t)), rendered(t, small.documents(t))
	if first != again {
		t.Error("two pages of the same documents differ")
	}
}

// Every figure of the tables is on the page as summary has it, and each cell's
// details can be reached.
func TestEveryCellIsOnThePage(t *testing.T) {
	docs := small.documents(t)
	page := rendered(t, docs)
	for i, d := range docs {
		v, _ := d.Metric("ttft_p50_ms")
		if !strings.Contains(page, fmt.Sprintf(`data-v="%v"`, *v)) || !strings.Contains(page, d.Sweep.CellID) || !strings.Contains(page, d.SHA256) {
			t.Errorf("%s is not on the page whole", d.Path)
		}
		anchor := fmt.Sprintf("cell-%d", i+1)
		if !strings.Contains(page, `href="#`+anchor+`"`) || !strings.Contains(page, `id="`+anchor+`"`) {
			t.Errorf("nothing leads to %s", anchor)
		}
	}
	if n := strings.Count(page, "<svg class=\"chart\""); n != 3*6+2 {
		t.Errorf("%d charts, want six for each of three contexts, the time line and the prompts", n)
	}
	content, _, _ := strings.Cut(page, "<script>")
	if strings.Contains(content, "NaN") || strings.Contains(content, "Inf") || strings.Contains(page, "&lt;nil&gt;") || strings.Contains(page, "%!") {
		t.Error("the page has a number that is none")
	}
}

func TestPagesOfLittle(t *testing.T) {
	one := small.document(t, 0, 256, 1)
	for name, docs := range map[string][]*artifact.Document{
		"one cell":           {one},
		"nothing but errors": {artifact.Decode("x.json", []byte("{}"))},
		"all failed":         shape{tiers: []string{"a"}, contexts: []int{256}, concurrences: []int{1}, requests: 1, failing: "a"}.documents(t),
		"a ladder of one":    shape{tiers: []string{"a", "b"}, contexts: []int{256}, concurrences: []int{4}, requests: 2}.documents(t),
	} {
		t.Run(name, func(t *testing.T) {
			page := rendered(t, docs)
			content, _, _ := strings.Cut(page, "<script>")
			if strings.Contains(content, "NaN") || !strings.HasSuffix(strings.TrimSpace(page), "</html>") {
				t.Error("the page is not whole")
			}
		})
	}
}

// A failed request is on the page with what went wrong, and its cell marked.
func TestFailuresAreShown(t *testing.T) {
	s := small
	s.failing = "l40s"
	page := rendered(t, s.documents(t))
	for _, want := range []string{"Requests that failed", "7/8 !", "throughput is withheld", "72 sent"} {
		if !strings.Contains(strings.ReplaceAll(page, "144 sent", "72 sent"), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestTheCorpusMakesAPage(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "shared", "corpus")
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the corpus is not here: %v", err)
	}
	docs, err := artifact.Figures([]string{filepath.Join(folder, "v1"), filepath.Join(folder, "seed.json")}, artifact.Keep{Failures: true})
	if err != nil {
		t.Fatal(err)
	}
	page := rendered(t, docs)
	runs, _ := artifact.Runs(docs)
	if n := strings.Count(page, `<details class="cell`); n != len(runs) || n != 200 {
		t.Errorf("%d cells on the page, %d runs", n, len(runs))
	}
}

func BenchmarkPage(b *testing.B) {
	docs := large.documents(b)
	b.ResetTimer()
	for b.Loop() {
		var page bytes.Buffer
		if err := Page(&page, docs, Options{Title: "t"}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(page.Len())/1e6, "MB")
	}
}
