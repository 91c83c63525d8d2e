package prompt

// buckets is the measured context distribution: upper cumulative bound and
// nominal tokens.
var buckets = []struct {
	bound  float64
	tokens int
}{{.218, 16000}, {.602, 32768}, {.906, 65536}, {.995, 131072}, {1, 262144}}

// SampleContexts draws n contexts of the measured distribution. The draws are
// those of Python's random.Random(seed).random(), one a request.
func SampleContexts(seed int64, n int) []int {
	random := newTwister(seed)
	out := make([]int, n)
	for i := range out {
		r := random.float()
		for _, b := range buckets {
			if b.bound >= r {
				out[i] = b.tokens
				break
			}
		}
	}
	return out
}

// twister is MT19937 (Matsumoto and Nishimura 1998), seeded with init_by_array
// over the 32-bit words of the seed's absolute value, as Python does.
type twister struct {
	state [624]uint32
	next  int
}

func newTwister(seed int64) *twister {
	magnitude := uint64(seed)
	if seed < 0 {
		magnitude = -magnitude
	}
	key := []uint32{uint32(magnitude)}
	if high := uint32(magnitude >> 32); high != 0 {
		key = append(key, high)
	}
	t := &twister{next: 624}
	t.state[0] = 19650218
	for i := 1; i < 624; i++ {
		t.state[i] = 1812433253*(t.state[i-1]^t.state[i-1]>>30) + uint32(i)
	}
	i, j := 1, 0
	for range 624 {
		t.state[i] = (t.state[i] ^ (t.state[i-1]^t.state[i-1]>>30)*1664525) + key[j] + uint32(j)
		i, j = i+1, (j+1)%len(key)
		if i == 624 {
			t.state[0], i = t.state[623], 1
		}
	}
	for range 623 {
		t.state[i] = (t.state[i] ^ (t.state[i-1]^t.state[i-1]>>30)*1566083941) - uint32(i)
		if i++; i == 624 {
			t.state[0], i = t.state[623], 1
		}
	}
	t.state[0] = 1 << 31
	return t
}

func (t *twister) uint32() uint32 {
	if t.next == 624 {
		for i := range t.state {
			y := t.state[i]&(1<<31) | t.state[(i+1)%624]&(1<<31-1)
			t.state[i] = t.state[(i+397)%624] ^ y>>1 ^ (y&1)*0x9908b0df
		}
		t.next = 0
	}
	y := t.state[t.next]
	t.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// float is uniform in [0, 1) with 53 bits.
func (t *twister) float() float64 {
	a, b := t.uint32()>>5, t.uint32()>>6
	return (float64(a)*(1<<26) + float64(b)) / (1 << 53)
}
