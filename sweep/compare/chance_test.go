package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/aclements/go-moremath/stats"

	"anvilsweep/sweep/artifact"
)

// Welch's t on logarithms is another implementation's on logarithms.
func TestWelch(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for range 50 {
		a, b := make([]float64, 2+r.IntN(8)), make([]float64, 2+r.IntN(8))
		la, lb := make([]float64, len(a)), make([]float64, len(b))
		for i := range a {
			a[i] = 100 * math.Exp(0.1*r.NormFloat64())
			la[i] = math.Log(a[i])
		}
		for i := range b {
			b[i] = 105 * math.Exp(0.02*r.NormFloat64())
			lb[i] = math.Log(b[i])
		}
		want, err := stats.TwoSampleWelchTTest(stats.Sample{Xs: la}, stats.Sample{Xs: lb}, stats.LocationDiffers)
		if err != nil {
			t.Fatal(err)
		}
		if got := welch(a, b); math.Abs(got-want.P) > 1e-9 {
			t.Errorf("p %v, want %v, of %v and %v", got, want.P, a, b)
		}
	}
	for _, c := range []struct {
		a, b []float64
		want float64
	}{{[]float64{5, 5}, []float64{5, 5}, 1}, {[]float64{5, 5}, []float64{6, 6}, 0}, {[]float64{5}, []float64{6, 6}, 1}, {[]float64{0, 5}, []float64{6, 7}, 1}} {
		if got := welch(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// Of many cells without a change hardly any pair of sweeps has an alarm, and
// one cell that did change is found among them.
func TestManyCellsGiveFewAlarms(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	matrix := func(slow int) []*artifact.Document {
		var all []run
		for cell := range 20 {
			factor := 1.0
			if cell == slow {
				factor = 1.05
			}
			for _, one := range repeats(r, 5, factor) {
				one.concurrency = cell + 1
				all = append(all, one)
			}
		}
		return documents(t, all...)
	}
	o := Options{Metrics: latencies, Threshold: DefaultThreshold}
	alarms := 0
	for range 4 {
		got := of(t, o, matrix(-1), matrix(-1))
		if got.Count(Worse)+got.Count(Better) > 0 {
			alarms++
		}
	}
	if alarms > 1 {
		t.Errorf("%d of 4 pairs of 20 cells", alarms)
	}
	got := of(t, o, matrix(-1), matrix(7))
	for _, c := range got.Cells {
		for _, f := range c.Figures {
			if (f.Verdict == Worse) != (c.Place == got.Cells[7].Place) {
				t.Errorf("%s %s: %s, p %v q %v", c.Place, f.Metric, f.Verdict, *f.P, *f.Q)
			}
		}
	}
}
