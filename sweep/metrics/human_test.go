package metrics

import (
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1.00", 12.345: "12.35", 123.45: "123.5", 1234.5: "1234", 0.5: "0.5000", 0.00012: "0.00012", -123.45: "-123.5"} {
		if got := Human(v); got != want {
			t.Errorf("Human(%v) = %s, want %s", v, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1 000", 1234567: "1 234 567", -1234: "-1 234", 100000: "100 000", math.MaxInt64: "9 223 372 036 854 775 807"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}
