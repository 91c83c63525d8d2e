package metrics

import (
	"math"
	"math/rand"
	"testing"
	"time"
)

func TestStreamIsCloseToTheExactDistribution(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	s := NewStream()
	var exact []float64
	for range 20_000 {
		d := time.Duration(math.Exp(r.NormFloat64()*2+15)) + time.Duration(r.Intn(3))
		s.Add(d)
		exact = append(exact, float64(d)/1e6)
	}
	got, want := s.Milliseconds(), Describe(exact)
	if got.Samples != want.Samples || *got.Min != *want.Min || *got.Max != *want.Max {
		t.Errorf("%+v, want %+v", got, want)
	}
	for name, pair := range map[string][2]*float64{
		"mean": {got.Mean, want.Mean}, "stddev": {got.Stddev, want.Stddev}, "low": {got.CI95Low, want.CI95Low}, "high": {got.CI95High, want.CI95High},
	} {
		if math.Abs(*pair[0] / *pair[1] - 1) > 1e-12 {
			t.Errorf("%s %v, want %v", name, *pair[0], *pair[1])
		}
	}
	for name, pair := range map[string][2]*float64{
		"p25": {got.P25, want.P25}, "p50": {got.P50, want.P50}, "p75": {got.P75, want.P75}, "p90": {got.P90, want.P90}, "p95": {got.P95, want.P95}, "p99": {got.P99, want.P99},
	} {
		if math.Abs(*pair[0] / *pair[1] - 1) > 1e-3 {
			t.Errorf("%s %v, want %v", name, *pair[0], *pair[1])
		}
	}
}

func TestStreamAtItsEdges(t *testing.T) {
	if d := NewStream().Milliseconds(); d.Samples != 0 || d.Mean != nil || d.Max != nil {
		t.Errorf("nothing became %+v", d)
	}
	s := NewStream()
	s.Add(-time.Second)
	if d := s.Milliseconds(); d.Samples != 1 || *d.Max != 0 || *d.Stddev != 0 || *d.P99 != 0 {
		t.Errorf("one became %+v", d)
	}
	s.Add(1000 * time.Hour)
	if d := s.Milliseconds(); *d.Max != 24*3600*1000 || *d.P50 != 0 {
		t.Errorf("beyond the range: %+v", d)
	}
}
