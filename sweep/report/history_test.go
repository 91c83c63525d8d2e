package report

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"testing"
	"time"

	"anvilsweep/sweep/compare"
	"anvilsweep/sweep/history"
)

// followed is a history of cells over nights, every other one of which got
// worse half way, with one bad night.
func followed(cells, nights int, name string) *history.History {
	h := &history.History{Metric: compare.Metric{Name: "ttft_p50_ms", Better: "lower"}, Alpha: 0.01, Threshold: 2}
	for i := range nights {
		at := time.Date(2026, 9, 1+i, 22, 0, 0, 0, time.UTC)
		h.Nights = append(h.Nights, history.Night{Name: at.Format(time.DateOnly), Started: at, Runs: cells})
	}
	h.Nights[nights/2].Changes = []string{name}
	for i := range cells {
		c := history.Cell{Place: fmt.Sprintf("tier=%s context=512 concurrency=%d", name, i+1), LastUse: true}
		for n := range nights {
			v := 100 + float64(i%7+n%3)
			if i%2 == 1 && n >= nights/2 {
				v *= 1.2
			}
			p := history.Point{Night: n, Value: &v, Low: &v, High: &v, Runs: 1}
			if n == nights/2 {
				p.Changes = []string{name}
			}
			if n == 1 {
				p.Note = "requests failed"
			}
			c.Level = &v
			c.Points = append(c.Points, p)
		}
		if i%2 == 1 {
			c.Changes = []history.Change{{Night: nights / 2, Before: 103, After: 123.6, Pct: 20 + float64(i)/100, P: 0.001, Verdict: compare.Worse}}
		}
		h.Cells = append(h.Cells, c)
	}
	return h
}

func historyOf(t testing.TB, h *history.History) string {
	t.Helper()
	var b bytes.Buffer
	if err := HistoryPage(&b, h, "anvilsweep 0.0.0"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHistoryPage(t *testing.T) {
	page := historyOf(t, followed(6, 14, "l40s"))
	if n := strings.Count(page, "<svg class=\"chart\""); n != 6 {
		t.Errorf("%d charts", n)
	}
	for _, want := range []string{"History of ttft_p50_ms", "! worse", "worse by +20.0 % since 2026-09-08", "crossed: not used"} {
		if !strings.Contains(html.UnescapeString(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if page != historyOf(t, followed(6, 14, "l40s")) {
		t.Error("two pages of the same history differ")
	}
	foreign := historyOf(t, followed(6, 14, hostile))
	if strings.Count(foreign, "<script>") != 1 || strings.Contains(foreign, "<img") {
		t.Error("foreign text is not text")
	}
}

// A page of very many cells has charts of those that changed, and says so.
func TestHistoryOfManyCells(t *testing.T) {
	page := historyOf(t, followed(500, 12, "l40s"))
	if n := strings.Count(page, "<svg class=\"chart\""); n != 200 {
		t.Errorf("%d charts", n)
	}
	if !strings.Contains(page, "Charts of the 200 cells that changed the most, of 500") || strings.Count(page, "<tr>") < 500 {
		t.Error("the page does not say what it leaves out, or the table lacks cells")
	}
}
