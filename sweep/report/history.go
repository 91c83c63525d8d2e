package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"anvilsweep/sweep/compare"
	"anvilsweep/sweep/history"
	"anvilsweep/sweep/metrics"
)

//go:embed history.html.tmpl
var historyText string

// historyTemplate has the tables and figures of the page's.
var historyTemplate = template.Must(template.Must(pageTemplate.Clone()).New("history").Parse(historyText))

// mostCharts is how many cells get a chart: those that changed the most. The
// table has all.
const mostCharts = 200

type historyPage struct {
	Title, Program string
	Style          template.CSS
	Script         template.JS
	Facts          []fact
	Cells          *table
	Nights         *table
	Note           string
	Figures        []figure
	Definition     string
}

// HistoryPage writes a page of a history: every cell in a table, and a chart of
// each.
func HistoryPage(w io.Writer, h *history.History, program string) error {
	p := historyPage{
		Title: "History of " + h.Metric.Name, Program: program, Style: template.CSS(styleText), Script: template.JS(scriptText), Definition: define(h.Metric.Name), //nolint:gosec // our own
		Facts: []fact{
			{"Cells", metrics.Count(int64(len(h.Cells)))}, {"Nights", metrics.Count(int64(len(h.Nights)))},
			{"From", h.Nights[0].Name}, {"To", h.Nights[len(h.Nights)-1].Name},
			{"Latest change is worse", metrics.Count(int64(h.Count(compare.Worse)))}, {"Latest change is better", metrics.Count(int64(h.Count(compare.Better)))},
		},
	}
	places := make([]string, len(h.Cells))
	for i, c := range h.Cells {
		places[i] = c.Place
	}
	varying := compare.Varying(places)
	p.Cells, p.Nights = historyTable(h, varying), nightsTable(h, varying)
	order := make([]int, len(h.Cells))
	for i := range order {
		order[i] = i
	}
	if len(order) > mostCharts {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(latest(h.Cells[b]), latest(h.Cells[a])) })
		order = order[:mostCharts]
		slices.Sort(order)
		p.Note = fmt.Sprintf("Charts of the %d cells that changed the most, of %d; the table has all.", mostCharts, len(h.Cells))
	}
	for _, i := range order {
		f, err := historyChart(h, h.Cells[i], compare.Short(h.Cells[i].Place, varying))
		if err != nil {
			return err
		}
		p.Figures = append(p.Figures, f)
	}
	var out bytes.Buffer
	if err := historyTemplate.Execute(&out, p); err != nil {
		return err
	}
	_, err := w.Write(out.Bytes())
	return err
}

// latest is by how much a cell's level last changed.
func latest(c history.Cell) float64 {
	if n := len(c.Changes); n > 0 {
		return math.Abs(c.Changes[n-1].Pct)
	}
	return 0
}

func historyTable(h *history.History, varying map[string]bool) *table {
	t := &table{ID: "history", Caption: h.Metric.Name + " of each cell", Filter: len(h.Cells) > 8}
	for _, name := range []string{"cell", "nights", "level", "last", "off level, %", "level changed", "by, %", "since"} {
		t.Head = append(t.Head, heading{Text: name})
	}
	figure := func(v *float64) cell {
		if v == nil {
			return cell{Text: "—", Class: "n none"}
		}
		return cell{Text: metrics.Human(*v), Sort: strconv.FormatFloat(*v, 'g', -1, 64), Class: "n"}
	}
	for _, c := range h.Cells {
		last := c.Points[len(c.Points)-1]
		row := []cell{{Text: compare.Short(c.Place, varying), Head: true}, number(strconv.Itoa(len(c.Points))), figure(c.Level), figure(last.Value), figure(c.LastPct), text("—"), text("—"), text("—")}
		if !c.LastUse {
			row[3].Text, row[3].Title, row[3].Class = row[3].Text+" ×", last.Note, "n bad"
		}
		if n := len(c.Changes); n > 0 {
			ch := c.Changes[n-1]
			row[5], row[6], row[7] = verdict(ch.Verdict), figure(&ch.Pct), text(h.Nights[ch.Night].Name)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// verdict has a sign beside its colour.
func verdict(v compare.Verdict) cell {
	switch v {
	case compare.Worse:
		return cell{Text: "! worse", Class: "bad"}
	case compare.Better:
		return cell{Text: "+ better", Class: "best"}
	}
	return text(string(v))
}

func nightsTable(h *history.History, varying map[string]bool) *table {
	t := &table{ID: "nights", Caption: "Nights, and what changed on each", Head: []heading{{Text: "night"}, {Text: "runs"}, {Text: "changed"}}, Filter: len(h.Nights) > 8}
	for i, n := range h.Nights {
		lines := slices.Clone(n.Changes)
		for _, c := range h.Cells {
			for _, ch := range c.Changes {
				if ch.Night == i {
					lines = append(lines, fmt.Sprintf("%s %s by %+.1f %%", compare.Short(c.Place, varying), ch.Verdict, ch.Pct))
				}
			}
		}
		t.Rows = append(t.Rows, []cell{{Text: n.Name, Head: true}, number(strconv.Itoa(n.Runs)), {Text: strings.Join(lines, "; "), Class: "long"}})
	}
	return t
}

// historyChart has the points of a cell, its levels, and dashes where something
// of the server or the work changed.
func historyChart(h *history.History, c history.Cell, name string) (figure, error) {
	ch := chart{X: "night", Y: h.Metric.Name, Title: fmt.Sprintf("%s of %s over %d nights. The table above has its level and its last change.", h.Metric.Name, name, len(c.Points))}
	for i, n := range h.Nights {
		ch.TicksX = append(ch.TicksX, tick{float64(i), strings.TrimPrefix(n.Name, n.Started.UTC().Format("2006-"))})
	}
	used, not := series{Style: 0}, series{Style: 3}
	for _, p := range c.Points {
		switch {
		case p.Used():
			used.Points = append(used.Points, point{float64(p.Night), *p.Value})
		case p.Value != nil:
			not.Points = append(not.Points, point{float64(p.Night), *p.Value})
		}
		if len(p.Changes) > 0 {
			ch.Rules = append(ch.Rules, float64(p.Night)-0.5)
		}
	}
	ch.Series = append(ch.Series, levels(c)...)
	ch.Series = append(ch.Series, used)
	caption := name
	if len(not.Points) > 0 {
		ch.Series = append(ch.Series, not)
		caption += "; crossed: not used"
	}
	if n := len(c.Changes); n > 0 {
		last := c.Changes[n-1]
		caption += fmt.Sprintf("; %s by %+.1f %% since %s", last.Verdict, last.Pct, h.Nights[last.Night].Name)
	}
	svg, err := ch.svg()
	return figure{SVG: svg, Caption: caption}, err
}

// levels are a line each, from where a level began to where it ended.
func levels(c history.Cell) []series {
	var out []series
	from := c.Points[0].Night
	to := c.Points[len(c.Points)-1].Night
	for i, ch := range c.Changes {
		end := to
		if i+1 < len(c.Changes) {
			end = c.Changes[i+1].Night - 1
		}
		if i == 0 {
			out = append(out, level(from, ch.Night-1, ch.Before))
		}
		out = append(out, level(ch.Night, end, ch.After))
	}
	return out
}

func level(from, to int, value float64) series {
	return series{Style: 1, Line: true, Bare: true, Points: []point{{float64(from) - 0.4, value}, {float64(to) + 0.4, value}}}
}
