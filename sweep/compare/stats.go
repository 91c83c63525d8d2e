package compare

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Verdict is what a comparison of one metric of one cell says.
type Verdict string

// Verdicts, from good to unknown.
const (
	Better        Verdict = "better"
	Worse         Verdict = "worse"
	Changed       Verdict = "changed" // of a metric that is neither good high nor good low
	Same          Verdict = "no difference shown"
	TooFew        Verdict = "too few samples"
	NotComparable Verdict = "not comparable"
)

// test holds two samples against each other without an assumption on their
// distribution: the Mann-Whitney U test, two-sided. ok is false where so few
// values could not show any difference at this level.
func test(a, b []float64, alpha float64) (p float64, ok bool) {
	if len(a) < 2 || len(b) < 2 || smallestP(len(a), len(b)) >= alpha {
		return 1, false
	}
	thresholds := benchmath.DefaultThresholds
	thresholds.CompareAlpha = alpha
	c := benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(a), &thresholds), benchmath.NewSample(slices.Clone(b), &thresholds))
	return c.P, true
}

// smallestP is the p-value of two samples that do not overlap at all: two of
// the n+m over n ways to part the values.
func smallestP(n, m int) float64 {
	ways := 1.0
	for i := 1; i <= n; i++ {
		ways *= float64(m+i) / float64(i)
	}
	return 2 / ways
}

// shift is by how much b is above a, in percent of a: the median of all ratios
// of a value of b to one of a (Hodges and Lehmann), with the interval that the
// Mann-Whitney test at this level leaves, from the normal approximation of the
// rank of its ends. Values must be above 0; ok is false elsewhere.
func shift(a, b []float64, alpha float64) (pct, low, high float64, ok bool) {
	ratios := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if x <= 0 || y < 0 {
				return 0, 0, 0, false
			}
			ratios = append(ratios, 100*(y/x-1))
		}
	}
	if len(ratios) == 0 {
		return 0, 0, 0, false
	}
	slices.Sort(ratios)
	n, m := float64(len(a)), float64(len(b))
	half := quantile(1-alpha/2) * math.Sqrt(n*m*(n+m+1)/12)
	at := max(0, int(math.Floor(n*m/2-half)))
	last := len(ratios) - 1
	return median(ratios), ratios[min(at, last)], ratios[max(0, last-at)], true
}

// quantile is of the standard normal distribution.
func quantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// median of sorted values.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}
