package metrics

import (
	"encoding/json"
	"math"
	"math/rand"
	"os"
	"strconv"
	"testing"
)

// testdata/python.json holds populations with what Python 3.11's math.fsum and
// statistics.stdev make of them, as hexadecimal floats: the reference that the
// format's files were written with.
type vector struct {
	V            []string
	Mean, Sd     string
	Lo, Hi       string
	P            []string
	parsed       []float64
	mean, sd     float64
	lo, hi       float64
	percentileOf []float64
}

func hex(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func vectors(t *testing.T) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/python.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []vector
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	for i := range out {
		v := &out[i]
		for _, s := range v.V {
			v.parsed = append(v.parsed, hex(t, s))
		}
		for _, s := range v.P {
			v.percentileOf = append(v.percentileOf, hex(t, s))
		}
		v.mean, v.sd, v.lo, v.hi = hex(t, v.Mean), hex(t, v.Sd), hex(t, v.Lo), hex(t, v.Hi)
	}
	return out
}

func TestDescribeAgreesWithPythonToTheBit(t *testing.T) {
	for i, v := range vectors(t) {
		d := Describe(v.parsed)
		check := func(name string, got *float64, want float64) {
			t.Helper()
			if math.Float64bits(*got) != math.Float64bits(want) {
				t.Errorf("vector %d (%d values): %s = %x, want %x", i, len(v.parsed), name, *got, want)
			}
		}
		check("mean", d.Mean, v.mean)
		check("stddev", d.Stddev, v.sd)
		check("ci95 low", d.CI95Low, v.lo)
		check("ci95 high", d.CI95High, v.hi)
		for k, p := range []*float64{d.P25, d.P50, d.P75, d.P90, d.P95, d.P99} {
			check("percentile "+strconv.Itoa(k), p, v.percentileOf[k])
		}
	}
}

// A naive sum and a two-pass deviation are off in the last bit on real data;
// this holds that the vectors above would notice.
func TestVectorsTellExactFromNaive(t *testing.T) {
	naiveWrong := 0
	for _, v := range vectors(t) {
		sum := 0.0
		for _, x := range v.parsed {
			sum += x
		}
		if sum/float64(len(v.parsed)) != v.mean {
			naiveWrong++
		}
	}
	if naiveWrong == 0 {
		t.Fatal("no vector distinguishes the exact mean from the naive one")
	}
}

func TestNoSampleIsNull(t *testing.T) {
	d := Describe(nil)
	if d.Samples != 0 || d.Mean != nil || d.Stddev != nil || d.P50 != nil || d.Max != nil {
		t.Fatalf("an empty population has figures: %+v", d)
	}
}

func TestOneSampleHasNoDeviation(t *testing.T) {
	d := Describe([]float64{7.5})
	if *d.Stddev != 0 || *d.CI95Low != 7.5 || *d.CI95High != 7.5 || *d.P99 != 7.5 {
		t.Fatalf("%+v", d)
	}
}

func TestDescribeKeepsOrderAndRange(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 300 {
		values := make([]float64, 1+r.Intn(200))
		for i := range values {
			values[i] = math.Exp(r.NormFloat64() * 4)
		}
		before := append([]float64{}, values...)
		d := Describe(values)
		for i := range values {
			if values[i] != before[i] {
				t.Fatal("Describe changed its input")
			}
		}
		ladder := []float64{*d.Min, *d.P25, *d.P50, *d.P75, *d.P90, *d.P95, *d.P99, *d.Max}
		for i := 1; i < len(ladder); i++ {
			if ladder[i] < ladder[i-1] {
				t.Fatalf("percentiles fall: %v", ladder)
			}
		}
		if *d.Mean < *d.Min || *d.Mean > *d.Max {
			t.Fatalf("mean %v outside %v..%v", *d.Mean, *d.Min, *d.Max)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 4}, 4}, {[]float64{4, 1, 2, 3}, 2.5}} {
		if got := Median(c.in); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.in, got, c.want)
		}
	}
}

func BenchmarkDescribe(b *testing.B) {
	r := rand.New(rand.NewSource(1))
	values := make([]float64, 10_000)
	for i := range values {
		values[i] = math.Exp(r.NormFloat64())
	}
	b.ReportAllocs()
	for b.Loop() {
		Describe(values)
	}
}
