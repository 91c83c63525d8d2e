package metrics

import (
	"math"
	"strconv"
)

// Human shortens a figure to about four significant digits, for tables; csv
// and json carry the exact one.
func Human(v float64) string {
	digits := 0
	switch a := math.Abs(v); {
	case a == 0 || a >= 1000:
	case a >= 100:
		digits = 1
	case a >= 1:
		digits = 2
	case a >= 0.001:
		digits = 4
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// Count writes a whole number with thin groups of three: 1 234 567.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := len(s) % 3
	if n < 0 {
		start = (len(s)-1)%3 + 1
	}
	out := s[:start]
	for i := start; i < len(s); i += 3 {
		if out != "" && out != "-" {
			out += " "
		}
		out += s[i : i+3]
	}
	return out
}
