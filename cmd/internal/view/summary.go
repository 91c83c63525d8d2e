package view

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/summary"
)

// SummaryJSON writes the whole summary as one document, with exact figures.
func SummaryJSON(w io.Writer, s *summary.Summary) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Schema string `json:"schema"`
		*summary.Summary
	}{"anvilsweep.summary/v1", s})
}

// SummaryCSV writes a line a cell that was run, with exact figures; an empty
// field is a figure that is not there, its note says why.
func SummaryCSV(w io.Writer, s *summary.Summary) error {
	out := csv.NewWriter(w)
	header := []string{"model", "workload", "tier", "tier_from", "context_tokens", "concurrency", "runs", "attempted", "completed", "failed"}
	for _, m := range s.Metrics {
		header = append(header, m.Name, m.Name+"_delta_pct", m.Name+"_best", m.Name+"_note")
	}
	lines := [][]string{header}
	for _, section := range s.Sections {
		for _, row := range section.Rows {
			for i, c := range row.Cells {
				if c.Runs == 0 {
					continue
				}
				line := []string{
					section.Model, section.Workload, section.Columns[i].Name, section.Columns[i].From, contextText(row.Context),
					strconv.Itoa(row.Concurrency), strconv.Itoa(c.Runs), strconv.Itoa(c.Attempted), strconv.Itoa(c.Completed), strconv.Itoa(c.Failed),
				}
				for _, v := range c.Values {
					line = append(line, exact(v.Value), exact(v.DeltaPct), strconv.FormatBool(v.Best), noteOf(v))
				}
				lines = append(lines, line)
			}
		}
	}
	return out.WriteAll(lines)
}

func exact(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

func noteOf(v summary.Value) string {
	if !v.Descriptive {
		return v.Note
	}
	return strings.TrimPrefix(v.Note+"; descriptive: fewer than 100 samples", "; ")
}

func contextText(tokens *int) string {
	if tokens == nil {
		return "sampled"
	}
	return strconv.Itoa(*tokens)
}

// Summary prints the tables for a terminal of the given width, or as Markdown.
//
// A model and workload that several tiers have run gets a table, a column a
// tier under each metric; where nothing stands beside anything, cells are lines
// of one list at the end.
func Summary(w io.Writer, s *summary.Summary, width int, markdown bool) error {
	p := &page{w: w, width: width, markdown: markdown, s: s}
	var single []summary.Section
	for _, section := range s.Sections {
		if !comparable(section) && len(s.Sections) > 1 {
			single = append(single, section)
			continue
		}
		if err := p.section(section); err != nil {
			return err
		}
	}
	if err := p.list(single); err != nil {
		return err
	}
	return p.notes()
}

// comparable reports whether a row has more than one tier in it.
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

// page prints one summary.
type page struct {
	w        io.Writer
	width    int
	markdown bool
	s        *summary.Summary
	tables   int
	marks    struct{ best, delta, p99, failed, folded bool }
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

func (p *page) title(text string) {
	if p.tables > 0 {
		fmt.Fprintln(p.w)
	}
	p.tables++
	if p.markdown {
		fmt.Fprintf(p.w, "### %s\n\n", strings.ReplaceAll(line(text), "<", "&lt;"))
		return
	}
	fmt.Fprintln(p.w, line(text))
}

// section prints a table a metric group: as many metrics side by side as fit.
func (p *page) section(section summary.Section) error {
	title := section.Model
	if section.Workload != "" {
		title += " — " + section.Workload
	}
	lead := []column{{metric: "context"}, {metric: "conc"}}
	for _, row := range section.Rows {
		lead[0].cells = append(lead[0].cells, contextText(row.Context))
		lead[1].cells = append(lead[1].cells, strconv.Itoa(row.Concurrency))
	}
	groups := [][]column{p.requests(section)}
	for i, m := range p.s.Metrics {
		groups = append(groups, p.metric(section, i, m))
	}
	for i, table := range pack(groups, p.width-lead[0].width()-lead[1].width()) {
		if i > 0 {
			title = section.Model + " (continued)"
		}
		p.title(title)
		if err := p.table(append(append([]column{}, lead...), table...), 0); err != nil {
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
	g := grid{left: left}
	for _, c := range cols {
		g.header = append(g.header, strings.TrimSuffix(c.header(), "\n"))
	}
	for r := range cols[0].cells {
		row := make([]string, len(cols))
		for i, c := range cols {
			row[i] = c.cells[r]
		}
		g.rows = append(g.rows, row)
	}
	return g.write(p.w, p.markdown)
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
	if c.Failed > 0 {
		p.marks.failed = true
		text += " !"
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

func (p *page) value(v summary.Value) string {
	if v.Value == nil {
		return "—"
	}
	text := human(*v.Value)
	if v.Descriptive {
		p.marks.p99 = true
		text = "~" + text
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
					contextText(row.Context), strconv.Itoa(row.Concurrency), p.counts(c)} {
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

func (p *page) say(text string) {
	if p.markdown {
		text = "- " + cell(text, true)
	}
	fmt.Fprintln(p.w, text)
}

func (p *page) notes() error {
	if p.tables == 0 {
		fmt.Fprintln(p.w, "No artifact to show.")
	}
	var legend []string
	if p.marks.best {
		star := "*"
		if p.markdown {
			star = "`*`" // or it would begin a list
		}
		legend = append(legend, star+" best of the row")
	}
	if p.marks.delta {
		legend = append(legend, "% difference to the first tier")
	}
	if p.marks.p99 {
		legend = append(legend, "~ p99 of fewer than 100 samples, descriptive only")
	}
	if p.marks.folded {
		legend = append(legend, "×k: k runs, their median")
	}
	if p.marks.failed {
		legend = append(legend, "! requests failed")
	}
	fmt.Fprintln(p.w)
	if len(legend) > 0 {
		p.say(strings.Join(legend, "; ") + ".")
	}
	for _, note := range p.s.Notes {
		p.say(line(note))
	}
	p.gaps()
	for _, f := range p.s.LeftOut {
		p.say(line(fmt.Sprintf("Left out: %s: %s", f.Path, f.Why)))
	}
	return nil
}

func (p *page) gaps() {
	c := p.s.Cells
	if c.Planned == 0 || c.States[artifact.StateDone] == c.Planned {
		return
	}
	p.say(fmt.Sprintf("%d of %d planned cells are done; the others:", c.States[artifact.StateDone], c.Planned))
	// Cells that share a reason share a line.
	const named = 3
	type why struct {
		state  artifact.State
		reason string
	}
	var order []why
	cells := map[why][]string{}
	for _, g := range c.Gaps {
		w := why{g.State, g.Reason}
		if cells[w] == nil {
			order = append(order, w)
		}
		cells[w] = append(cells[w], g.Cell)
	}
	for _, w := range order {
		text := fmt.Sprintf("  %d %s: %s: ", len(cells[w]), w.state, w.reason)
		if n := len(cells[w]); n > named {
			text += fmt.Sprintf("%s and %d more", strings.Join(cells[w][:named], ", "), n-named)
		} else {
			text += strings.Join(cells[w], ", ")
		}
		p.say(line(text))
	}
}
