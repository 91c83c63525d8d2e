package summary

import (
	"slices"
	"strings"

	"anvilsweep/sweep/artifact"
)

// workloads are the axes that say what was asked for; the others are choices
// between which a frontier decides.
var workloads = []string{"model", "context", "output", "cache"}

// PerUserMetric is the speed that one user sees: the median request's output
// tokens a second after its first one.
const PerUserMetric = "decode_tok_s_p50"

// frontier marks, of the cells that did the same work, those on the Pareto
// frontier of throughput (a GPU's, where every cell says how many it had) and
// PerUserMetric: no other cell is as good in both and better in one. Where all
// of them are on it, that tells nothing and none is marked.
func frontier(s *Section, docs func(row, column int) []*artifact.Document) {
	type point struct {
		cell      *Cell
		docs      []*artifact.Document
		all, user float64
	}
	groups := map[string][]*point{}
	var order []string
	for r, row := range s.Rows {
		for c := range row.Cells {
			cell := &row.Cells[c]
			if cell.Runs == 0 || !cell.ranked() {
				continue
			}
			p := &point{cell: cell, docs: docs(r, c)}
			user, throughput := foldMetric(p.docs, PerUserMetric).Value, foldMetric(p.docs, "throughput_tok_s").Value
			if user == nil || throughput == nil {
				continue
			}
			p.user, p.all = *user, *throughput
			var key []string
			for _, axis := range workloads {
				key = append(key, row.At[axis], s.Columns[c].At[axis])
			}
			k := strings.Join(key, "\x00")
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], p)
		}
	}
	for _, k := range order {
		points := groups[k]
		perGPU := make([]float64, 0, len(points))
		for _, p := range points {
			if v := foldMetric(p.docs, PerGPUMetric).Value; v != nil {
				perGPU = append(perGPU, *v)
			}
		}
		for i, p := range points {
			if len(perGPU) == len(points) {
				p.all = perGPU[i]
			}
		}
		dominated := func(p *point) bool {
			return slices.ContainsFunc(points, func(q *point) bool {
				return q.all >= p.all && q.user >= p.user && (q.all > p.all || q.user > p.user)
			})
		}
		if !slices.ContainsFunc(points, dominated) {
			continue
		}
		for _, p := range points {
			p.cell.Pareto = !dominated(p)
		}
	}
}

// Frontier names the cells on the Pareto frontier of each kind of work, by their
// places on the axes; a model only where there are several.
func (s *Summary) Frontier() []string {
	out := []string{}
	models := map[string]bool{}
	for _, section := range s.Sections {
		models[section.Model] = true
	}
	for _, section := range s.Sections {
		for _, row := range section.Rows {
			for c, cell := range row.Cells {
				if !cell.Pareto {
					continue
				}
				var parts []string
				if len(models) > 1 {
					parts = append(parts, "model="+section.Model)
				}
				for _, axis := range section.ColumnAxes {
					parts = append(parts, axis+"="+section.Columns[c].At[axis])
				}
				for _, axis := range section.RowAxes {
					parts = append(parts, axis+"="+row.At[axis])
				}
				out = append(out, strings.Join(parts, " "))
			}
		}
	}
	return out
}
