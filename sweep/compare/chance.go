package compare

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// FalseDiscovery is the share of the differences told that may be chance.
const FalseDiscovery = 0.05

// A comparison makes many tests, and of many some come out by chance. A figure
// that differs at the test's level is told only where it also stands out among
// all figures of its comparison: the procedure of Benjamini and Hochberg, on
// Welch's t of the logarithms. The rank test cannot serve there: of five
// values against five its least p is 1/126, whatever the difference.
func (r *Result) discount() {
	var all []*Figure
	for i := range r.Cells {
		for j := range r.Cells[i].Figures {
			if f := &r.Cells[i].Figures[j]; f.P != nil {
				all = append(all, f)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *Figure) int {
		switch {
		case a.welch < b.welch:
			return -1
		case a.welch > b.welch:
			return 1
		}
		return 0
	})
	least := 1.0
	for i := len(all) - 1; i >= 0; i-- {
		least = min(least, all[i].welch*float64(len(all))/float64(i+1))
		q := least
		all[i].Q = &q
		if told := all[i].Verdict; q > FalseDiscovery && (told == Better || told == Worse || told == Changed) {
			all[i].Verdict = Same
			all[i].Note = "it differs at this level, but among so many figures that may be chance; more repeats would tell"
		}
	}
}

// welch is the two-sided p-value of Welch's t-test on the logarithms of two
// samples: whether their means are in a ratio other than 1. Values must be above
// 0; p is 1 elsewhere.
func welch(a, b []float64) float64 {
	ma, va, ok := logs(a)
	mb, vb, ok2 := logs(b)
	if !ok || !ok2 {
		return 1
	}
	se := va + vb
	if se == 0 {
		if ma == mb {
			return 1
		}
		return 0
	}
	df := se * se / (va*va/float64(len(a)-1) + vb*vb/float64(len(b)-1))
	t := math.Abs(ma-mb) / math.Sqrt(se)
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.CDF(-t)
}

// logs are the mean of the logarithms and the variance of that mean.
func logs(values []float64) (mean, variance float64, ok bool) {
	if len(values) < 2 {
		return 0, 0, false
	}
	n := float64(len(values))
	for _, v := range values {
		if v <= 0 {
			return 0, 0, false
		}
		mean += math.Log(v) / n
	}
	for _, v := range values {
		d := math.Log(v) - mean
		variance += d * d / (n - 1) / n
	}
	return mean, variance, true
}
