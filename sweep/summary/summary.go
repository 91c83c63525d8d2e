package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/metrics"
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

// Section is one comparison: the same model under the same workload.
type Section struct {
	Model    string   `json:"model"`
	Workload string   `json:"workload"`
	Axes     []string `json:"axes"` // of the recipe's own, those that rows differ in
	Columns  []Column `json:"columns"`
	Rows     []Row    `json:"rows"`
}

// Column is one tier.
type Column struct {
	Name     string   `json:"name"`
	From     string   `json:"from"` // "tier", "gpu", "engine" or "nothing"
	Price    *float64 `json:"price_per_hour"`
	Currency string   `json:"currency"`

	id columnID
}

// Row is one context and concurrency, and one value of each of the recipe's own
// axes that no column tells apart.
type Row struct {
	Axes        map[string]string `json:"axes"`
	Context     *int              `json:"context_tokens"` // null: sampled
	Concurrency int               `json:"concurrency"`
	Cells       []Cell            `json:"cells"` // one a column, in their order
}

// Cell is what one tier did at one row. Runs is 0 where it did nothing.
type Cell struct {
	Runs      int      `json:"runs"`
	Attempted int      `json:"attempted"`
	Completed int      `json:"completed"`
	Failed    int      `json:"failed"`
	Flags     []Flag   `json:"flags"`  // why the figures are not what they should be
	Values    []Value  `json:"values"` // one a metric, in their order
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
	Note        string   `json:"note"`        // why there is no value, or what it is worth
	Descriptive bool     `json:"descriptive"` // a p99 of fewer than 100 samples
	Best        bool     `json:"best"`
	DeltaPct    *float64 `json:"delta_pct"` // against the first column
}

// columnID is what makes two documents share a column.
type columnID struct{ name, from, engine, fingerprint string }

// Build makes the tables of a set of documents. Metric names that do not exist
// are an error. The result depends on the documents and their order only.
func Build(docs []*artifact.Document, names []string) (*Summary, error) {
	s := &Summary{Sections: []Section{}, Notes: []string{}, LeftOut: []LeftOut{}, Cells: Coverage{States: map[artifact.State]int{}, Gaps: []Gap{}}}
	runs := s.sort(docs)
	if len(names) == 0 {
		names = DefaultMetrics
		if slices.ContainsFunc(runs, priced) {
			names = append(slices.Clone(names), CostMetric)
		}
		if slices.ContainsFunc(runs, func(d *artifact.Document) bool { return d.Goodput != nil }) {
			names = append(slices.Clone(names), GoodputMetric, AttainedMetric)
		}
	}
	for _, name := range names {
		m, err := LookUp(name)
		if err != nil {
			return nil, err
		}
		s.Metrics = append(s.Metrics, m)
	}
	for _, group := range gather(runs) {
		s.Sections = append(s.Sections, s.section(group))
	}
	s.note()
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

// group is the documents of one section.
type group struct {
	model, workload string
	docs            []*artifact.Document
}

// gather parts runs by model and workload, in order of first appearance.
func gather(runs []*artifact.Document) []*group {
	var groups []*group
	index := map[[2]string]*group{}
	for _, d := range runs {
		key := [2]string{d.Model, workload(d)}
		g := index[key]
		if g == nil {
			g = &group{model: key[0], workload: key[1]}
			index[key] = g
			groups = append(groups, g)
		}
		g.docs = append(g.docs, d)
	}
	return groups
}

func (s *Summary) section(g *group) Section {
	out := Section{Model: g.model, Workload: g.workload, Columns: columnsOf(g.docs)}
	at := map[columnID]int{}
	for i, c := range out.Columns {
		at[c.id] = i
	}
	out.Axes = rowAxes(g.docs)
	type place struct {
		axes                 string
		context, concurrency int
	}
	axes := map[string]map[string]string{}
	cells := map[place][][]*artifact.Document{}
	var places []place
	for _, d := range g.docs {
		of := ownAxes(d, out.Axes)
		p := place{axes: fmt.Sprint(of), concurrency: d.Concurrency}
		axes[p.axes] = of
		if d.ContextTokens != nil {
			p.context = *d.ContextTokens
		}
		if cells[p] == nil {
			cells[p] = make([][]*artifact.Document, len(out.Columns))
			places = append(places, p)
		}
		i := at[identify(d)]
		cells[p][i] = append(cells[p][i], d)
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.context, b.context), cmp.Compare(a.concurrency, b.concurrency))
	})
	for _, p := range places {
		row := Row{Concurrency: p.concurrency, Axes: axes[p.axes]}
		if p.context > 0 {
			row.Context = &p.context
		}
		for i, docs := range cells[p] {
			row.Cells = append(row.Cells, s.fold(docs, out.Columns[i]))
		}
		s.compare(row.Cells)
		out.Rows = append(out.Rows, row)
	}
	return out
}

// fold makes one cell of the runs of one tier at one row.
func (s *Summary) fold(docs []*artifact.Document, c Column) Cell {
	cell := Cell{Runs: len(docs), Flags: []Flag{}, Values: make([]Value, len(s.Metrics)), Files: []string{}}
	for _, d := range docs {
		cell.Attempted += d.Requests
		cell.Completed += d.Completed
		cell.Failed += d.Failed
		cell.Files = append(cell.Files, d.Path)
		if d.Sweep != nil {
			for _, f := range d.Sweep.Flags {
				cell.Flags = append(cell.Flags, Flag{d.Sweep.CellID, f.Name, f.Reason})
			}
		}
	}
	for i, m := range s.Metrics {
		cell.Values[i] = foldMetric(docs, m.Name, c)
	}
	return cell
}

func foldMetric(docs []*artifact.Document, name string, c Column) Value {
	var out Value
	var values []float64
	var notes []string
	for _, d := range docs {
		v, note := figure(d, name, c)
		if v != nil {
			values = append(values, *v)
			out.Descriptive = out.Descriptive || strings.Contains(name, "_p99") && d.Descriptive(name)
		}
		if note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	if len(values) > 0 {
		median := metrics.Median(values)
		out.Value = &median
		if len(docs) > 1 {
			notes = append(notes, fmt.Sprintf("median of %d runs", len(values)))
		}
	}
	out.Note = strings.Join(notes, "; ")
	return out
}

// figure is one document's value of a metric, with the reason where it has
// none.
func figure(d *artifact.Document, name string, c Column) (*float64, string) {
	switch name {
	case CostMetric:
		if c.Price == nil {
			return nil, "no price for this tier"
		}
		throughput, note := d.Metric("throughput_tok_s")
		if throughput == nil || *throughput <= 0 {
			return nil, cmp.Or(note, "no throughput")
		}
		cost := *c.Price / 3600 / *throughput * 1e6
		return &cost, ""
	case RequestRateMetric:
		if d.WallMS == nil || *d.WallMS <= 0 {
			return nil, "no wall time in the artifact"
		}
		rate := float64(d.Completed) / (*d.WallMS / 1000)
		return &rate, ""
	case GoodputMetric, AttainedMetric:
		switch {
		case d.Goodput == nil:
			return nil, "no SLO was given"
		case name == GoodputMetric:
			return d.Goodput.PerSecond, d.Goodput.Note
		}
		return d.Goodput.Share, d.Goodput.Note
	}
	return d.Metric(name)
}

// compare marks the best of each metric and takes differences to the first
// column. A cell with failed requests is shown and not ranked: what is left of
// it is not the same load. Nor is a flagged one.
func (s *Summary) compare(cells []Cell) {
	for i, m := range s.Metrics {
		var best *float64
		ranked, equal := 0, true
		for c := range cells {
			v := cells[c].Values[i].Value
			if v == nil || !cells[c].ranked() {
				continue
			}
			ranked++
			equal = equal && (best == nil || *v == *best)
			if best == nil || m.Better == "higher" && *v > *best || m.Better == "lower" && *v < *best {
				best = v
			}
		}
		first := cells[0].Values[i].Value
		for c := range cells {
			v := &cells[c].Values[i]
			if v.Value == nil || !cells[c].ranked() {
				continue
			}
			v.Best = m.Better != "" && ranked > 1 && !equal && *v.Value == *best
			if c > 0 && first != nil && *first != 0 && cells[0].ranked() {
				delta := (*v.Value - *first) / *first * 100
				v.DeltaPct = &delta
			}
		}
	}
}
