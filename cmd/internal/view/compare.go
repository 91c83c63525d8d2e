package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"anvilsweep/sweep/compare"
	"anvilsweep/sweep/metrics"
)

// Comparison prints a row a cell and metric: what differs first, then what may
// not be compared and why, with the totals.
func Comparison(w io.Writer, r *compare.Result, width int, markdown bool) error {
	var sides []string
	for _, s := range r.Against {
		sides = append(sides, fmt.Sprintf("%s (%s)", line(s.Name), plural(s.Files, "file")))
	}
	fmt.Fprintf(w, "%s against %s (%s)\n", strings.Join(sides, ", "), line(r.Control.Name), plural(r.Control.Files, "file"))
	if markdown {
		fmt.Fprintln(w)
	}
	several := len(r.Against) > 1
	g := Grid{Header: []string{"cell", "metric", "verdict", "control", "candidate", "difference", "interval", "p", "q", "n"}, Names: 3}
	if several {
		g.Header = slices.Insert(g.Header, 1, "against")
		g.Names++
	}
	varying := varies(r)
	tests := map[string]bool{}
	for _, c := range r.Cells {
		if len(c.Reasons) > 0 {
			continue
		}
		for _, f := range c.Figures {
			if f.P != nil {
				tests[f.Test] = true
			}
			row := []string{short(c.Place, varying), f.Metric, mark(f.Verdict), figure(f.Control), figure(f.Candidate), "—", "—", "—", "—", fmt.Sprintf("%d, %d", f.NControl, f.N)}
			if f.DeltaPct != nil {
				row[5] = fmt.Sprintf("%+.1f%%", *f.DeltaPct)
			}
			if f.LowPct != nil {
				row[6] = fmt.Sprintf("%+.1f%% to %+.1f%%", *f.LowPct, *f.HighPct)
			}
			if f.P != nil {
				row[7] = probability(*f.P)
			}
			if f.Q != nil {
				row[8] = probability(*f.Q)
			}
			if several {
				row = slices.Insert(row, 1, c.Against)
			}
			g.Rows = append(g.Rows, row)
		}
	}
	if len(g.Rows) > 0 {
		if !markdown {
			g.fit(width)
		}
		if err := g.Write(w, markdown); err != nil {
			return err
		}
	}
	notComparable(w, r, varying)
	totals(w, r, tests)
	return nil
}

// mark tells good from bad without colour.
func mark(v compare.Verdict) string {
	switch v {
	case compare.Better:
		return "+ better"
	case compare.Worse:
		return "! worse"
	}
	return string(v)
}

func probability(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

func figure(v *float64) string {
	if v == nil {
		return "—"
	}
	return metrics.Human(*v)
}

// varies names the axes that tell the comparison's cells apart.
func varies(r *compare.Result) map[string]bool {
	places := make([]string, len(r.Cells))
	for i, c := range r.Cells {
		places[i] = c.Place
	}
	return compare.Varying(places)
}

func short(place string, varying map[string]bool) string { return line(compare.Short(place, varying)) }

// notComparable lists cells by what keeps them out.
func notComparable(w io.Writer, r *compare.Result, varying map[string]bool) {
	var order []string
	cells := map[string][]string{}
	for _, c := range r.Cells {
		if len(c.Reasons) == 0 {
			continue
		}
		why := strings.Join(c.Reasons, "; ")
		if cells[why] == nil {
			order = append(order, why)
		}
		cells[why] = append(cells[why], short(c.Place, varying))
	}
	for _, why := range order {
		const shown = 6
		list := cells[why]
		if len(list) > shown {
			list = append(slices.Clone(list[:shown]), fmt.Sprintf("and %d more", len(list)-shown))
		}
		fmt.Fprintf(w, "\nNot comparable: %s\n  %s\n", line(why), strings.Join(list, "\n  "))
	}
}

func totals(w io.Writer, r *compare.Result, tests map[string]bool) {
	counts := []string{}
	for _, v := range []compare.Verdict{compare.Worse, compare.Better, compare.Changed, compare.Same, compare.TooFew, compare.NotComparable} {
		if n := r.Count(v); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, v))
		}
	}
	fmt.Fprintf(w, "\n%s.\n", strings.Join(counts, ", "))
	var names []string
	for name := range tests {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) > 0 {
		fmt.Fprintf(w, "%s, level %g; differences under %g%% are none; nor are those with q, the share of what is told that may be chance, over %g.\n",
			strings.Join(names, "; "), r.Alpha, r.Threshold, compare.FalseDiscovery)
	}
	if len(r.Pareto) > 0 {
		fmt.Fprintln(w, "\nOn the Pareto frontier of throughput (a GPU's, where known) and decode_tok_s_p50, of the cells that did the same work:")
		for _, place := range r.Pareto {
			fmt.Fprintf(w, "- %s\n", line(place))
		}
	}
	if n := len(r.LeftOut); n > 0 {
		fmt.Fprintf(w, "%s left out: files that are no run, or that a later attempt or an aggregate replaced.\n", plural(n, "file"))
	}
}

// ComparisonJSON prints the comparison as one document.
func ComparisonJSON(w io.Writer, r *compare.Result) error { return writeJSON(w, r) }
