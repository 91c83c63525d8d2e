package simengine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// sequence is one request inside the engine.
type sequence struct {
	prompt    int      // tokens
	blocks    []uint64 // chained hashes of the prompt's whole blocks
	reasoning int      // tokens
	total     int      // tokens to generate, reasoning included

	unread int  // prompt tokens still to be prefilled
	made   int  // tokens generated
	told   bool // how many of its tokens were cached
	cached int  // prompt tokens the prefix cache held

	// tokens carries the number of cached tokens once, then one value a token.
	// It has room for all of them: the scheduler never waits for a reader.
	tokens chan int
	gone   atomic.Bool // nobody reads any more
}

func newSequence(prompt int, blocks []uint64, reasoning, total int) *sequence {
	return &sequence{prompt: prompt, blocks: blocks, reasoning: reasoning, total: total, tokens: make(chan int, total+1)}
}

// scheduler runs sequences in steps; see the package's model.
type scheduler struct {
	profile Profile
	memory  int // tokens of KV cache; 0: no limit
	cache   *prefixCache
	wake    chan struct{}
	running []*sequence // the scheduler's own

	mu      sync.Mutex
	waiting []*sequence
	stopped bool
	load    load
}

// load is what the metrics page tells.
type load struct {
	running, used          int // sequences; tokens in the KV cache
	queries, hits, putBack int64
}

func newScheduler(p Profile, memory int) *scheduler {
	return &scheduler{profile: p, memory: memory, cache: newPrefixCache(p), wake: make(chan struct{}, 1)}
}

// now is the load at this moment, and how many sequences wait.
func (s *scheduler) now() (load, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load, len(s.waiting)
}

// add queues a sequence; one that comes after the end is ended at once.
func (s *scheduler) add(seq *sequence) {
	s.mu.Lock()
	if s.stopped {
		close(seq.tokens)
	} else {
		s.waiting = append(s.waiting, seq)
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run steps until the context ends, then ends every sequence short.
func (s *scheduler) run(ctx context.Context) {
	clock := time.Now()
	for {
		s.admit()
		if len(s.running) == 0 {
			select {
			case <-ctx.Done():
				s.end()
				return
			case <-s.wake:
				clock = time.Now()
				continue
			}
		}
		prefilled, decoding := s.plan()
		clock = clock.Add(s.length(prefilled, decoding))
		if !sleepUntil(ctx, clock) {
			s.end()
			return
		}
		s.step()
	}
}

// admit drops sequences that nobody reads and fills the batch.
func (s *scheduler) admit() {
	kept := s.running[:0]
	for _, seq := range s.running {
		if !seq.gone.Load() && seq.made < seq.total {
			kept = append(kept, seq)
		}
	}
	clear(s.running[len(kept):])
	s.running = kept
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) > 0 && len(s.running) < s.profile.MaxSeqs {
		seq := s.waiting[0]
		if s.memory > 0 && len(s.running) > 0 && s.used()+seq.prompt+seq.made+1 > s.memory {
			break
		}
		s.waiting = s.waiting[1:]
		if seq.gone.Load() {
			continue
		}
		// The last token of a prompt is always computed.
		seq.cached = min(s.cache.hit(seq.blocks), seq.prompt-1)
		seq.unread = seq.prompt + seq.made - seq.cached
		if !seq.told {
			seq.told = true
			seq.tokens <- seq.cached
			s.load.queries, s.load.hits = s.load.queries+int64(seq.prompt), s.load.hits+int64(seq.cached)
		}
		s.running = append(s.running, seq)
	}
	// Those that run grow by a token a step; where they outgrow the memory the
	// youngest goes back and is read anew.
	for s.memory > 0 && len(s.running) > 1 && s.used()+len(s.running) > s.memory {
		last := len(s.running) - 1
		s.waiting = append([]*sequence{s.running[last]}, s.waiting...)
		s.running = s.running[:last]
		s.load.putBack++
	}
	s.load.running, s.load.used = len(s.running), s.used()
}

// used is how many tokens the KV cache holds for the sequences that run.
func (s *scheduler) used() int {
	n := 0
	for _, seq := range s.running {
		n += seq.prompt + seq.made
	}
	return n
}

// plan says how many prompt tokens the next step reads and how many sequences
// get a token.
func (s *scheduler) plan() (prefilled, decoding int) {
	budget := s.profile.PrefillChunk
	for _, seq := range s.running {
		take := min(seq.unread, budget-prefilled)
		prefilled += take
		if take == seq.unread {
			decoding++
		}
	}
	return prefilled, decoding
}

func (s *scheduler) length(prefilled, decoding int) time.Duration {
	p := s.profile
	d := p.DecodeStep + time.Duration(decoding)*p.DecodePerSeq
	if p.PrefillTokS > 0 {
		d += time.Duration(float64(prefilled) / p.PrefillTokS * float64(time.Second))
	}
	return d
}

// step does what plan foresaw.
func (s *scheduler) step() {
	budget := s.profile.PrefillChunk
	for _, seq := range s.running {
		take := min(seq.unread, budget)
		budget -= take
		if take == seq.unread {
			if take > 0 {
				s.cache.add(seq.blocks)
			}
			seq.made++
			seq.tokens <- seq.made
			if seq.made == seq.total {
				close(seq.tokens)
			}
		}
		seq.unread -= take
	}
}

// end closes what is still open; its readers see a stream cut short.
func (s *scheduler) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seq := range append(s.running, s.waiting...) {
		if seq.made < seq.total {
			close(seq.tokens)
		}
	}
	s.running, s.waiting, s.stopped = nil, nil, true
}

// sleepUntil reports whether the time came before the context ended.
func sleepUntil(ctx context.Context, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
