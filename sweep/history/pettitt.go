package history

import (
	"math"
	"math/rand/v2"
	"slices"
)

// found is one change among values: values[from:at] are of one level, those of
// [at:to] of another.
type found struct {
	from, at, to int
	p            float64
}

const (
	least  = 2     // points of a part
	orders = 10000 // that a p-value is taken from
)

// changePoints are where the level of values changes, in their order. A part
// around a change is searched for others; the parts a change is told from are
// those up to its neighbours.
func changePoints(values []float64, alpha float64) []found {
	var at []int
	p := map[int]float64{}
	var search func(from, to int)
	search = func(from, to int) {
		i, share, ok := pettitt(values[from:to], alpha)
		if !ok {
			return
		}
		at = append(at, from+i)
		p[from+i] = share
		search(from, from+i)
		search(from+i, to)
	}
	search(0, len(values))
	slices.Sort(at)
	out := make([]found, len(at))
	for i, a := range at {
		out[i] = found{from: 0, at: a, to: len(values), p: p[a]}
		if i > 0 {
			out[i].from = at[i-1]
		}
		if i+1 < len(at) {
			out[i].to = at[i+1]
		}
	}
	return out
}

// pettitt is where values most likely change their level, and the share of
// random orders of them that look as much like a change.
func pettitt(values []float64, alpha float64) (at int, p float64, ok bool) {
	n := len(values)
	if n < 2*least {
		return 0, 1, false
	}
	ranks := rank(values)
	at, most := largest(ranks)
	if most == 0 {
		return 0, 1, false
	}
	random := rand.New(rand.NewPCG(1979, uint64(n))) //nolint:gosec // the same for the same values, always
	shuffled := slices.Clone(ranks)
	as := 1 // the order itself is one of them
	for i := range orders - 1 {
		random.Shuffle(n, func(a, b int) { shuffled[a], shuffled[b] = shuffled[b], shuffled[a] })
		if _, k := largest(shuffled); k >= most {
			as++
		}
		if float64(as) >= alpha*orders {
			return at, float64(as) / float64(i+2), false // whatever the others are
		}
	}
	return at, float64(as) / orders, true
}

// largest is the parting with the largest |U|: twice the sum of the first t
// ranks less t(n+1).
func largest(ranks []float64) (at int, most float64) {
	n := float64(len(ranks))
	sum := 0.0
	for t := 1; t < len(ranks); t++ {
		sum += ranks[t-1]
		if t < least || len(ranks)-t < least {
			continue
		}
		if u := math.Abs(2*sum - float64(t)*(n+1)); u > most {
			at, most = t, u
		}
	}
	return at, most
}

// rank gives equal values their mean rank.
func rank(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return a - b
	})
	out := make([]float64, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			out[order[k]] = float64(i+j+1) / 2
		}
		i = j
	}
	return out
}
