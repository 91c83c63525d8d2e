package sweep

import (
	"fmt"
	"path/filepath"

	"anvilsweep/sweep/artifact"
)

// Rates that are assumed where nothing is measured: those of a mid-sized model
// on one data-centre GPU, to tell minutes from days and no more.
const (
	AssumedPrefillTokS = 10_000.0 // prompt tokens a second, of the whole engine
	AssumedDecodeTokS  = 50.0     // output tokens a second, of one stream
	summaryTokens      = 64       // of an answer without a number of words
	answerTokens       = 16       // beside the words
)

// Estimate is how long a plan's cells may take, every one of them run.
type Estimate struct {
	Seconds  float64
	Measured int                // cells that an earlier run measured
	Assumed  int                // cells that stand for rates
	Factor   float64            // measured over assumed time, where there are both; by it the rest is corrected
	Cost     map[string]float64 // by currency, of the tiers that have a price
}

// Basis says in words what the estimate is made of.
func (e Estimate) Basis() string {
	rates := fmt.Sprintf("assuming %.0f prompt tokens a second and %.0f output tokens a second of each stream", AssumedPrefillTokS, AssumedDecodeTokS)
	switch {
	case e.Assumed == 0:
		return "as measured before"
	case e.Measured == 0:
		return rates
	}
	return fmt.Sprintf("%d cells as measured before, %d by their pace against %s", e.Measured, e.Assumed, rates)
}

// Estimate takes wall times of earlier runs by cell digest, in seconds; there
// need not be any.
func (p *Plan) Estimate(measured map[string]float64) Estimate {
	e := Estimate{Factor: 1, Cost: map[string]float64{}}
	var was, assumed float64
	for i := range p.Sweeps {
		for j := range p.Sweeps[i].Cells {
			c := &p.Sweeps[i].Cells[j]
			if s, ok := measured[c.Digest]; ok {
				was += s
				assumed += c.assumed()
			}
		}
	}
	if assumed > 0 && was > 0 {
		e.Factor = was / assumed
	}
	for i := range p.Sweeps {
		for j := range p.Sweeps[i].Cells {
			c := &p.Sweeps[i].Cells[j]
			s, ok := measured[c.Digest]
			if ok {
				e.Measured++
			} else {
				e.Assumed++
				s = c.assumed() * e.Factor
			}
			e.Seconds += s
			if price := c.Point.Tier.PricePerHour; price != nil {
				e.Cost[c.Point.Tier.Currency] += *price * s / 3600
			}
		}
	}
	return e
}

// assumed is the cell's time by the assumed rates: all prompts one after the
// other, and each stream's answers one after the other; an open loop takes as long as its
// arrivals.
func (c *Cell) assumed() float64 {
	output := summaryTokens
	if words := c.Point.Output.Words; words > 0 {
		output = words + answerTokens
	}
	output = min(output, c.Point.Output.MaxTokens)
	requests := c.Requests + c.Point.Concurrency.Warmup
	tokens := float64(c.PlannedTokens()) * float64(requests) / float64(c.Requests)
	waves := float64(requests) / float64(min(c.Point.Concurrency.Value, requests))
	return max(tokens/AssumedPrefillTokS+waves*float64(output)/AssumedDecodeTokS, span(c.Arrivals, c.Requests).Seconds())
}

// WallTimes are the seconds that the cells of a results folder took, by digest.
func WallTimes(dir string) (map[string]float64, error) {
	docs, err := artifact.Figures([]string{filepath.Clean(dir)}, artifact.Keep{})
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for _, d := range docs {
		if d.Sweep != nil && d.WallMS != nil {
			out[d.Sweep.CellDigest] = *d.WallMS / 1000
		}
	}
	return out, nil
}

// Keep leaves only the cells that the filter takes.
func (p *Plan) Keep(take func(*Cell) bool) {
	for i := range p.Sweeps {
		s := &p.Sweeps[i]
		kept := s.Cells[:0:0]
		for _, c := range s.Cells {
			if take(&c) {
				kept = append(kept, c)
			}
		}
		s.Cells = kept
	}
}
