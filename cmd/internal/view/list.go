package view

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"anvilsweep/sweep/summary"
)

// list prints the cells that have nothing beside them, a line each.
func (p *page) list(sections []summary.Section) error {
	if len(sections) == 0 {
		return nil
	}
	lead := []column{{metric: "model"}, {metric: "tier"}, {metric: "workload"}, {metric: "context"}, {metric: "conc"}, {metric: "ok/n"}}
	figures := make([][]column, len(p.s.Metrics))
	for i, m := range p.s.Metrics {
		figures[i] = []column{{metric: m.Name}}
	}
	names := map[string]int{}
	var legend []string
	for _, section := range sections {
		if _, ok := names[section.Workload]; !ok {
			names[section.Workload] = len(names) + 1
			legend = append(legend, section.Workload)
		}
		for _, row := range section.Rows {
			for i, c := range row.Cells {
				if c.Runs == 0 {
					continue
				}
				for at, text := range []string{line(section.Model), line(section.Columns[i].Name), fmt.Sprintf("w%d", names[section.Workload]),
					strings.TrimSpace(axesText(row.Axes) + " " + contextText(row.Context)), strconv.Itoa(row.Concurrency), p.counts(c)} {
					lead[at].cells = append(lead[at].cells, text)
				}
				for at := range figures {
					alone := c.Values[at]
					alone.DeltaPct = nil // there is nothing to differ from
					figures[at][0].cells = append(figures[at][0].cells, strings.TrimRight(p.value(alone), " "))
				}
			}
		}
	}
	widest := 0
	for _, f := range figures {
		widest = max(widest, f[0].width())
	}
	used := p.fit(lead, p.width-widest)
	for i, table := range pack(figures, p.width-used) {
		title := "With nothing beside them"
		if i > 0 {
			title += " (continued)"
		}
		p.title(title)
		if err := p.table(append(slices.Clone(lead), table...), 3); err != nil {
			return err
		}
	}
	fmt.Fprintln(p.w)
	for i, text := range legend {
		if text == "" {
			text = "not said in the artifact"
		}
		p.say(fmt.Sprintf("w%d: %s", i+1, line(text)))
	}
	return nil
}

// axesText is a row's own axes, by name.
func axesText(axes map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(axes)) {
		out = append(out, line(name+"="+axes[name]))
	}
	return strings.Join(out, " ")
}

// fit shortens models and tiers, the wider first, until a list's leading
// columns fit; figures are never cut. It returns the width they take.
func (p *page) fit(cols []column, width int) int {
	total := 0
	for _, c := range cols {
		total += c.width()
	}
	if p.markdown {
		return total
	}
	const least = 12
	limits := []int{cols[0].width() - 2, cols[1].width() - 2}
	for total > width && max(limits[0], limits[1]) > least {
		wider := 0
		if limits[1] > limits[0] {
			wider = 1
		}
		limits[wider]--
		total--
	}
	for i, limit := range limits {
		for r, text := range cols[i].cells {
			cols[i].cells[r] = shorten(text, limit)
		}
	}
	return total
}

// shorten keeps both ends of a name: versions sit at the end.
func shorten(s string, limit int) string {
	if columns(s) <= limit {
		return s
	}
	r := []rune(s)
	for keep := len(r) - 1; keep > 1; keep-- {
		head := (keep + 1) / 2
		if short := string(r[:head]) + "…" + string(r[len(r)-keep+head:]); columns(short) <= limit {
			return short
		}
	}
	return "…"
}
