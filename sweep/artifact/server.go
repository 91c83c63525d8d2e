package artifact

import "fmt"

// Gauge is a reading over a cell's samples.
type Gauge struct {
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
}

// Server is what the engine's metrics page told while the cell was measured.
// A figure is null where the page does not have it.
type Server struct {
	Path       string             `json:"path"`
	IntervalMS float64            `json:"interval_ms"`
	Samples    int                `json:"samples"`
	Failed     int                `json:"failed_samples"`
	Reason     *string            `json:"reason"` // of the last sample that failed
	Running    *Gauge             `json:"running_requests"`
	Waiting    *Gauge             `json:"waiting_requests"`
	KVUse      *Gauge             `json:"kv_cache_use"`          // share, 0 to 1
	Queries    *float64           `json:"prefix_cache_queries"`  // tokens, from before the cell to after it
	Hits       *float64           `json:"prefix_cache_hits"`     // tokens, likewise
	HitRate    *float64           `json:"prefix_cache_hit_rate"` // hits / queries of the cell
	Preempted  *float64           `json:"preemptions"`           // of the cell
	Others     map[string]Counter `json:"others"`                // metrics that the recipe names
	Names      map[string]string  `json:"names"`                 // figure → the metric it comes from
}

// Counter is a metric that is taken as it comes.
type Counter struct {
	First float64 `json:"first"`
	Last  float64 `json:"last"`
	Mean  float64 `json:"mean"`
	Max   float64 `json:"max"`
}

func (s *Server) fill(*Artifact) {
	if s != nil && s.Queries != nil && s.Hits != nil && *s.Queries > 0 {
		s.HitRate = ptr(*s.Hits / *s.Queries)
	}
}

// short is how much of the requests in flight an engine must have run at its
// busiest to be said to have admitted them: readings are taken now and then.
const short = 0.9

// flags says where the engine did not do what it was asked to.
// The slots of an open loop are no load, so there it is not looked at.
func (s *Server) flags(a *Artifact, open bool) []Flag {
	var flags []Flag
	if s == nil {
		return nil
	}
	if r, w := s.Running, s.Waiting; !open && r != nil && w != nil && w.Max > 0 && r.Max < short*float64(min(a.Concurrency, a.Requests)) {
		flags = append(flags, Flag{FlagNotAdmitted, fmt.Sprintf("%d requests were in flight, the engine ran at most %g of them at once and had up to %g waiting", a.Concurrency, r.Max, w.Max)})
	}
	if s.Preempted != nil && *s.Preempted > 0 {
		flags = append(flags, Flag{FlagPreempted, fmt.Sprintf("the engine preempted requests %g times: its KV cache was too small for what it ran", *s.Preempted)})
	}
	return flags
}

// GPU is what the GPUs' readings told while the cell was measured: sums over
// the GPUs of power, means of clocks, the hottest temperature.
type GPU struct {
	Source      string   `json:"source"` // "command" or "exporter"
	IntervalMS  float64  `json:"interval_ms"`
	GPUs        int      `json:"gpus"` // that were read
	Samples     int      `json:"samples"`
	PowerMean   *float64 `json:"power_mean_w"`
	PowerMax    *float64 `json:"power_max_w"`
	ClockMean   *float64 `json:"sm_clock_mean_mhz"`
	ClockMin    *float64 `json:"sm_clock_min_mhz"`
	Temperature *float64 `json:"temperature_max_c"`
	Valid       bool     `json:"valid"`  // whether the energy may be used
	Reason      *string  `json:"reason"` // why not
	Energy      *float64 `json:"energy_j"`
	PerMtok     *float64 `json:"energy_kwh_per_mtok_output"`
}

// joulesPerKWh: a kilowatt-hour in joules.
const joulesPerKWh = 3.6e6

// fill divides the energy by the output tokens, where both are known. Failed
// requests have used energy too, so with any there is no figure.
func (g *GPU) fill(a *Artifact) {
	if g == nil || !g.Valid || g.Energy == nil || a.Failed > 0 {
		return
	}
	if tokens, ok := a.Metrics.Float("output_tokens"); ok && tokens > 0 {
		g.PerMtok = ptr(*g.Energy / joulesPerKWh / tokens * 1e6)
	}
}
