package artifact

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SLO is what a request must meet to count as good: a most for each of some
// figures, in milliseconds.
type SLO []Objective

// Objective bounds one figure of a request.
type Objective struct {
	Name string // as people write it: ttft, ttfo, tpot, e2e
	Max  float64
}

// objectives are the families by the names that objectives have.
var objectives = map[string]string{"ttft": "ttft", "ttfo": "time_to_first_output", "tpot": "tpot", "e2e": "e2e"}

// Goodput is what of a run met an SLO.
type Goodput struct {
	Met       int      // requests within every objective
	PerSecond *float64 // Met over the run's wall time
	Share     *float64 // Met over the requests attempted: a failed one met nothing
	Note      string   // why there is none
}

// ParseSLO reads "ttft=500ms,tpot=0.05s"; a bare number is milliseconds.
func ParseSLO(text string) (SLO, error) {
	var out SLO
	for _, part := range strings.Split(text, ",") {
		name, bound, found := strings.Cut(strings.ReplaceAll(part, "<=", "="), "=")
		name, bound = strings.TrimSpace(name), strings.TrimSpace(bound)
		if !found || objectives[name] == "" {
			return nil, fmt.Errorf("%q is no objective; write one of ttft, ttfo, tpot and e2e with its most, such as ttft=500ms,tpot=50ms", strings.TrimSpace(part))
		}
		if slices.ContainsFunc(out, func(o Objective) bool { return o.Name == name }) {
			return nil, fmt.Errorf("%s is bounded twice", name)
		}
		limit, err := strconv.ParseFloat(bound, 64)
		if err != nil {
			d, err := time.ParseDuration(bound)
			if err != nil {
				return nil, fmt.Errorf("%q is no time; write one such as 500ms or 1.5s", bound)
			}
			limit = float64(d) / float64(time.Millisecond)
		}
		if !(limit > 0) || limit > 1e9 {
			return nil, fmt.Errorf("%s=%s: the most must be above zero and below eleven days", name, bound)
		}
		out = append(out, Objective{name, limit})
	}
	return out, nil
}

// String writes the SLO for people: "ttft ≤ 500 ms, tpot ≤ 50 ms".
func (s SLO) String() string {
	var parts []string
	for _, o := range s {
		parts = append(parts, fmt.Sprintf("%s ≤ %s ms", o.Name, strconv.FormatFloat(o.Max, 'g', -1, 64)))
	}
	return strings.Join(parts, ", ")
}

// of counts the requests of a run that met the SLO. One without the figure, such
// as the TPOT of a single token, is held to the others.
func (s SLO) of(d *Document) *Goodput {
	g := &Goodput{}
	if d.Rows == nil {
		g.Note = "no request rows to hold against the SLO"
		return g
	}
	for i := range d.Rows {
		if s.met(&d.Rows[i]) {
			g.Met++
		}
	}
	if d.wall() > 0 {
		rate := float64(g.Met) / (d.wall() / 1000)
		g.PerSecond = &rate
	} else {
		g.Note = "no wall time in the artifact"
	}
	if d.Requests > 0 {
		share := float64(g.Met) / float64(d.Requests)
		g.Share = &share
	}
	return g
}

func (s SLO) met(r *Row) bool {
	for _, o := range s {
		for _, f := range families {
			if f.name != objectives[o.Name] {
				continue
			}
			if v := f.of(r); v != nil && *v > o.Max {
				return false
			}
		}
	}
	return true
}
