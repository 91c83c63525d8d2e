package view

import (
	"cmp"
	"encoding/csv"
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
	return writeJSON(w, struct {
		Schema string `json:"schema"`
		*summary.Summary
	}{"anvilsweep.summary/v1", s})
}

// SummaryCSV writes a line a cell that was run, with exact figures; an empty
// field is a figure that is not there, its note says why.
func SummaryCSV(w io.Writer, s *summary.Summary) error {
	out := csv.NewWriter(w)
	axes := placedAxes(s.Sections)
	header := slices.Concat([]string{"model", "workload"}, axes, []string{"runs", "attempted", "completed", "failed", "flags", "pareto"})
	for _, m := range s.Metrics {
		header = append(header, m.Name, m.Name+"_low", m.Name+"_high", m.Name+"_delta_pct", m.Name+"_best", m.Name+"_note")
	}
	lines := [][]string{header}
	for _, section := range s.Sections {
		for _, row := range section.Rows {
			for i, c := range row.Cells {
				if c.Runs == 0 {
					continue
				}
				line := []string{cmp.Or(section.Model, section.Columns[i].At["model"], row.At["model"]), section.Workload}
				for _, axis := range axes {
					line = append(line, cmp.Or(section.Columns[i].At[axis], row.At[axis]))
				}
				line = append(line, strconv.Itoa(c.Runs), strconv.Itoa(c.Attempted), strconv.Itoa(c.Completed), strconv.Itoa(c.Failed), flagNames(c), strconv.FormatBool(c.Pareto))
				for _, v := range c.Values {
					line = append(line, exact(v.Value), exact(v.Low), exact(v.High), exact(v.DeltaPct), strconv.FormatBool(v.Best), noteOf(v))
				}
				lines = append(lines, line)
			}
		}
	}
	return out.WriteAll(lines)
}

// placedAxes are the axes of all sections but the model, columns' first.
func placedAxes(sections []summary.Section) []string {
	var out []string
	add := func(axes []string) {
		for _, axis := range axes {
			if axis != "model" && !slices.Contains(out, axis) {
				out = append(out, axis)
			}
		}
	}
	for _, section := range sections {
		add(section.ColumnAxes)
	}
	for _, section := range sections {
		add(section.RowAxes)
	}
	return out
}

// flagNames are a cell's flags, each once, joined by "+".
func flagNames(c summary.Cell) string {
	var names []string
	for _, f := range c.Flags {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, "+")
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

// page prints one summary.
type page struct {
	w        io.Writer
	width    int
	markdown bool
	s        *summary.Summary
	tables   int
	flags    grouped // of cells, by their reason
	marks    struct{ best, delta, p99, failed, folded, spread, pareto bool }
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
		legend = append(legend, "+% difference to the first column")
	}
	if p.marks.p99 {
		legend = append(legend, "~ p99 of fewer than 100 samples, descriptive only")
	}
	if p.marks.folded {
		legend = append(legend, "×k: k runs, their median")
	}
	if p.marks.spread {
		legend = append(legend, "±%: half of the runs' range")
	}
	if p.marks.pareto {
		legend = append(legend, "◆ Pareto: no other cell of its context gives both more throughput (a GPU) and more "+summary.PerUserMetric)
	}
	if p.marks.failed {
		legend = append(legend, "! requests failed")
	}
	if len(p.flags.order) > 0 {
		legend = append(legend, "‡ flagged, not ranked")
	}
	fmt.Fprintln(p.w)
	if len(legend) > 0 {
		p.say(strings.Join(legend, "; ") + ".")
	}
	for _, note := range p.s.Notes {
		p.say(line(note))
	}
	for _, why := range p.flags.order {
		p.say(line("‡ " + why + ": " + p.flags.names(why)))
	}
	p.gaps()
	left := grouped{}
	for _, f := range p.s.LeftOut {
		left.add(f.Why, f.Path)
	}
	for _, why := range left.order {
		p.say(line("Left out, " + why + ": " + left.names(why)))
	}
	return nil
}

// grouped gathers names that share a reason, reasons in order of appearance.
type grouped struct {
	order []string
	by    map[string][]string
}

func (g *grouped) add(why, name string) {
	if g.by == nil {
		g.by = map[string][]string{}
	}
	if g.by[why] == nil {
		g.order = append(g.order, why)
	}
	g.by[why] = append(g.by[why], name)
}

// names lists the first few of those that share a reason.
func (g *grouped) names(why string) string {
	const shown = 3
	all := g.by[why]
	if len(all) <= shown {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:shown], ", "), len(all)-shown)
}

func (p *page) gaps() {
	c := p.s.Cells
	if c.Planned == 0 || c.States[artifact.StateDone] == c.Planned {
		return
	}
	p.say(fmt.Sprintf("%d of %d planned cells are done; the others:", c.States[artifact.StateDone], c.Planned))
	gaps := grouped{}
	for _, g := range c.Gaps {
		gaps.add(string(g.State)+": "+g.Reason, g.Cell)
	}
	for _, why := range gaps.order {
		p.say(line(fmt.Sprintf("  %d %s: %s", len(gaps.by[why]), why, gaps.names(why))))
	}
}
