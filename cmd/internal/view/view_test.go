package view

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/compare"
	"anvilsweep/sweep/history"
	"anvilsweep/sweep/metrics"
	"anvilsweep/sweep/summary"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs:\n%s\nwant:\n%s", name, got, want)
	}
}

func num(v float64) *float64 { return &v }

// sample has everything a table can show: two tiers, wide names, failures, a
// p99 of few samples, repeats, gaps, a cell with nothing beside it.
func sample() *summary.Summary {
	value := func(v float64, best bool, delta *float64) summary.Value {
		return summary.Value{Value: num(v), Best: best, DeltaPct: delta}
	}
	rows := []string{"context", "concurrency"}
	at := func(context, concurrency string) summary.At {
		return summary.At{"context": context, "concurrency": concurrency}
	}
	none := summary.Value{Note: "throughput is withheld, requests failed"}
	empty := make([]summary.Value, 3)
	return &summary.Summary{
		Metrics: []summary.Metric{{Name: "ttft_p50_ms", Better: "lower"}, {Name: "ttft_p99_ms", Better: "lower"}, {Name: "throughput_tok_s", Better: "higher"}},
		Sections: []summary.Section{
			{
				Model: "模型|8B", Workload: "64 words strict, unique prompts", RowAxes: rows, ColumnAxes: []string{"tier"},
				Columns: []summary.Column{{Name: "h200", At: summary.At{"tier": "h200"}}, {Name: "小さい🙂", At: summary.At{"tier": "小さい🙂"}}},
				Rows: []summary.Row{
					{At: at("1024", "1"), Cells: []summary.Cell{
						{Runs: 1, Attempted: 8, Completed: 8, Values: []summary.Value{value(101.25, true, nil), {Value: num(150), Descriptive: true, Best: true}, value(98.17192502462154, false, nil)}},
						{Runs: 3, Attempted: 24, Completed: 24, Pareto: true, Values: []summary.Value{{Value: num(202.5), Low: num(199), High: num(215.25), DeltaPct: num(100)}, {Value: num(300), Descriptive: true, DeltaPct: num(100)}, value(120.5, true, num(22.74))}},
					}},
					{At: at("8192", "64"), Cells: []summary.Cell{
						{Runs: 1, Attempted: 256, Completed: 250, Failed: 6, Values: []summary.Value{value(1234567.5, false, nil), value(0.00012, false, nil), none}},
						{Values: empty},
					}},
				},
			},
			{
				Model: "a-model-with-a-very-long-name-nvfp4-mtp-131072", Workload: "max_tokens 256", RowAxes: rows, ColumnAxes: []string{"tier"},
				Columns: []summary.Column{{Name: "rtx-pro-6000-blackwell-max-q-workstation", At: summary.At{"tier": "rtx-pro-6000-blackwell-max-q-workstation"}}},
				Rows:    []summary.Row{{At: at("sampled", "4"), Cells: []summary.Cell{{Runs: 1, Attempted: 4, Completed: 4, Flags: []summary.Flag{{Cell: "a.b.c4", Name: "client_limited", Reason: "this process used 95 % of its 2 processors"}}, Values: []summary.Value{value(9.5, false, nil), value(0, false, nil), value(1e9, false, nil)}}}}},
			},
		},
		Notes:   []string{"Some artifacts name no tier: their column is the gpu."},
		LeftOut: []summary.LeftOut{{Path: "x.json", Why: "not JSON\nat all \x1b[31m"}},
		Cells: summary.Coverage{Planned: 4, States: map[artifact.State]int{artifact.StateDone: 3, artifact.StateFailed: 1},
			Gaps: []summary.Gap{{Cell: "vllm.h200.ctx8192.c64", State: artifact.StateFailed, Reason: "6 of 256 requests failed"}}},
	}
}

func rendered(t *testing.T, s *summary.Summary, width int, markdown bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := Summary(&b, s, width, markdown); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSummaryTables(t *testing.T) {
	golden(t, "summary.txt", []byte(rendered(t, sample(), 120, false)))
	golden(t, "summary-narrow.txt", []byte(rendered(t, sample(), 60, false)))
	golden(t, "summary.md", []byte(rendered(t, sample(), 120, true)))
	var b bytes.Buffer
	if err := SummaryCSV(&b, sample()); err != nil {
		t.Fatal(err)
	}
	golden(t, "summary.csv", b.Bytes())
	b.Reset()
	if err := SummaryJSON(&b, sample()); err != nil {
		t.Fatal(err)
	}
	golden(t, "summary.json", b.Bytes())
}

// tableLines are the lines of tables, without titles and notes.
func tableLines(text string) [][]string {
	var tables [][]string
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "──") {
			start := i
			for start > 0 && strings.HasPrefix(lines[start-1], " ") {
				start--
			}
			end := i + 1
			for end < len(lines) && strings.HasPrefix(lines[end], " ") {
				end++
			}
			tables = append(tables, lines[start:end])
		}
	}
	return tables
}

func TestTablesFitAndAlign(t *testing.T) {
	for _, width := range []int{60, 80, 100, 120, 200} {
		for i, table := range tableLines(rendered(t, sample(), width, false)) {
			for _, l := range table {
				if columns(l) != columns(table[0]) {
					t.Errorf("width %d, table %d: %q is %d wide, its header %d", width, i, l, columns(l), columns(table[0]))
				}
				if width >= 80 && columns(l) > width {
					t.Errorf("width %d, table %d: a line of %d: %q", width, i, columns(l), l)
				}
			}
		}
	}
}

func TestOutputIsTheSameEveryTime(t *testing.T) {
	want := rendered(t, sample(), 100, false)
	for range 50 {
		if rendered(t, sample(), 100, false) != want {
			t.Fatal("another table of the same summary")
		}
	}
}

// Foreign text stays text: no column is added, no escape reaches a terminal.
func TestForeignTextStaysInItsCell(t *testing.T) {
	md := rendered(t, sample(), 120, true)
	if !strings.Contains(md, `模型|8B`) {
		t.Error("a title may hold a bar")
	}
	s := sample()
	s.Sections[0].Columns[0].Name = "a|b<br>\nc\x1b[31m"
	md = rendered(t, s, 120, true)
	for _, l := range strings.Split(md, "\n") {
		if !strings.HasPrefix(l, "|") {
			continue
		}
		bars := strings.Count(l, "|") - strings.Count(l, `\|`)
		if strings.Contains(l, "h200") || strings.Contains(l, "a\\|b") {
			if strings.Contains(l, "<br>c") || strings.Contains(l, "\x1b") || bars < 3 {
				t.Errorf("%q", l)
			}
		}
	}
	if text := rendered(t, s, 120, false); strings.Contains(text, "\x1b") {
		t.Error("an escape sequence reaches the terminal")
	}
	if got := cell("x|y\nz<b>", true); got != `x\|y<br>z&lt;b>` {
		t.Errorf("%q", got)
	}
}

// The formats tell the same: csv and json hold the exact figures that the
// table shortens.
func TestFormatsAgree(t *testing.T) {
	s := sample()
	var b bytes.Buffer
	if err := SummaryCSV(&b, s); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Sections []summary.Section }
	b.Reset()
	if err := SummaryJSON(&b, s); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	text, md := rendered(t, s, 200, false), rendered(t, s, 200, true)
	line := 1
	for _, section := range doc.Sections {
		for _, row := range section.Rows {
			for _, c := range row.Cells {
				if c.Runs == 0 {
					continue
				}
				record := rows[line]
				line++
				for i, v := range c.Values {
					field := record[11+6*i]
					if v.Value == nil {
						if field != "" || record[11+6*i+5] == "" {
							t.Errorf("csv has %q for a figure that is not there, note %q", field, record[11+6*i+5])
						}
						continue
					}
					if got, err := strconv.ParseFloat(field, 64); err != nil || got != *v.Value {
						t.Errorf("csv has %s, json %v", field, *v.Value)
					}
					if !strings.Contains(text, metrics.Human(*v.Value)) || !strings.Contains(md, metrics.Human(*v.Value)) {
						t.Errorf("a table lacks %s", metrics.Human(*v.Value))
					}
				}
			}
		}
	}
	if line != len(rows) {
		t.Errorf("csv has %d rows, json %d", len(rows), line)
	}
}

func TestShortenKeepsBothEnds(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{{"short", 10, "short"}, {"deepseek-v4-flash-nvfp4", 12, "deepse…nvfp4"}, {"模型模型模型", 7, "模型…型"}, {"abc", 1, "…"}} {
		if got := shorten(c.in, c.limit); got != c.want || columns(got) > c.limit {
			t.Errorf("shorten(%q, %d) = %q", c.in, c.limit, got)
		}
	}
}

func TestWidthAndColor(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return func(name string) string { return m[name] }
	}
	var b bytes.Buffer
	if Width(&b, env()) != fallbackWidth || Width(&b, env("COLUMNS", "77")) != 77 || Width(&b, env("COLUMNS", "x")) != fallbackWidth {
		t.Error("the width is COLUMNS, else the terminal's, else a fixed one")
	}
	if Color(&b, env()) || live(&b, env()) {
		t.Error("a buffer is no terminal")
	}
}

func TestVerifyText(t *testing.T) {
	var b bytes.Buffer
	Verify(&b, []artifact.Report{
		{Path: "a.json", Kind: artifact.KindBenchmark, Generation: "G6", Checks: []artifact.Check{{What: "counts", Count: 3}}},
		{Path: "b.json", Kind: artifact.KindBenchmark, Generation: "G2", Limitations: []string{"no line end"}},
		{Path: "c.json", Kind: artifact.KindOther, Why: "an aggregate"},
		{Path: "d.json", Kind: artifact.KindManifest, Faults: []string{"1", "2", "3", "4", "5", "6", "7"}},
	})
	want := `a.json: accepted (G6)
  checked 3 counts
b.json: accepted with limitations (G2): no line end
c.json: not an artifact: an aggregate
d.json: refused: 1; 2; 3; 4; 5; and 2 more
2 artifacts, 1 manifest: 1 accepted, 1 accepted with limitations, 1 refused, 1 not an artifact.
`
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	many := make([]artifact.Report, 7)
	for i := range many {
		many[i] = artifact.Report{Path: fmt.Sprint(i), Kind: artifact.KindBenchmark, Checks: []artifact.Check{{What: "counts", Count: 300}}}
	}
	Verify(&b, many)
	if !strings.Contains(b.String(), "Checked 2 100 counts.") {
		t.Errorf("%s", b.String())
	}
}

// A history of two cells: one got worse when the engine changed, the other has
// a night that is not used and one that is missing.
func TestHistoryTable(t *testing.T) {
	var b bytes.Buffer
	h := &history.History{Metric: compare.Metric{Name: "ttft_p50_ms", Better: "lower"}, Alpha: 0.01, Threshold: 2, LeftOut: []string{"x.json: the file does not say when it was measured"}}
	for i := range 12 {
		at := time.Date(2026, 9, i+1, 22, 0, 0, 0, time.UTC)
		h.Nights = append(h.Nights, history.Night{Name: at.Format(time.DateOnly), Started: at, Runs: 2})
	}
	h.Nights[6].Changes = []string{`engine version "0.11" and "0.12" (2 cells)`}
	worse, steady := history.Cell{Place: "tier=h200 concurrency=1", LastUse: true, Level: num(120), LastPct: num(0.5)}, history.Cell{Place: "tier=h200 concurrency=模型", Level: num(50)}
	for i := range 12 {
		worse.Points = append(worse.Points, history.Point{Night: i, Runs: 1, Value: num(100 + float64(20*(i/6)))})
		if i == 4 {
			continue
		}
		p := history.Point{Night: i, Runs: 1, Value: num(50)}
		if i == 11 {
			p.Note = "requests failed"
		}
		steady.Points = append(steady.Points, p)
	}
	worse.Changes = []history.Change{{Night: 6, Before: 100, After: 120, Pct: 20, P: 0.0021, Verdict: compare.Worse}}
	h.Cells = []history.Cell{worse, steady}
	if err := History(&b, h, 120, false); err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n")
	if err := History(&b, h, 120, true); err != nil {
		t.Fatal(err)
	}
	golden(t, "history.txt", b.Bytes())
}
