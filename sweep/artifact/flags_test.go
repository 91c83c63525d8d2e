package artifact

import (
	"strings"
	"testing"
)

func TestWhenTheClientIsALimit(t *testing.T) {
	metrics := Metrics{"ttft_mean_ms": 50.0, "ttft_p99_ms": 80.0, "e2e_mean_ms": 1000.0, "generation_mean_ms": 950.0}
	share := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name     string
		facts    ClientFacts
		contains string // "": no flag
	}{
		{"nothing known", ClientFacts{}, ""},
		{"all well", ClientFacts{Watch: Watch{Arrivals: "kernel", CPUShare: share(0.5), Turnaround: &Lag{Mean: 19}, TimerLag: &Lag{Mean: 0.1, P99: 1}}}, ""},
		{"a busy process", ClientFacts{MaxProcs: 2, Watch: Watch{Arrivals: "kernel", CPUShare: share(0.95)}}, "95 % of its 2 processors"},
		{"a slow turnaround", ClientFacts{Watch: Watch{Arrivals: "kernel", Turnaround: &Lag{Mean: 21}}}, "21.00 ms, 2.1 % of the mean E2E"},
		{"late timers do not matter where the kernel tells", ClientFacts{Watch: Watch{Arrivals: "kernel", TimerLag: &Lag{Mean: 30, P99: 90}}}, ""},
		{"late on average", ClientFacts{Watch: Watch{Arrivals: "read", TimerLag: &Lag{Mean: 1.1, P99: 1.2}}}, "1.10 ms, 2.2 % of the mean TTFT"},
		{"late at times", ClientFacts{Watch: Watch{Arrivals: "read", TimerLag: &Lag{Mean: 0.1, P99: 1.7}}}, "2.1 % of the p99 TTFT"},
	} {
		got := c.facts.limited(&Artifact{Metrics: metrics})
		if (got == "") != (c.contains == "") || !strings.Contains(got, c.contains) {
			t.Errorf("%s: %q, want %q", c.name, got, c.contains)
		}
	}
	slow := ClientFacts{Watch: Watch{Arrivals: "read", TimerLag: &Lag{Mean: 0.9, P99: 1}}}
	metrics["generation_mean_ms"] = 80.0
	if got := slow.limited(&Artifact{Metrics: metrics}); !strings.Contains(got, "which TPOT is made of") {
		t.Errorf("%q", got)
	}
	if got := slow.limited(&Artifact{Metrics: Metrics{}}); got != "" {
		t.Errorf("nothing measured is bent by nothing: %q", got)
	}
}

func TestFlagsOfPrompts(t *testing.T) {
	v := func(f float64) *float64 { return &f }
	for _, c := range []struct {
		name string
		mode string
		hits *float64
		size PromptSize
		want string
	}{
		{"no word of hits", "unique", nil, PromptSize{}, ""},
		{"few hits", "unique", v(0.01), PromptSize{}, ""},
		{"hits", "unique", v(0.011), PromptSize{}, FlagCacheHits},
		{"hits are what a shared prefix is for", "shared", v(0.9), PromptSize{}, ""},
		{"chars are never the size planned", "unique", nil, PromptSize{Sizing: "chars", Planned: 10_000, ErrorPctMean: v(-25)}, ""},
		{"within a hundredth", "unique", nil, PromptSize{Sizing: "tokens", Planned: 100_000, ErrorPctMean: v(0.99)}, ""},
		{"off", "unique", nil, PromptSize{Sizing: "tokens", Planned: 100_000, ErrorPctMean: v(-1.01)}, FlagPromptSize},
		{"within eight tokens", "unique", nil, PromptSize{Sizing: "tokens", Planned: 1000, ErrorPctMean: v(7.9)}, ""},
	} {
		s := Sweep{CacheHitRate: c.hits, PromptSize: c.size}
		flags := s.flags(&Artifact{PromptCacheMode: c.mode, Completed: 10, Metrics: Metrics{}})
		got := ""
		if len(flags) > 0 {
			got = flags[0].Name
		}
		if got != c.want || len(flags) > 1 {
			t.Errorf("%s: %v, want %q", c.name, flags, c.want)
		}
	}
}
