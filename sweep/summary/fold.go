package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/metrics"
)

// fold makes one cell of the runs of one tier at one row.
func (s *Summary) fold(docs []*artifact.Document) Cell {
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
		cell.Values[i] = foldMetric(docs, m.Name)
	}
	return cell
}

func foldMetric(docs []*artifact.Document, name string) Value {
	var out Value
	var values []float64
	var notes []string
	for _, d := range docs {
		v, note := figure(d, name)
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
			low, high := slices.Min(values), slices.Max(values)
			out.Low, out.High = &low, &high
			notes = append(notes, fmt.Sprintf("median of %d runs", len(values)))
		}
	}
	out.Note = strings.Join(notes, "; ")
	return out
}

// figure is one document's value of a metric, with the reason where it has
// none.
func figure(d *artifact.Document, name string) (*float64, string) {
	switch name {
	case CostMetric, TotalCostMetric:
		return cost(d, name)
	case PerGPUMetric:
		throughput, note := d.Metric("throughput_tok_s")
		if throughput == nil {
			return nil, note
		}
		if d.Sweep == nil || d.Sweep.Tier == nil || d.Sweep.Tier.Count < 1 {
			return nil, "the artifact does not say how many GPUs its tier has"
		}
		v := *throughput / float64(d.Sweep.Tier.Count)
		return &v, ""
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

// cost is the tier's price over the tokens of the run: the output ones, or
// those of the prompts too.
func cost(d *artifact.Document, name string) (*float64, string) {
	price, _ := priceOf(d)
	if price == nil {
		return nil, "no price for this tier"
	}
	throughput, note := d.Metric("throughput_tok_s")
	if throughput == nil || *throughput <= 0 {
		return nil, cmp.Or(note, "no throughput")
	}
	perSecond := *throughput
	if name == TotalCostMetric {
		prompt, note := d.Metric("prompt_tokens")
		if counted, _ := d.Metric("prompt_token_samples"); prompt == nil || counted == nil || int(*counted) < d.Completed {
			return nil, cmp.Or(note, "the prompts' tokens were not counted")
		}
		if d.WallMS == nil || *d.WallMS <= 0 {
			return nil, "no wall time in the artifact"
		}
		perSecond += *prompt / (*d.WallMS / 1000)
	}
	v := *price / 3600 / perSecond * 1e6
	return &v, ""
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
