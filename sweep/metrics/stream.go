package metrics

import (
	"math"
	"math/big"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longest is the greatest time a Stream counts as itself.
const longest = 24 * time.Hour

// Stream is the distribution of any number of times in a fixed amount of
// memory. Count, mean, deviation and extremes are exact; percentiles are
// nearest-rank within 0.1 %. It is not safe for concurrent use.
type Stream struct {
	counts      *hdrhistogram.Histogram
	count       int64
	sum         int64 // nanoseconds
	high, low   uint64
	least, most time.Duration
}

// NewStream makes an empty one.
func NewStream() *Stream {
	return &Stream{counts: hdrhistogram.New(1, int64(longest), 3)}
}

// Add takes a time; a negative one counts as zero, one above a day as a day.
func (s *Stream) Add(d time.Duration) {
	d = min(max(d, 0), longest)
	// The only error is a value out of range, and it is in range.
	_ = s.counts.RecordValue(int64(d))
	if s.count == 0 || d < s.least {
		s.least = d
	}
	s.most = max(s.most, d)
	s.count++
	s.sum += int64(d)
	high, low := bits.Mul64(uint64(d), uint64(d))
	var carry uint64
	s.low, carry = bits.Add64(s.low, low, 0)
	s.high, _ = bits.Add64(s.high, high, carry)
}

// Milliseconds is the distribution in milliseconds.
func (s *Stream) Milliseconds() Distribution {
	if s.count == 0 {
		return Distribution{}
	}
	n := float64(s.count)
	mean, stddev := float64(s.sum)/n/1e6, s.stddev()/1e6
	half := 1.96 * stddev / math.Sqrt(n)
	ms := func(d time.Duration) *float64 { v := float64(d) / 1e6; return &v }
	at := func(q float64) *float64 {
		return ms(min(max(time.Duration(s.counts.ValueAtQuantile(q)), s.least), s.most))
	}
	low, high := mean-half, mean+half
	return Distribution{
		Samples: int(s.count), Mean: &mean, Stddev: &stddev, CI95Low: &low, CI95High: &high,
		Min: ms(s.least), P25: at(25), P50: at(50), P75: at(75), P90: at(90), P95: at(95), P99: at(99), Max: ms(s.most),
	}
}

// stddev is the root of (n·Σx² − (Σx)²) / (n·(n−1)), exact until the root.
func (s *Stream) stddev() float64 {
	if s.count < 2 {
		return 0
	}
	squares := new(big.Int).SetUint64(s.high)
	squares.Lsh(squares, 64).Add(squares, new(big.Int).SetUint64(s.low))
	n, sum := big.NewInt(s.count), big.NewInt(s.sum)
	over := squares.Mul(squares, n).Sub(squares, sum.Mul(sum, sum))
	variance, _ := new(big.Rat).SetFrac(over, new(big.Int).Mul(n, big.NewInt(s.count-1))).Float64()
	return math.Sqrt(variance)
}
