package sweep

import (
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"anvilsweep/recipe"
)

// schedule is when each of n requests is to be sent, from the cell's start. The
// first is due at once. The same seed gives the same schedule.
//
//   - constant: every 1/rate seconds
//   - poisson: gaps are exponential with mean 1/rate
//   - gamma: gaps are gamma with shape k = burstiness and mean 1/rate, so that
//     their coefficient of variation is 1/√k; k = 1 is poisson
//   - ramp: the rate goes in a straight line of time from one to the other,
//     r(t) = from + (to − from)·t/T, over the T = 2n/(from + to) seconds that n
//     requests take; request i is due where the integral of r reaches i
//   - burst: size requests at once, every size/rate seconds
func schedule(a recipe.Arrivals, n int, seed int64) []time.Duration {
	due := make([]time.Duration, n)
	source := rand.NewPCG(uint64(seed), 0x616e76696c) // the stream is the seed's alone
	gap := func() float64 { return 1 / a.Rate }
	switch a.Shape {
	case recipe.ShapePoisson:
		r := rand.New(source)
		gap = func() float64 { return r.ExpFloat64() / a.Rate }
	case recipe.ShapeGamma:
		gamma := distuv.Gamma{Alpha: a.Burstiness, Beta: a.Burstiness * a.Rate, Src: source}
		gap = gamma.Rand
	}
	at := 0.0
	for i := range due {
		switch a.Shape {
		case recipe.ShapeRamp:
			at = ramp(a.Rate, a.To, n, i)
		case recipe.ShapeBurst:
			at = float64(i/a.Size) * float64(a.Size) / a.Rate
		default:
			if i > 0 {
				at += gap()
			}
		}
		due[i] = time.Duration(at * float64(time.Second))
	}
	return due
}

// ramp solves from·t + (to − from)·t²/2T = i for t, in the form that does not
// cancel where from and to are nearly equal.
func ramp(from, to float64, n, i int) float64 {
	length := 2 * float64(n) / (from + to)
	slope := (to - from) / length
	return 2 * float64(i) / (from + math.Sqrt(max(0, from*from+2*slope*float64(i))))
}

// span is how long a cell's arrivals take; 0 for a closed loop.
func span(a recipe.Arrivals, n int) time.Duration {
	if a.Shape == "" {
		return 0
	}
	return time.Duration(float64(n) / a.Mean() * float64(time.Second))
}
