package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"anvilsweep/sweep/artifact"
)

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
func (l *layout) workload(d *artifact.Document) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if !l.places("output") {
		parts = output(d)
	}
	if d.CacheMode != "" && !l.places("cache") {
		add("%s prompts", d.CacheMode)
	}
	if d.Sweep != nil && d.Sweep.PromptSize.Sizing == "tokens" {
		add("sized by tokens")
	}
	if d.SharedPrefixTokens != nil && *d.SharedPrefixTokens > 0 {
		add("prefix %d", *d.SharedPrefixTokens)
	}
	if d.RequestCanaries != nil && *d.RequestCanaries && !l.places("output") {
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

// output names what a run asked for.
func output(d *artifact.Document) []string {
	var parts []string
	switch {
	case d.ResponseWords == nil:
	case *d.ResponseWords == 0:
		parts = append(parts, "short summary")
	default:
		parts = append(parts, fmt.Sprintf("%d words %s", *d.ResponseWords, cmp.Or(d.Policy, "observe")))
	}
	if d.MaxTokens > 0 {
		parts = append(parts, fmt.Sprintf("max_tokens %d", d.MaxTokens))
	}
	return parts
}

// note says what holds for the whole: fallbacks, withheld figures, simulation.
func (s *Summary) note(runs []*artifact.Document) {
	from := map[string]bool{}
	simulated, failures, withheld := false, false, map[string]bool{}
	var reasons []string
	for _, d := range runs {
		from[identify(d).from] = true
		simulated = simulated || strings.HasPrefix(d.Engine, "sim")
	}
	for _, section := range s.Sections {
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
		s.Notes = append(s.Notes, "Some artifacts name no tier: their tier is the gpu.")
	}
	if from["engine"] {
		s.Notes = append(s.Notes, "Some artifacts name neither tier nor gpu: their tier is the engine.")
	}
	if from["nothing"] {
		s.Notes = append(s.Notes, "Some artifacts name no tier, gpu or engine: their tier is (unnamed).")
	}
	if failures {
		s.Notes = append(s.Notes, "Cells with failed requests are shown and not ranked; their throughput is withheld.")
	}
	if len(reasons) > 0 {
		slices.Sort(reasons)
		s.Notes = append(s.Notes, "— stands for: "+strings.Join(reasons, "; ")+".")
	}
}
