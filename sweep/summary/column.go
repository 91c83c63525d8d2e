package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"anvilsweep/sweep/artifact"
)

// identify finds a document's column: its tier, else its gpu, else its engine.
func identify(d *artifact.Document) columnID {
	id := columnID{name: d.Tier, from: "tier", engine: d.Engine, fingerprint: d.ConfigurationFingerprint}
	switch {
	case d.Tier != "":
	case d.GPU != "":
		id.name, id.from = d.GPU, "gpu"
	case d.Engine != "":
		id.name, id.from = d.Engine, "engine"
	default:
		id.name, id.from = "(unnamed)", "nothing"
	}
	return id
}

// columnsOf lists the columns of a section in order of first appearance. A
// name alone is enough while it is unique; then the engine joins it, then the
// configuration.
func columnsOf(docs []*artifact.Document) []Column {
	var columns []Column
	for _, d := range docs {
		id := identify(d)
		at := slices.IndexFunc(columns, func(c Column) bool { return c.id == id })
		if at < 0 {
			columns = append(columns, Column{Name: id.name, From: id.from, id: id})
			at = len(columns) - 1
		}
		if price, currency := priceOf(d); price != nil && columns[at].Price == nil {
			columns[at].Price, columns[at].Currency = price, currency
		}
	}
	distinguish(columns, func(c Column) string { return c.id.engine })
	distinguish(columns, func(c Column) string {
		return strings.TrimPrefix(c.id.fingerprint, "sha256:")[:min(8, len(strings.TrimPrefix(c.id.fingerprint, "sha256:")))]
	})
	return columns
}

// distinguish adds a second name to columns whose first is shared.
func distinguish(columns []Column, second func(Column) string) {
	shared := map[string]int{}
	for _, c := range columns {
		shared[c.Name]++
	}
	for i, c := range columns {
		if text := second(c); shared[c.Name] > 1 && text != "" && text != c.Name {
			columns[i].Name = c.Name + " " + text
		}
	}
}

// everySweep are the axes that every sweep has; they are columns, rows or the
// workload.
var everySweep = []string{"model", "engine", "tier", "context", "concurrency", "output"}

// rowAxes are the recipe's own axes that have several values within a column:
// without a row of their own, different cells would be taken for runs of one.
func rowAxes(docs []*artifact.Document) []string {
	seen := map[columnID]map[string]string{}
	out := []string{}
	for _, d := range docs {
		if d.Sweep == nil {
			continue
		}
		id := identify(d)
		if seen[id] == nil {
			seen[id] = map[string]string{}
		}
		for name, value := range d.Sweep.Axes {
			if slices.Contains(everySweep, name) {
				continue
			}
			if before, ok := seen[id][name]; ok && before != value && !slices.Contains(out, name) {
				out = append(out, name)
			}
			seen[id][name] = value
		}
	}
	slices.Sort(out)
	return out
}

func ownAxes(d *artifact.Document, names []string) map[string]string {
	out := map[string]string{}
	if d.Sweep != nil {
		for _, name := range names {
			out[name] = d.Sweep.Axes[name]
		}
	}
	return out
}

func priceOf(d *artifact.Document) (*float64, string) {
	if d.Sweep == nil || d.Sweep.Tier == nil || d.Sweep.Tier.PricePerHour == nil {
		return nil, ""
	}
	return d.Sweep.Tier.PricePerHour, d.Sweep.Tier.Currency
}

func priced(d *artifact.Document) bool {
	price, _ := priceOf(d)
	return price != nil
}

// workload names what besides context and concurrency shaped the requests.
// Old generations do not say all of it; what they leave out is left out here.
func workload(d *artifact.Document) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case d.ResponseWords == nil:
	case *d.ResponseWords == 0:
		add("short summary")
	default:
		add("%d words %s", *d.ResponseWords, cmp.Or(d.Policy, "observe"))
	}
	if d.MaxTokens > 0 {
		add("max_tokens %d", d.MaxTokens)
	}
	if d.CacheMode != "" {
		add("%s prompts", d.CacheMode)
	}
	if d.Sweep != nil && d.Sweep.PromptSize.Sizing == "tokens" {
		add("sized by tokens")
	}
	if d.SharedPrefixTokens != nil && *d.SharedPrefixTokens > 0 {
		add("prefix %d", *d.SharedPrefixTokens)
	}
	if d.RequestCanaries != nil && *d.RequestCanaries {
		add("canaries")
	}
	if d.ThinkingMode != "" && d.ThinkingMode != "default" {
		add("thinking %s", d.ThinkingMode)
	}
	if d.ReasoningEffort != "" {
		add("effort %s", d.ReasoningEffort)
	}
	if d.SharedPrefixBurst {
		add("burst")
	}
	if d.Temperature != nil && *d.Temperature != 0 {
		add("temperature %g", *d.Temperature)
	}
	if d.TopP != nil {
		add("top_p %g", *d.TopP)
	}
	return strings.Join(parts, ", ")
}

// note says what holds for the whole: fallbacks, withheld figures, simulation.
func (s *Summary) note() {
	from := map[string]bool{}
	simulated, failures, withheld := false, false, map[string]bool{}
	var reasons []string
	for _, section := range s.Sections {
		for _, c := range section.Columns {
			from[c.From] = true
			simulated = simulated || strings.HasPrefix(c.id.engine, "sim")
		}
		for _, row := range section.Rows {
			for _, cell := range row.Cells {
				failures = failures || cell.Failed > 0
				for _, v := range cell.Values {
					if v.Value == nil && v.Note != "" && !withheld[v.Note] {
						withheld[v.Note] = true
						reasons = append(reasons, v.Note)
					}
				}
			}
		}
	}
	if simulated {
		s.Notes = append(s.Notes, "Engines named sim are simulations: their figures show the tool at work, not hardware.")
	}
	if from["gpu"] {
		s.Notes = append(s.Notes, "Some artifacts name no tier: their column is the gpu.")
	}
	if from["engine"] {
		s.Notes = append(s.Notes, "Some artifacts name neither tier nor gpu: their column is the engine.")
	}
	if from["nothing"] {
		s.Notes = append(s.Notes, "Some artifacts name no tier, gpu or engine: their column is (unnamed).")
	}
	if failures {
		s.Notes = append(s.Notes, "Cells with failed requests are shown and not ranked; their throughput is withheld.")
	}
	if len(reasons) > 0 {
		slices.Sort(reasons)
		s.Notes = append(s.Notes, "— stands for: "+strings.Join(reasons, "; ")+".")
	}
}
