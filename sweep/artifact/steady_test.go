package artifact

import (
	"math"
	"testing"
	"time"

	"anvilsweep/client"
)

// Two slots, four requests of eight tokens: the window is from the end of the
// first response (200 ms) to the last start (300 ms). In it are 20 of the 120 ms
// of the second request's generation, 50 of the third's 100, and none of the
// others.
func TestSteadyWindowByHand(t *testing.T) {
	in := input()
	for i, at := range []struct{ start, first, end int }{{0, 100, 200}, {0, 100, 220}, {200, 50, 150}, {300, 50, 450}} {
		o := seen(0)
		o.Start = began.Add(time.Duration(at.start) * time.Millisecond)
		o.FirstOutput, o.FirstContent, o.End = span(at.first), span(at.first), time.Duration(at.end)*time.Millisecond
		in.Results[i].Observation = o
	}
	s := build(t, in).Sweep.Steady
	if s.Reason != nil || *s.From != 200 || *s.To != 300 || s.Requests != 2 || s.TTFT.Samples != 2 || *s.TTFT.Max != 50 {
		t.Fatalf("%+v", s)
	}
	if want := (8*20./120 + 8*50./100) / 0.1; math.Abs(*s.Throughput-want) > 1e-6 {
		t.Errorf("%v tok/s in the window, want %v", *s.Throughput, want)
	}
}

// Where there is no window the reason is told, and no figure.
func TestNoSteadyWindow(t *testing.T) {
	for want, change := range map[string]func(*Input){
		"requests failed": func(in *Input) {
			in.Results[0].Observation = &client.Observation{Start: began, End: time.Millisecond, Failure: &client.Failure{Kind: client.KindTimeoutTotal, Message: "late"}}
			in.Results[0].Canary, in.Results[0].Words = nil, nil
		},
		"every slot had one request at most":                            func(in *Input) { in.Concurrency = 4 },
		"the last request was sent before the first response had ended": func(*Input) {},
	} {
		in := input()
		change(&in)
		if s := build(t, in).Sweep.Steady; s.Reason == nil || *s.Reason != want || s.Throughput != nil || s.TTFT.Samples != 0 {
			t.Errorf("%s: %+v", want, s)
		}
	}
}
