package view

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"anvilsweep/sweep/metrics"
	"anvilsweep/sweep/summary"
)

// axisName is an axis over its column.
func axisName(axis string) string {
	if axis == "concurrency" {
		return "conc"
	}
	return line(axis)
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// comparable reports whether a row has more than one column filled.
func comparable(section summary.Section) bool {
	for _, row := range section.Rows {
		ran := 0
		for _, c := range row.Cells {
			if c.Runs > 0 {
				ran++
			}
		}
		if ran > 1 {
			return true
		}
	}
	return false
}

// column is one finished column of a table.
type column struct {
	metric, tier string
	cells        []string
}

func (c column) header() string { return c.metric + "\n" + c.tier }

func (c column) width() int {
	widest := columns(c.header())
	for _, text := range c.cells {
		widest = max(widest, columns(text))
	}
	return widest + 2 // a blank on each side
}

// section prints a table a metric group: as many metrics side by side as fit.
func (p *page) section(section summary.Section) error {
	title := strings.Join(slices.DeleteFunc([]string{section.Model, section.Workload}, func(s string) bool { return s == "" }), " — ")
	var lead []column
	names := 0 // of the leading columns, set flush left
	for _, axis := range section.RowAxes {
		c := column{metric: axisName(axis)}
		for _, row := range section.Rows {
			c.cells = append(c.cells, line(row.At[axis]))
		}
		if len(lead) == names && !slices.ContainsFunc(c.cells, isNumber) {
			names++
		}
		lead = append(lead, c)
	}
	used := 0
	for _, c := range lead {
		used += c.width()
	}
	groups := [][]column{p.requests(section)}
	for i, m := range p.s.Metrics {
		groups = append(groups, p.metric(section, i, m))
	}
	for i, table := range pack(groups, p.width-used) {
		if i > 0 {
			title = strings.TrimSpace(section.Model + " (continued)")
		}
		p.title(title)
		if err := p.table(append(append([]column{}, lead...), table...), names); err != nil {
			return err
		}
	}
	return nil
}

// pack puts whole metrics beside each other while they fit; a metric that is
// too wide alone is broken between tiers.
func pack(groups [][]column, width int) [][]column {
	var tables [][]column
	var current []column
	used := 0
	flush := func() {
		if len(current) > 0 {
			tables = append(tables, current)
		}
		current, used = nil, 0
	}
	for _, group := range groups {
		need := 0
		for _, c := range group {
			need += c.width()
		}
		if used+need > width {
			flush()
		}
		for _, c := range group {
			if used > 0 && used+c.width() > width {
				flush()
			}
			current = append(current, c)
			used += c.width()
		}
	}
	flush()
	return tables
}

func (p *page) table(cols []column, left int) error {
	g := Grid{Names: left}
	for _, c := range cols {
		g.Header = append(g.Header, strings.TrimSuffix(c.header(), "\n"))
	}
	for r := range cols[0].cells {
		row := make([]string, len(cols))
		for i, c := range cols {
			row[i] = c.cells[r]
		}
		g.Rows = append(g.Rows, row)
	}
	return g.Write(p.w, p.markdown)
}

// requests is completed/attempted of each tier, the failed ones marked.
func (p *page) requests(section summary.Section) []column {
	out := make([]column, len(section.Columns))
	for i, name := range p.tiers(section) {
		out[i] = column{metric: "ok/n", tier: name}
		for _, row := range section.Rows {
			out[i].cells = append(out[i].cells, p.counts(row.Cells[i]))
		}
	}
	return out
}

func (p *page) counts(c summary.Cell) string {
	if c.Runs == 0 {
		return "—"
	}
	text := fmt.Sprintf("%d/%d", c.Completed, c.Attempted)
	if c.Attempted == 0 {
		text = "?" // the file does not say
	}
	if c.Runs > 1 {
		p.marks.folded = true
		text += fmt.Sprintf(" ×%d", c.Runs)
	}
	if c.Pareto {
		p.marks.pareto = true
		text += " ◆"
	}
	if c.Failed > 0 {
		p.marks.failed = true
		text += " !"
	}
	if len(c.Flags) > 0 {
		text += " ‡"
		for _, f := range c.Flags {
			p.flags.add(f.Name+": "+f.Reason, f.Cell)
		}
	}
	return text
}

func (p *page) metric(section summary.Section, at int, m summary.Metric) []column {
	out := make([]column, len(section.Columns))
	names := p.tiers(section)
	for i, c := range section.Columns {
		out[i] = column{metric: m.Name, tier: names[i]}
		if m.Name == summary.CostMetric && c.Currency != "" {
			out[i].tier += " (" + line(c.Currency) + ")"
		}
		for _, row := range section.Rows {
			out[i].cells = append(out[i].cells, p.value(row.Cells[i].Values[at]))
		}
		out[i].trim()
	}
	return out
}

// trim takes the place of the mark away where no cell of the column has one.
func (c column) trim() {
	for _, text := range c.cells {
		if strings.HasSuffix(text, "*") {
			return
		}
	}
	for i, text := range c.cells {
		c.cells[i] = strings.TrimRight(text, " ")
	}
}

// longestTier is how wide a tier's name may be over a column of figures.
const longestTier = 22

// tiers are the names of a section's columns, shortened for a terminal while
// that leaves them apart.
func (p *page) tiers(section summary.Section) []string {
	names, short := make([]string, len(section.Columns)), make([]string, len(section.Columns))
	apart := map[string]bool{}
	for i, c := range section.Columns {
		names[i] = line(c.Name)
		short[i] = shorten(names[i], longestTier)
		apart[short[i]] = true
	}
	if p.markdown || len(apart) < len(names) {
		return names
	}
	return short
}

// percent has one digit after the point below ten.
func percent(v float64) string {
	if v < 9.95 {
		return fmt.Sprintf("%.1f%%", v)
	}
	return fmt.Sprintf("%.0f%%", v)
}

func (p *page) value(v summary.Value) string {
	if v.Value == nil {
		return "—"
	}
	text := metrics.Human(*v.Value)
	if v.Descriptive {
		p.marks.p99 = true
		text = "~" + text
	}
	if v.Low != nil && *v.High > *v.Low && *v.Value != 0 {
		p.marks.spread = true
		text += " ±" + percent((*v.High-*v.Low)/2/math.Abs(*v.Value)*100)
	}
	if v.DeltaPct != nil {
		p.marks.delta = true
		text += fmt.Sprintf(" %+.0f%%", *v.DeltaPct)
	}
	if v.Best {
		p.marks.best = true
		return text + " *"
	}
	return text + "  "
}
