package artifact

import (
	"cmp"
	"slices"
	"time"
)

// Steady is the part of a cell in which all its slots were busy: from the end
// of the first response, when the first wave's common start is over, until the
// last request was sent, when the cell begins to run dry. Whole-run figures
// hold both ends.
type Steady struct {
	Reason     *string  `json:"reason"`  // why there is no window
	From       *float64 `json:"from_ms"` // since the first request's start
	To         *float64 `json:"to_ms"`
	Requests   int      `json:"requests"` // successes sent inside the window
	Throughput *float64 `json:"throughput_tok_s"`
	TTFT       Spread   `json:"ttft_ms"` // of those
	TPOT       Spread   `json:"tpot_ms"`
	E2E        Spread   `json:"e2e_ms"`
}

// steady finds the window. Its throughput takes each success's output tokens as
// coming evenly from TTFO to E2E, and counts the share inside; like the format's
// own it is null where a request failed or was not counted.
func steady(a *Artifact, results []Result) Steady {
	none := func(why string) Steady {
		return Steady{Reason: &why, TTFT: spread(nil), TPOT: spread(nil), E2E: spread(nil)}
	}
	if a.Failed > 0 {
		return none("requests failed")
	}
	if len(results) <= a.Concurrency {
		return none("every slot had one request at most")
	}
	observed := slices.Clone(results)
	slices.SortFunc(observed, func(x, y Result) int { return x.Observation.Start.Compare(y.Observation.Start) })
	zero, to := observed[0].Observation.Start, observed[len(observed)-1].Observation.Start
	first := slices.MinFunc(observed, func(x, y Result) int { return cmp.Compare(doneAt(&x).Sub(zero), doneAt(&y).Sub(zero)) })
	from := doneAt(&first)
	if !to.After(from) {
		return none("the last request was sent before the first response had ended")
	}
	out := Steady{From: ptr(ms(from.Sub(zero))), To: ptr(ms(to.Sub(zero)))}
	var ttft, tpot, e2e []float64
	tokens, counted := 0.0, true
	for i := range observed {
		r := &observed[i]
		row, _ := timing(r)
		if row.OutputTokens == nil {
			counted = false
		} else {
			tokens += float64(*row.OutputTokens) * overlap(r, from, to)
		}
		if s := r.Observation.Start; s.Before(from) || s.After(to) {
			continue
		}
		out.Requests++
		ttft, e2e = append(ttft, *row.TTFT), append(e2e, *row.E2E)
		if row.TPOT != nil {
			tpot = append(tpot, *row.TPOT)
		}
	}
	if counted {
		out.Throughput = ptr(tokens / to.Sub(from).Seconds())
	}
	out.TTFT, out.TPOT, out.E2E = spread(ttft), spread(tpot), spread(e2e)
	return out
}

func doneAt(r *Result) time.Time { return r.Observation.Start.Add(r.Observation.End) }

// overlap is the share of a response's generation that is inside the window.
func overlap(r *Result, from, to time.Time) float64 {
	o := r.Observation
	begin, end := o.Start.Add(*o.FirstOutput), doneAt(r)
	if !end.After(begin) { // all at once
		if begin.Before(from) || begin.After(to) {
			return 0
		}
		return 1
	}
	inside := min(end.Sub(from), to.Sub(from)) - max(begin.Sub(from), 0)
	return max(0, inside.Seconds()/end.Sub(begin).Seconds())
}
