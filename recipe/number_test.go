package recipe

import (
	"math/rand"
	"slices"
	"testing"
	"time"
)

func TestLadder(t *testing.T) {
	for _, c := range []struct {
		from, to int
		factor   float64
		want     []int
	}{
		{1, 32, 2, []int{1, 2, 4, 8, 16, 32}},
		{1, 48, 2, []int{1, 2, 4, 8, 16, 32, 48}},
		{1, 16, 4, []int{1, 4, 16}},
		{3, 3, 2, []int{3}},
		{1, 10, 1.5, []int{1, 2, 3, 5, 8, 10}},
		{1, 5, 100, []int{1, 5}},
	} {
		got, err := ladder(c.from, c.to, c.factor)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("ladder(%d, %d, %v) = %v %v, want %v", c.from, c.to, c.factor, got, err, c.want)
		}
	}
}

// A ladder begins and ends where it was asked to, climbs, and never takes more
// than its factor in one step, rounding left aside.
func TestLadderProperties(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range 2000 {
		from := 1 + r.Intn(50)
		to := from + r.Intn(5000)
		factor := 1.01 + 3*r.Float64()
		rungs, err := ladder(from, to, factor)
		if err != nil {
			t.Fatal(err)
		}
		if rungs[0] != from || rungs[len(rungs)-1] != to {
			t.Fatalf("ladder(%d, %d, %v) = %v", from, to, factor, rungs)
		}
		for i := 1; i < len(rungs); i++ {
			if rungs[i] <= rungs[i-1] || float64(rungs[i]) > factor*float64(rungs[i-1])+1 {
				t.Fatalf("ladder(%d, %d, %v) = %v at %d", from, to, factor, rungs, i)
			}
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int{"8192": 8192, "8k": 8000, "8K": 8000, "128Ki": 131072, "1M": 1_000_000, "1Mi": 1 << 20, "1.5k": 1500, "0.5Ki": 512, "2 k": 2000} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%q: %d %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "k", "8kb", "-1", "1.0005k", "8 Kibi", "1e3", "99999999999999999999M", "0x10"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q is taken as %d", text, got)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "15m": 15 * time.Minute, "1.5s": 1500 * time.Millisecond} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "15", "-1s", "soon"} {
		if _, err := parseDuration(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// The table makes the documentation, so it is sorted and says something.
func TestFunctionTable(t *testing.T) {
	for i, f := range Functions {
		if i > 0 && f.Name <= Functions[i-1].Name {
			t.Errorf("%s is not in its place", f.Name)
		}
		if f.Does == "" {
			t.Errorf("%s does not say what it does", f.Name)
		}
	}
	for _, impure := range []string{"timestamp", "uuid", "file", "env", "timeadd", "formatdate"} {
		if _, ok := functionTable()[impure]; ok {
			t.Errorf("%s has no place in a plan that is the same every time", impure)
		}
	}
}
