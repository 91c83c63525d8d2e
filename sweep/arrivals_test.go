package sweep

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"anvilsweep/client/simengine"
	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// Whatever the shape: times ascend from 0, the same seed gives the same, and
// over many arrivals the rate is the one asked for, with the spread of the shape.
func TestSchedules(t *testing.T) {
	const n = 20_000
	for _, c := range []struct {
		a  recipe.Arrivals
		cv float64 // coefficient of variation of the gaps
	}{
		{recipe.Arrivals{Shape: recipe.ShapeConstant, Rate: 25}, 0},
		{recipe.Arrivals{Shape: recipe.ShapePoisson, Rate: 25}, 1},
		{recipe.Arrivals{Shape: recipe.ShapeGamma, Rate: 25, Burstiness: 0.25}, 2},
		{recipe.Arrivals{Shape: recipe.ShapeGamma, Rate: 25, Burstiness: 4}, 0.5},
		{recipe.Arrivals{Shape: recipe.ShapeBurst, Rate: 25, Size: 10}, 3},
		{recipe.Arrivals{Shape: recipe.ShapeRamp, Rate: 10, To: 40}, math.NaN()},
	} {
		due := schedule(c.a, n, 7)
		if !slices.IsSorted(due) || due[0] != 0 || !slices.Equal(due, schedule(c.a, n, 7)) {
			t.Errorf("%s: not ascending from 0, or not the same twice", c.a)
		}
		rate := float64(n-1) / due[n-1].Seconds()
		if math.Abs(rate-25)/25 > 0.05 {
			t.Errorf("%s: rate %.2f/s, want 25", c.a, rate)
		}
		var sum, squares float64
		for i := 1; i < n; i++ {
			gap := (due[i] - due[i-1]).Seconds()
			sum, squares = sum+gap, squares+gap*gap
		}
		mean := sum / (n - 1)
		cv := math.Sqrt(squares/(n-1)-mean*mean) / mean
		if !math.IsNaN(c.cv) && math.Abs(cv-c.cv) > 0.08*max(1, c.cv) {
			t.Errorf("%s: gaps vary by %.3f, want %.3f", c.a, cv, c.cv)
		}
	}
	// A ramp's first and last hundred arrivals have its two rates.
	ramp := schedule(recipe.Arrivals{Shape: recipe.ShapeRamp, Rate: 10, To: 40}, n, 1)
	if first, last := 100/ramp[100].Seconds(), 100/(ramp[n-1]-ramp[n-101]).Seconds(); math.Abs(first-10) > 0.5 || math.Abs(last-40) > 0.5 {
		t.Errorf("ramp from %.1f to %.1f", first, last)
	}
	if a, b := schedule(recipe.Arrivals{Shape: recipe.ShapePoisson, Rate: 1}, 9, 1), schedule(recipe.Arrivals{Shape: recipe.ShapePoisson, Rate: 1}, 9, 2); slices.Equal(a, b) {
		t.Error("two seeds, one schedule")
	}
}

// open is a recipe of one open-loop cell.
func open(url string, slots, requests int, arrivals string) string {
	text := strings.Replace(atAddress(url, ""), "ladder   = [1, 3]\n  requests = 6", fmt.Sprintf("ladder = [%d]\n requests = %d\n %s", slots, requests, arrivals), 1)
	return strings.Replace(text, "words = 4, policy = \"strict\", ", "", 1)
}

// A server that takes 5 requests a second, asked for 20: the wait of requests
// that found no slot is in the latencies from the time they were due, and in
// no other; the rate that was achieved is beside the one asked for.
func TestAnOverloadedOpenLoopHidesNothing(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		time.Sleep(200 * time.Millisecond)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a b\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	text := strings.Replace(open(server.URL+"/v1", 1, 12, `arrivals "constant" { rate = 20 }`), "max_tokens = 64", "max_tokens = 64, canaries = false", 1)
	if report := run(t, runner(t, dir, text)); !report.OK() {
		t.Fatalf("%+v %s", report, all(t, dir)[0].FailureList())
	}
	d := all(t, dir)[0]
	a := d.Sweep.Arrivals
	if d.Sweep.Loop != "open" || a == nil || a.NoSlot != 11 || *a.Requested != 20 || *a.Achieved < 4 || *a.Achieved > 5.5 || math.Abs(*a.Scheduled-20) > 0.01 {
		t.Fatalf("%+v", a)
	}
	ttft, _ := d.Metric("ttft_max_ms")
	late, _ := d.Metric("ttft_from_due_p99_ms")
	// The last one was due after 550 ms and sent after 2200.
	if *ttft > 400 || *late < 1600 || *a.Delay.Max < 1500 {
		t.Errorf("TTFT at most %.0f ms from the start, %.0f ms from the time due, delay %.0f", *ttft, *late, *a.Delay.Max)
	}
	if len(d.Sweep.Flags) == 0 || d.Sweep.Flags[0].Name != artifact.FlagNoSlot {
		t.Errorf("%+v", d.Sweep.Flags)
	}
	last := d.Sweep.RequestObservations[11]
	if last.DueOffsetMS == nil || math.Abs(*last.DueOffsetMS-550) > 20 || !last.NoFreeSlot || d.Sweep.RequestObservations[0].NoFreeSlot {
		t.Errorf("%+v", last)
	}
}

// With slots enough each request is sent when it is due, and the client knows
// how late it was.
func TestAnOpenLoopKeepsItsTimes(t *testing.T) {
	e := sim(t, "instant", nil)
	dir := t.TempDir()
	if report := run(t, runner(t, dir, open(e.BaseURL(), 16, 40, `arrivals "poisson" { rate = 100 }`))); !report.OK() {
		t.Fatalf("%+v", report)
	}
	d := all(t, dir)[0]
	a := d.Sweep.Arrivals
	if a.NoSlot > 0 || d.Sweep.Client.SendLag == nil || d.Sweep.Client.SendLag.Samples != 40 || d.Sweep.Client.Turnaround != nil {
		t.Fatalf("%+v %+v", a, d.Sweep.Client)
	}
	if math.Abs(*a.Achieved / *a.Scheduled - 1) > 0.1 {
		t.Errorf("scheduled %.1f/s, achieved %.1f/s", *a.Scheduled, *a.Achieved)
	}
}

// The whole-run figures hold the first wave's common start and the end in which
// slots run dry; the window holds neither.
func TestSteadyWindow(t *testing.T) {
	e := simWith(t, simengine.Options{Profile: simengine.Profile{Name: "p", MaxModelLen: 4096, MaxSeqs: 64, PrefillTokS: 20_000, PrefillChunk: 4096, DecodeStep: 2 * time.Millisecond, PrefixBlock: 16, CacheTokens: 1 << 16}})
	dir := t.TempDir()
	text := strings.Replace(atAddress(e.BaseURL(), ""), "ladder   = [1, 3]\n  requests = 6", "ladder = [4, 8]\n requests = cell.concurrency == 8 ? 8 : 24", 1)
	if report := run(t, runner(t, dir, text)); !report.OK() {
		t.Fatalf("%+v", report)
	}
	_, docs := read(t, dir)
	s := docs[4].Sweep.Steady
	if s.Reason != nil || s.Requests < 12 || s.Requests > 20 || *s.From <= 0 || *s.To <= *s.From || s.TTFT.Samples != s.Requests {
		t.Fatalf("%+v", s)
	}
	whole, _ := docs[4].Metric("throughput_tok_s")
	steady, _ := docs[4].Metric("steady_throughput_tok_s")
	if ratio := *steady / *whole; ratio < 0.5 || ratio > 2 { // the figure by hand is tested where it is made
		t.Errorf("%.0f tok/s in the window, %.0f in all", *steady, *whole)
	}
	if s := docs[8].Sweep.Steady; s.Reason == nil || !strings.Contains(*s.Reason, "one request") || s.Throughput != nil {
		t.Errorf("one wave has no window: %+v", s)
	}
}
