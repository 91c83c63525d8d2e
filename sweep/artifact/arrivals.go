package artifact

import (
	"time"

	"anvilsweep/sweep/metrics"
)

// Arrivals says how the requests of an open loop came, and how far the client
// held to it. Latencies from the due time hold the wait for a free slot too,
// which those from the start leave out.
type Arrivals struct {
	Shape      string   `json:"shape"` // "constant", "poisson", "gamma", "ramp" or "burst"
	Rate       float64  `json:"rate_per_s"`
	To         *float64 `json:"rate_to_per_s"` // of a ramp
	Burstiness *float64 `json:"burstiness"`    // of gamma
	Size       *int     `json:"burst_size"`    // of bursts
	Slots      int      `json:"slots"`         // requests that may be in flight

	// What follows is computed by Build.
	Requested *float64 `json:"requested_rate_per_s"` // on average
	Scheduled *float64 `json:"scheduled_rate_per_s"` // of the times drawn: requests after the first over the time to the last
	Achieved  *float64 `json:"achieved_rate_per_s"`  // of the times sent
	NoSlot    int      `json:"without_free_slot"`
	Delay     Spread   `json:"delay_ms"` // from due to sent, of all requests sent
	TTFT      Spread   `json:"ttft_from_due_ms"`
	E2E       Spread   `json:"e2e_from_due_ms"`
}

// fill computes what became of the schedule; latencies are over successes.
func (s *Arrivals) fill(results []Result, kinds []string) {
	if s == nil {
		return
	}
	s.Requested = ptr(s.Rate)
	if s.To != nil {
		s.Requested = ptr((s.Rate + *s.To) / 2)
	}
	var delay, ttft, e2e []float64
	var due, sent []time.Time
	for i := range results {
		r := &results[i]
		if r.Due == nil {
			continue
		}
		due = append(due, *r.Due)
		if r.NoSlot {
			s.NoSlot++
		}
		o := r.Observation
		if o == nil || o.Sent == 0 {
			continue
		}
		sent = append(sent, o.Start)
		late := o.Start.Sub(*r.Due)
		delay = append(delay, ms(late))
		if kinds[i] == "" {
			ttft = append(ttft, ms(late+*o.FirstContent))
			e2e = append(e2e, ms(late+o.End))
		}
	}
	s.Scheduled, s.Achieved = rate(due), rate(sent)
	s.Delay, s.TTFT, s.E2E = spread(delay), spread(ttft), spread(e2e)
}

// rate is arrivals after the first, over the time from the first to the last.
func rate(at []time.Time) *float64 {
	if len(at) < 2 {
		return nil
	}
	first, last := at[0], at[0]
	for _, t := range at {
		if t.Before(first) {
			first = t
		}
		if t.After(last) {
			last = t
		}
	}
	if took := last.Sub(first).Seconds(); took > 0 {
		return ptr(float64(len(at)-1) / took)
	}
	return nil
}

func spread(values []float64) Spread { return NewSpread(metrics.Describe(values)) }
