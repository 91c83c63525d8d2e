package view

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"anvilsweep/sweep/compare"
	"anvilsweep/sweep/history"
	"anvilsweep/sweep/metrics"
)

// HistoryJSON writes the whole history as one document.
func HistoryJSON(w io.Writer, h *history.History) error {
	return writeJSON(w, struct {
		Schema string `json:"schema"`
		*history.History
	}{"anvilsweep.history/v1", h})
}

// HistoryCSV writes a line a cell and night, with exact figures.
func HistoryCSV(w io.Writer, h *history.History) error {
	lines := [][]string{{"cell", "metric", "night", "started_at", "folder", "runs", "value", "low", "high", "not_used", "changed", "level_change", "level_delta_pct", "p"}}
	for _, c := range h.Cells {
		for _, p := range c.Points {
			n := h.Nights[p.Night]
			line := []string{c.Place, h.Metric.Name, n.Name, n.Started.UTC().Format(time.RFC3339), n.Folder, strconv.Itoa(p.Runs), exact(p.Value), exact(p.Low), exact(p.High), p.Note, strings.Join(p.Changes, "; "), "", "", ""}
			for _, ch := range c.Changes {
				if ch.Night == p.Night {
					line[11], line[12], line[13] = string(ch.Verdict), exact(&ch.Pct), exact(&ch.P)
				}
			}
			lines = append(lines, line)
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// trendNights is how many nights a trend shows, the latest.
const trendNights = 40

// History prints a line a cell: its level, the last night against it, the trend
// and where the level changed last; then what changed on which night.
func History(w io.Writer, h *history.History, width int, markdown bool) error {
	if len(h.Nights) == 0 {
		fmt.Fprintln(w, "No run to show.")
		return nil
	}
	fmt.Fprintf(w, "%s of %s over %s, %s to %s\n", h.Metric.Name, plural(len(h.Cells), "cell"), plural(len(h.Nights), "night"), h.Nights[0].Name, h.Nights[len(h.Nights)-1].Name)
	if markdown {
		fmt.Fprintln(w)
	}
	varying := compare.Varying(placesOf(h))
	g := Grid{Header: []string{"cell", "level changed", "nights", "level", "last", "off level", "trend"}, Names: 2}
	for _, c := range h.Cells {
		last := c.Points[len(c.Points)-1]
		row := []string{short(c.Place, varying), "—", strconv.Itoa(len(c.Points)), figure(c.Level), figure(last.Value), "—", trend(h, c)}
		if n := len(c.Changes); n > 0 {
			ch := c.Changes[n-1]
			row[1] = fmt.Sprintf("%s %+.1f%% %s", mark(ch.Verdict), ch.Pct, h.Nights[ch.Night].Name)
		}
		if !c.LastUse {
			row[4] += " ×"
		}
		if c.LastPct != nil {
			row[5] = fmt.Sprintf("%+.1f%%", *c.LastPct)
		}
		g.Rows = append(g.Rows, row)
	}
	if !markdown {
		g.fit(width)
	}
	if err := g.Write(w, markdown); err != nil {
		return err
	}
	fmt.Fprintln(w)
	said := false
	for i, n := range h.Nights {
		lines := slices.Clone(n.Changes)
		for _, c := range h.Cells {
			for _, ch := range c.Changes {
				if ch.Night == i {
					lines = append(lines, fmt.Sprintf("%s: %s %+.1f%%, %s to %s, p %s", short(c.Place, varying), mark(ch.Verdict), ch.Pct, metrics.Human(ch.Before), metrics.Human(ch.After), probability(ch.P)))
				}
			}
		}
		for _, l := range lines {
			said = true
			bullet(w, n.Name+"  "+line(l), markdown)
		}
	}
	if !said {
		bullet(w, "Nothing is known to have changed.", markdown)
	}
	bullet(w, fmt.Sprintf("A level changes where Pettitt's test says so at level %g by %g %% or more; that takes ten nights or more at level 0.01. × not used: failed requests or a limited client; · not measured.", h.Alpha, h.Threshold), markdown)
	left := grouped{}
	for _, l := range h.LeftOut {
		path, why, _ := strings.Cut(l, ": ")
		left.add(why, path)
	}
	for _, why := range left.order {
		bullet(w, "Left out, "+line(why)+": "+line(left.names(why)), markdown)
	}
	return nil
}

func bullet(w io.Writer, text string, markdown bool) {
	if markdown {
		text = "- " + cell(text, true)
	}
	fmt.Fprintln(w, text)
}

func placesOf(h *history.History) []string {
	out := make([]string, len(h.Cells))
	for i, c := range h.Cells {
		out[i] = c.Place
	}
	return out
}

// trend draws the points of the latest nights as bars from the least to the
// most of them.
func trend(h *history.History, c history.Cell) string {
	const bars = "▁▂▃▄▅▆▇█"
	first := max(0, len(h.Nights)-trendNights)
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range c.Points {
		if p.Night >= first && p.Used() {
			low, high = min(low, *p.Value), max(high, *p.Value)
		}
	}
	out := []rune(strings.Repeat("·", len(h.Nights)-first))
	for _, p := range c.Points {
		switch {
		case p.Night < first:
		case !p.Used():
			out[p.Night-first] = '×'
		case high == low:
			out[p.Night-first] = []rune(bars)[3]
		default:
			out[p.Night-first] = []rune(bars)[int((*p.Value-low)/(high-low)*7.999)]
		}
	}
	return string(out)
}
