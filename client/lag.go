package client

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// longestLag is where a lag is counted as this much.
const longestLag = 10 * time.Minute

// Lag gathers how late something was: count, mean and greatest exact, quantiles
// within 7 % above a microsecond. It is not safe for concurrent use.
type Lag struct {
	counts *hdrhistogram.Histogram
	sum    time.Duration
	most   time.Duration
}

// NewLag makes an empty one.
func NewLag() *Lag {
	return &Lag{counts: hdrhistogram.New(int64(time.Microsecond), int64(longestLag), 1)}
}

// Add takes one lag; a negative one is none.
func (l *Lag) Add(d time.Duration) {
	d = min(max(d, 0), longestLag)
	// The only error is a value out of range, and it is in range.
	_ = l.counts.RecordValue(int64(d))
	l.sum += d
	l.most = max(l.most, d)
}

// Merge adds all of another.
func (l *Lag) Merge(other *Lag) {
	l.counts.Merge(other.counts)
	l.sum += other.sum
	l.most = max(l.most, other.most)
}

// Count is how many there are.
func (l *Lag) Count() int64 { return l.counts.TotalCount() }

// Mean is their mean; 0 where there are none.
func (l *Lag) Mean() time.Duration {
	if n := l.Count(); n > 0 {
		return l.sum / time.Duration(n)
	}
	return 0
}

// Max is the greatest.
func (l *Lag) Max() time.Duration { return l.most }

// Quantile is the lag that the given percentage of them do not exceed.
func (l *Lag) Quantile(percent float64) time.Duration {
	return min(time.Duration(l.counts.ValueAtQuantile(percent)), l.most)
}

// Figures are a lag in milliseconds, for a report; all zero where nothing was
// counted.
type Figures struct {
	Count               int64
	Mean, P50, P99, Max float64
}

// Figures sums a lag up.
func (l *Lag) Figures() Figures {
	ms := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
	return Figures{l.Count(), ms(l.Mean()), ms(l.Quantile(50)), ms(l.Quantile(99)), ms(l.Max())}
}
