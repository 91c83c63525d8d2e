package report

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/metrics"
	"anvilsweep/sweep/summary"
)

// table is a table that readers sort and filter.
type table struct {
	ID, Caption string
	Groups      []heading // over the headings, where there are some
	Head        []heading
	Rows        [][]cell
	Filter      bool
}

// Class is that of a column's heading, by what stands under it.
func (t *table) Class(column int) string {
	for _, row := range t.Rows {
		if strings.HasPrefix(row[column].Class, "n") {
			return "n"
		}
	}
	return ""
}

type heading struct {
	Text string
	Span int
}

// cell is one cell of a table.
type cell struct {
	Text  string
	Sort  string // what to sort by, where it is not the text
	Class string
	Title string // said on top of the text
	Href  string
	Head  bool // the row's heading
}

func text(s string) cell   { return cell{Text: s} }
func number(s string) cell { return cell{Text: s, Class: "n"} }

// sections makes a table and charts of each model and workload that has more
// than one cell side by side or on a ladder; the rest is one list.
func (b *builder) sections(docs []*artifact.Document) ([]section, *table, error) {
	figures, err := b.pictures(docs)
	if err != nil {
		return nil, nil, err
	}
	var out []section
	var single []summary.Section
	for i, s := range b.s.Sections {
		if len(s.Columns) < 2 && len(s.Rows) < 2 && len(b.s.Sections) > 1 {
			single = append(single, s)
			continue
		}
		id := fmt.Sprintf("section-%d", i+1)
		sec := section{ID: id, Title: s.Model, Workload: s.Workload, Table: b.tiers(id+"-table", s), Groups: figures[i]}
		for c, column := range s.Columns {
			sec.Legend = append(sec.Legend, legend{swatch(c, false), column.Name})
		}
		out = append(out, sec)
	}
	return out, b.list(single), nil
}

// tiers is a section's table: a row a place, the columns side by side under
// each metric.
func (b *builder) tiers(id string, s summary.Section) *table {
	t := &table{ID: id, Caption: strings.TrimSuffix(s.Model+", "+s.Workload, ", "), Filter: len(s.Rows) > 8}
	t.Groups = append(t.Groups, heading{Span: len(s.RowAxes)})
	for _, axis := range s.RowAxes {
		t.Head = append(t.Head, heading{Text: axis})
	}
	over := func(name string) {
		t.Groups = append(t.Groups, heading{Text: name, Span: len(s.Columns)})
		for _, c := range s.Columns {
			t.Head = append(t.Head, heading{Text: c.Name})
		}
	}
	over("ok/n")
	for _, m := range b.s.Metrics {
		over(m.Name + currency(s, m))
	}
	for _, r := range s.Rows {
		var row []cell
		for i, axis := range s.RowAxes {
			c := number(r.At[axis])
			c.Head = i == 0
			row = append(row, c)
		}
		for _, c := range r.Cells {
			row = append(row, b.counts(c))
		}
		for m := range b.s.Metrics {
			for _, c := range r.Cells {
				row = append(row, value(c.Values[m]))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func currency(s summary.Section, m summary.Metric) string {
	var all names
	for _, c := range s.Columns {
		all.add(c.Currency)
	}
	if !strings.HasPrefix(m.Name, "cost_") || len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
}

// list is the cells that have nothing beside them.
func (b *builder) list(sections []summary.Section) *table {
	if len(sections) == 0 {
		return nil
	}
	t := &table{ID: "singles", Caption: "Cells with nothing beside them", Filter: len(sections) > 8}
	for _, name := range []string{"model", "tier", "workload", "context", "concurrency", "ok/n"} {
		t.Head = append(t.Head, heading{Text: name})
	}
	for _, m := range b.s.Metrics {
		t.Head = append(t.Head, heading{Text: m.Name})
	}
	for _, s := range sections {
		for _, r := range s.Rows {
			for i, c := range r.Cells {
				model := text(s.Model)
				model.Head = true
				row := []cell{model, text(s.Columns[i].Name), text(s.Workload), number(r.At["context"]), number(r.At["concurrency"]), b.counts(c)}
				for _, v := range c.Values {
					v.DeltaPct = nil
					row = append(row, value(v))
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return t
}

// counts is completed of attempted, with the cell's marks and a way to its
// details.
func (b *builder) counts(c summary.Cell) cell {
	if c.Runs == 0 {
		return cell{Text: "—", Class: "n none", Title: "not run"}
	}
	out := cell{Text: fmt.Sprintf("%d/%d", c.Completed, c.Attempted), Sort: strconv.Itoa(c.Attempted), Class: "n", Href: "#" + b.ids[c.Files[0]]}
	if c.Attempted == 0 {
		out.Text, out.Title = "?", "the file does not say"
	}
	if c.Runs > 1 {
		out.Text += fmt.Sprintf(" ×%d", c.Runs)
	}
	if c.Pareto {
		out.Text, out.Title = out.Text+" ◆", "on the Pareto frontier of its context"
	}
	if c.Failed > 0 {
		out.Text, out.Class, out.Title = out.Text+" !", "n bad", fmt.Sprintf("%d requests failed", c.Failed)
	}
	if len(c.Flags) > 0 {
		var why names
		for _, f := range c.Flags {
			why.add(f.Name + ": " + f.Reason)
		}
		out.Text, out.Class, out.Title = out.Text+" ‡", "n bad", why.list()
	}
	return out
}

func value(v summary.Value) cell {
	if v.Value == nil {
		return cell{Text: "—", Class: "n none", Title: v.Note}
	}
	out := cell{Text: metrics.Human(*v.Value), Sort: strconv.FormatFloat(*v.Value, 'g', -1, 64), Class: "n", Title: v.Note}
	if v.Descriptive {
		out.Text = "~" + out.Text
	}
	if v.Low != nil && *v.High > *v.Low && *v.Value != 0 {
		out.Text += fmt.Sprintf(" ±%.1f%%", (*v.High-*v.Low)/2/math.Abs(*v.Value)*100)
	}
	if v.DeltaPct != nil {
		out.Text += fmt.Sprintf(" %+.0f%%", *v.DeltaPct)
	}
	if v.Best {
		out.Text, out.Class = out.Text+" ★", "n best"
	}
	return out
}

// failures gathers the requests that failed by what went wrong.
func (b *builder) failures() *table {
	type key struct{ class, kind, message string }
	type sum struct {
		requests int
		cells    names
	}
	sums := map[key]*sum{}
	var order []key
	for _, d := range b.runs {
		for _, f := range d.FailureList() {
			k := key{word(f["failure_class"]), word(f["error_type"]), word(f["error_message"])}
			if sums[k] == nil {
				sums[k] = &sum{}
				order = append(order, k)
			}
			sums[k].requests++
			sums[k].cells.add(nameOf(d))
		}
	}
	if len(order) == 0 {
		return nil
	}
	slices.SortStableFunc(order, func(x, y key) int { return sums[y].requests - sums[x].requests })
	t := &table{ID: "failures", Caption: "Requests that failed, by what went wrong", Filter: len(order) > 8}
	for _, name := range []string{"requests", "class", "error", "message", "cells"} {
		t.Head = append(t.Head, heading{Text: name})
	}
	for _, k := range order {
		t.Rows = append(t.Rows, []cell{number(strconv.Itoa(sums[k].requests)), text(k.class), text(k.kind), {Text: k.message, Class: "long"}, {Text: sums[k].cells.list(), Class: "long"}})
	}
	return t
}

func word(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return ""
}

func (b *builder) gaps() *table {
	if len(b.s.Cells.Gaps) == 0 {
		return nil
	}
	t := &table{ID: "gaps", Caption: "Planned cells without a full result", Head: []heading{{Text: "cell"}, {Text: "state"}, {Text: "reason"}}, Filter: len(b.s.Cells.Gaps) > 8}
	for _, g := range b.s.Cells.Gaps {
		t.Rows = append(t.Rows, []cell{{Text: g.Cell, Head: true}, text(string(g.State)), {Text: g.Reason, Class: "long"}})
	}
	return t
}

func (b *builder) leftOut() *table {
	if len(b.s.LeftOut) == 0 {
		return nil
	}
	t := &table{ID: "left-out", Caption: "Files that are not in the tables", Head: []heading{{Text: "file"}, {Text: "why"}}, Filter: len(b.s.LeftOut) > 8}
	for _, l := range b.s.LeftOut {
		t.Rows = append(t.Rows, []cell{{Text: path.Base(l.Path), Head: true}, {Text: l.Why, Class: "long"}})
	}
	return t
}

// nameOf is a run for people.
func nameOf(d *artifact.Document) string {
	if d.Sweep != nil && d.Sweep.CellID != "" {
		if d.Sweep.Repeat > 1 && !strings.HasSuffix(d.Sweep.CellID, fmt.Sprint(d.Sweep.Repeat)) {
			return fmt.Sprintf("%s (repeat %d)", d.Sweep.CellID, d.Sweep.Repeat)
		}
		return d.Sweep.CellID
	}
	return strings.TrimSuffix(path.Base(d.Path), ".json")
}
