package summary

import (
	"slices"

	"anvilsweep/sweep/artifact"
)

// Summary is what a set of documents says, ready to be shown.
type Summary struct {
	Metrics  []Metric  `json:"metrics"`
	Sections []Section `json:"sections"`
	Notes    []string  `json:"notes"`    // what a reader must know of the whole
	LeftOut  []LeftOut `json:"left_out"` // files that are no artifact, each with the reason
	Cells    Coverage  `json:"cells"`    // what the manifests planned against what there is
}

// LeftOut is a file that is not in the tables.
type LeftOut struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Coverage counts the cells of the manifests read, by state.
type Coverage struct {
	Planned int                    `json:"planned"`
	States  map[artifact.State]int `json:"states"`
	Gaps    []Gap                  `json:"gaps"` // cells that are not done
}

// Gap is a planned cell without a full result.
type Gap struct {
	Cell   string         `json:"cell"`
	State  artifact.State `json:"state"`
	Reason string         `json:"reason"`
}

// Section is one comparison: what is alike in model and workload, but for the
// axes that stand in its rows and columns.
type Section struct {
	Model      string   `json:"model"`
	Workload   string   `json:"workload"`
	RowAxes    []string `json:"row_axes"`
	ColumnAxes []string `json:"column_axes"`
	Columns    []Column `json:"columns"`
	Rows       []Row    `json:"rows"`
}

// At is a place on axes: the value on each, by the axis' name.
type At map[string]string

// Column is one value of each of the column axes; a tier, where nothing else
// was asked for.
type Column struct {
	At       At       `json:"at"`
	Name     string   `json:"name"`
	Price    *float64 `json:"price_per_hour"` // null where the column's runs differ in it
	Currency string   `json:"currency"`
}

// Row is one value of each of the row axes.
type Row struct {
	At    At     `json:"at"`
	Cells []Cell `json:"cells"` // one a column, in their order
}

// Cell is what was measured at one row and column. Runs is 0 where nothing was.
type Cell struct {
	Runs      int      `json:"runs"`
	Attempted int      `json:"attempted"`
	Completed int      `json:"completed"`
	Failed    int      `json:"failed"`
	Flags     []Flag   `json:"flags"`  // why the figures are not what they should be
	Values    []Value  `json:"values"` // one a metric, in their order
	Pareto    bool     `json:"pareto"` // no other cell of its context is better in both; see Frontier
	Files     []string `json:"files"`
}

// Flag is a flag of one of a cell's runs.
type Flag struct {
	Cell   string `json:"cell"`
	Name   string `json:"flag"`
	Reason string `json:"reason"`
}

// ranked reports whether the cell may be the best of its row: its requests
// succeeded and nothing says that the figures are not the server's.
func (c *Cell) ranked() bool { return c.Failed == 0 && len(c.Flags) == 0 }

// Value is one figure: the run's, or the median of the runs that have it.
type Value struct {
	Value       *float64 `json:"value"`
	Low         *float64 `json:"low"` // least and most of the runs, where there are several
	High        *float64 `json:"high"`
	Note        string   `json:"note"`        // why there is no value, or what it is worth
	Descriptive bool     `json:"descriptive"` // a p99 of fewer than 100 samples
	Best        bool     `json:"best"`
	DeltaPct    *float64 `json:"delta_pct"` // against the first column
}

// Options say what tables are made of.
type Options struct {
	Metrics       []string // names, or names of sets; the default ones where there are none
	Rows, Columns []string // axes; context and concurrency in rows, tiers in columns where there are none
}

// Build makes the tables of a set of documents. Metrics and axes that do not
// exist are an error. The result depends on the documents and their order only.
func Build(docs []*artifact.Document, o Options) (*Summary, error) {
	s := &Summary{Sections: []Section{}, Notes: []string{}, LeftOut: []LeftOut{}, Cells: Coverage{States: map[artifact.State]int{}, Gaps: []Gap{}}}
	runs := s.sort(docs)
	names := o.Metrics
	if len(names) == 0 {
		names = DefaultMetrics
		if slices.ContainsFunc(runs, priced) {
			names = append(slices.Clone(names), CostMetric)
		}
		if slices.ContainsFunc(runs, func(d *artifact.Document) bool { return d.Goodput != nil }) {
			names = append(slices.Clone(names), GoodputMetric, AttainedMetric)
		}
	}
	var err error
	if s.Metrics, err = LookUpAll(names); err != nil {
		return nil, err
	}
	layout, err := newLayout(o.Rows, o.Columns, runs)
	if err != nil {
		return nil, err
	}
	for _, group := range layout.gather(runs) {
		s.Sections = append(s.Sections, s.section(layout, group))
	}
	s.note(runs)
	return s, nil
}

// sort parts artifacts from manifests and the rest. Artifacts that a manifest
// names come in the manifest's order, which is the recipe's; an attempt that a
// later one replaced, and a cell that the recipe has no more, are left out, and
// said so.
func (s *Summary) sort(docs []*artifact.Document) []*artifact.Document {
	rank := map[string]int{}
	for _, d := range docs {
		if d.Kind == artifact.KindManifest {
			s.read(d, rank)
		}
	}
	runs, left := artifact.Runs(docs)
	for _, l := range left {
		s.LeftOut = append(s.LeftOut, LeftOut(l))
	}
	slices.SortStableFunc(runs, func(a, b *artifact.Document) int {
		ra, oka := rank[a.Path]
		rb, okb := rank[b.Path]
		if !oka || !okb {
			return 0
		}
		return ra - rb
	})
	return runs
}

func (s *Summary) read(d *artifact.Document, rank map[string]int) {
	for _, cell := range d.Manifest.Cells {
		for _, f := range cell.Artifacts {
			rank[d.Beside(f.Path)] = len(rank)
		}
		if cell.Stale {
			continue
		}
		s.Cells.Planned++
		s.Cells.States[cell.State]++
		if cell.State != artifact.StateDone {
			s.Cells.Gaps = append(s.Cells.Gaps, Gap{Cell: cell.ID, State: cell.State, Reason: cell.Reason})
		}
	}
}
