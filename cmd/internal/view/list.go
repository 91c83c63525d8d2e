package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"anvilsweep/sweep/summary"
)

// list prints the cells that have nothing beside them, a line each.
func (p *page) list(sections []summary.Section) error {
	if len(sections) == 0 {
		return nil
	}
	axes := shared(sections)
	lead := []column{{metric: "model"}, {metric: strings.Join(sections[0].ColumnAxes, " ")}, {metric: "workload"}}
	for _, axis := range axes {
		lead = append(lead, column{metric: axisName(axis)})
	}
	lead = append(lead, column{metric: "ok/n"})
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
				texts := []string{line(section.Model), line(section.Columns[i].Name), fmt.Sprintf("w%d", names[section.Workload])}
				for n, axis := range axes {
					text := line(row.At[axis])
					if n == 0 {
						text = strings.TrimSpace(axesText(row.At, axes) + " " + text)
					}
					texts = append(texts, text)
				}
				for at, text := range append(texts, p.counts(c)) {
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

// shared are the row axes that all sections begin with.
func shared(sections []summary.Section) []string {
	axes := sections[0].RowAxes
	for _, section := range sections[1:] {
		n := 0
		for n < min(len(axes), len(section.RowAxes)) && axes[n] == section.RowAxes[n] {
			n++
		}
		axes = axes[:n]
	}
	return axes
}

// axesText is a row's place on the axes that have no column.
func axesText(at summary.At, columns []string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(at)) {
		if !slices.Contains(columns, name) {
			out = append(out, line(name+"="+at[name]))
		}
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
