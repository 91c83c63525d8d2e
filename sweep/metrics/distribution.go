package metrics

import (
	"math"
	"math/big"
	"slices"
)

// Distribution is the thirteen statistics the format keeps of a population.
// Every statistic but Samples is nil where there is no sample.
type Distribution struct {
	Samples  int
	Mean     *float64
	Stddev   *float64 // sample deviation (n-1); 0 for one sample
	CI95Low  *float64 // of the mean, normal approximation; may be negative
	CI95High *float64
	Min      *float64
	P25      *float64 // percentiles are nearest-rank
	P50      *float64
	P75      *float64
	P90      *float64
	P95      *float64
	P99      *float64
	Max      *float64
}

// Describe computes the distribution of finite values. The mean is the
// correctly rounded exact sum divided by n; the deviation is the correctly
// rounded root of the exact variance; the half width of the interval is
// (1.96 × stddev) / √n, in that order. Source: the artifact contract, A5.
func Describe(values []float64) Distribution {
	n := len(values)
	if n == 0 {
		return Distribution{}
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	mean := Mean(sorted)
	stddev := Stddev(sorted)
	half := 1.96 * stddev / math.Sqrt(float64(n))
	at := func(q int) *float64 { v := Percentile(sorted, q); return &v }
	low, high := mean-half, mean+half
	return Distribution{
		Samples: n, Mean: &mean, Stddev: &stddev, CI95Low: &low, CI95High: &high,
		Min: &sorted[0], P25: at(25), P50: at(50), P75: at(75), P90: at(90), P95: at(95), P99: at(99), Max: &sorted[n-1],
	}
}

// Percentile is the nearest-rank percentile of ascending values:
// sorted[max(0, ceil(q·n/100) - 1)].
func Percentile(sorted []float64, q int) float64 {
	rank := (q*len(sorted) + 99) / 100
	return sorted[max(0, rank-1)]
}

// Median is the middle value, or the mean of the two middle ones: what folds
// repeated runs into one figure. It panics without values.
func Median(values []float64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return sorted[mid-1] + (sorted[mid]-sorted[mid-1])/2
}

// Mean is the correctly rounded sum divided by the count.
func Mean(values []float64) float64 {
	return Sum(values) / float64(len(values))
}

// Sum is the exact sum of the values, rounded once. It keeps a list of
// non-overlapping partial sums (Shewchuk 1997), as Python's math.fsum does.
func Sum(values []float64) float64 {
	var partials []float64
	for _, x := range values {
		kept := partials[:0]
		for _, y := range partials {
			if math.Abs(x) < math.Abs(y) {
				x, y = y, x
			}
			hi := x + y
			if lo := y - (hi - x); lo != 0 {
				kept = append(kept, lo)
			}
			x = hi
		}
		partials = append(kept, x)
	}
	return round(partials)
}

// round adds non-overlapping partials, smallest first, to the nearest double;
// the last step settles a tie that the discarded tail would break.
func round(partials []float64) float64 {
	n := len(partials)
	if n == 0 {
		return 0
	}
	n--
	hi, lo := partials[n], 0.0
	for n > 0 {
		x := hi
		n--
		y := partials[n]
		hi = x + y
		if lo = y - (hi - x); lo != 0 {
			break
		}
	}
	if n > 0 && (lo < 0 && partials[n-1] < 0 || lo > 0 && partials[n-1] > 0) {
		y := lo * 2
		x := hi + y
		if y == x-hi {
			hi = x
		}
	}
	return hi
}

// Stddev is the sample standard deviation: the exact rational variance over
// n-1, then the correctly rounded square root, as Python's statistics.stdev
// computes it since 3.11. One value deviates by 0.
//
// All finite doubles are whole multiples of 2^-1074; the sums are taken in
// integers of a common scale.
func Stddev(values []float64) float64 {
	n := int64(len(values))
	if n < 2 {
		return 0
	}
	scale := commonScale(values)
	sum, squares := new(big.Int), new(big.Int)
	x, square := new(big.Int), new(big.Int)
	for _, v := range values {
		scaled(x, v, scale)
		sum.Add(sum, x)
		squares.Add(squares, square.Mul(x, x))
	}
	// variance = (n·Σx² - (Σx)²) / (n·(n-1)), in units of 4^-scale
	numerator := new(big.Int).Mul(big.NewInt(n), squares)
	numerator.Sub(numerator, square.Mul(sum, sum))
	denominator := new(big.Int).Mul(big.NewInt(n), big.NewInt(n-1))
	if scale >= 0 {
		denominator.Lsh(denominator, uint(2*scale))
	} else {
		numerator.Lsh(numerator, uint(-2*scale))
	}
	return root(numerator, denominator)
}

// commonScale is the power of two that makes every value a whole number.
func commonScale(values []float64) int {
	scale := math.MinInt
	for _, v := range values {
		if v == 0 {
			continue
		}
		_, exp := math.Frexp(v)
		scale = max(scale, 53-exp)
	}
	if scale == math.MinInt {
		return 0
	}
	return scale
}

// scaled sets x to v·2^scale, which is whole.
func scaled(x *big.Int, v float64, scale int) {
	if v == 0 {
		x.SetInt64(0)
		return
	}
	fraction, exp := math.Frexp(v)
	x.SetInt64(int64(math.Ldexp(fraction, 53)))
	x.Lsh(x, uint(exp-53+scale))
}

// root is √(numerator/denominator), rounded once: an integer root of at least
// 55 bits, its last bit set where the root is not exact, so that the one
// rounding that follows cannot mistake it for a tie.
func root(numerator, denominator *big.Int) float64 {
	if numerator.Sign() == 0 {
		return 0
	}
	const bits = 109
	shift := (numerator.BitLen() - denominator.BitLen() - bits) / 2
	n, d := new(big.Int).Set(numerator), new(big.Int).Set(denominator)
	if shift >= 0 {
		d.Lsh(d, uint(2*shift))
	} else {
		n.Lsh(n, uint(-2*shift))
	}
	quotient, rest := new(big.Int).QuoRem(n, d, new(big.Int))
	r := new(big.Int).Sqrt(quotient)
	exact := rest.Sign() == 0 && new(big.Int).Mul(r, r).Cmp(quotient) == 0
	r.Lsh(r, 1)
	if !exact {
		r.SetBit(r, 0, 1)
	}
	f := new(big.Float).SetPrec(uint(r.BitLen())).SetInt(r)
	f.SetMantExp(f, shift-1)
	v, _ := f.Float64()
	return v
}
