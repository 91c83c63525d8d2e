package summary

import (
	"fmt"
	"strings"
	"testing"
)

// ladder is two tiers at two contexts and three concurrencies.
func ladder() []cell {
	var cells []cell
	for _, tier := range []string{"h200", "l40s"} {
		for _, context := range []int{4096, 512} {
			for _, concurrency := range []int{4, 1, 16} {
				cells = append(cells, cell{tier: tier, engine: "vllm", context: context, concurrency: concurrency, ttft: context/100 + concurrency})
			}
		}
	}
	return cells
}

func TestAnyAxesMakeRowsAndColumns(t *testing.T) {
	docs := documents(t, ladder()...)
	for _, c := range []struct {
		rows, columns, wantRows, wantColumns string
	}{
		{"", "", "512,1 512,4 512,16 4096,1 4096,4 4096,16", "h200,l40s"},
		{"tier,context", "concurrency", "h200,512 h200,4096 l40s,512 l40s,4096", "concurrency 1,concurrency 4,concurrency 16"},
		{"concurrency", "context", "1,h200 1,l40s 4,h200 4,l40s 16,h200 16,l40s", "context 512,context 4096"}, // tiers may not merge
		{"concurrency", "tier,context", "1 4 16", "h200 context 512,h200 context 4096,l40s context 512,l40s context 4096"},
		{"engine", "", "vllm,512,1 vllm,512,4 vllm,512,16 vllm,4096,1 vllm,4096,4 vllm,4096,16", "h200,l40s"},
		{"", "concurrency", "512,h200 512,l40s 4096,h200 4096,l40s", "concurrency 1,concurrency 4,concurrency 16"},
		{"output", "model", "4 words observe, max_tokens 64,h200,512,1", "m"},
	} {
		t.Run(c.rows+" by "+c.columns, func(t *testing.T) {
			s, err := Build(docs, Options{Metrics: []string{"ttft_min_ms"}, Rows: list(c.rows), Columns: list(c.columns)})
			if err != nil {
				t.Fatal(err)
			}
			section := s.Sections[0]
			if c.rows == "output" {
				if section.Model != "" || columnNames(section) != "m" || len(section.Rows) != 12 {
					t.Errorf("%q %s %d rows", section.Model, columnNames(section), len(section.Rows))
				}
			} else if places(section) != c.wantRows || columnNames(section) != c.wantColumns {
				t.Errorf("rows %s\ncolumns %s", places(section), columnNames(section))
			}
			shown := 0
			for _, row := range section.Rows {
				for _, cell := range row.Cells {
					if shown += cell.Runs; cell.Runs > 1 {
						t.Errorf("%d different cells were taken for runs of one at %v", cell.Runs, row.At)
					}
				}
			}
			if shown != len(docs) {
				t.Errorf("%d of %d runs are shown", shown, len(docs))
			}
		})
	}
	for _, c := range [][3]string{{"tiers", "", `no axis "tiers"`}, {"tier", "tier", "placed twice"}, {"context,context", "", "placed twice"}} {
		if _, err := Build(docs, Options{Rows: list(c[0]), Columns: list(c[1])}); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// A tier of one name and two engines is two tiers, wherever it stands.
func TestTiersAreToldApartInRowsToo(t *testing.T) {
	docs := documents(t, cell{tier: "t", engine: "vllm"}, cell{tier: "t", engine: "sglang"})
	s, err := Build(docs, Options{Rows: []string{"tier"}, Columns: []string{"concurrency"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := places(s.Sections[0]); got != "t vllm t sglang" {
		t.Errorf("%s", got)
	}
	s, err = Build(docs, Options{Rows: []string{"tier"}, Columns: []string{"engine"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := places(s.Sections[0]); got != "t" || columnNames(s.Sections[0]) != "vllm,sglang" {
		t.Errorf("%s by %s", got, columnNames(s.Sections[0]))
	}
}

func TestSetsAreTheirMetrics(t *testing.T) {
	for name, members := range Sets {
		ms, err := LookUpAll([]string{members[0], name})
		if err != nil || len(ms) != len(members) {
			t.Errorf("%s: %d of %d metrics, %v", name, len(ms), len(members), err)
		}
	}
}

// Of cells that did the same work, the frontier is what no other beats: a GPU's
// throughput against a user's speed.
func TestTheFrontierIsWhatNoOtherBeats(t *testing.T) {
	does := func(throughput, user float64) map[string]float64 {
		return map[string]float64{"throughput_tok_s": throughput, PerUserMetric: user}
	}
	cells := []cell{
		{tier: "a", concurrency: 1, set: does(100, 50)},                // on: the fastest of all
		{tier: "a", concurrency: 2, set: does(180, 45)},                // on
		{tier: "a", concurrency: 4, set: does(170, 30)},                // off: concurrency 2 is better in both
		{tier: "b", concurrency: 1, gpus: 2, set: does(300, 48)},       // on, with 150 a GPU; as a whole server it would beat a at 2
		{tier: "b", concurrency: 2, failed: 1, set: does(9000, 90)},    // not ranked
		{tier: "a", concurrency: 9, context: 4096, set: does(1, 1)},    // other work
		{tier: "b", concurrency: 9, context: 4096, set: does(1, 0.25)}, // off there
	}
	marked := func() string {
		s := summarize(t, []string{PerGPUMetric}, documents(t, cells...)...)
		var got []string
		for _, row := range s.Sections[0].Rows {
			for c, cell := range row.Cells {
				if cell.Pareto {
					got = append(got, s.Sections[0].Columns[c].Name+row.At["concurrency"])
				}
			}
		}
		if len(s.Frontier()) != len(got) || len(got) > 0 && s.Frontier()[0] != "tier=a context=512 concurrency=1" {
			t.Errorf("%q", s.Frontier())
		}
		return fmt.Sprint(got)
	}
	if got := marked(); got != "[a1 b1 a2 a9]" {
		t.Errorf("%s", got)
	}
	// Where every cell of the same work is on it, none is marked.
	cells[2].set, cells[6].set = does(200, 30), does(0.5, 2)
	if got := marked(); got != "[]" {
		t.Errorf("%s", got)
	}
}

// The two prices of a token, by hand: 4 requests of 100 prompt and 11 output
// tokens in 2 s at 3.6 an hour.
func TestCostOfAllTokens(t *testing.T) {
	s := summarize(t, []string{"cost"}, documents(t, cell{tier: "a", price: 3.6})...)
	c := s.Sections[0].Rows[0].Cells[0]
	output, total := *c.Values[0].Value, *c.Values[1].Value
	if want := 0.001 / 22 * 1e6; abs(output-want) > 1e-9 {
		t.Errorf("%v, want %v", output, want)
	}
	if want := 0.001 / 222 * 1e6; abs(total-want) > 1e-9 {
		t.Errorf("%v, want %v", total, want)
	}
}

func abs(v float64) float64 { return max(v, -v) }
