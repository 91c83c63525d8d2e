package client

import (
	"encoding/binary"
	"iter"
	"time"
)

// Output says what kind of output a chunk brought. A chunk with several counts
// as the first of them in this order.
type Output uint8

// Kinds of output.
const (
	OutputContent Output = iota
	OutputReasoning
	OutputTool
)

func (o Output) String() string {
	return [...]string{"content", "reasoning", "tool"}[o]
}

// Arrivals are the times at which the chunks with output of one stream came,
// kept in three to five bytes each. The zero value is empty.
type Arrivals struct {
	data  []byte // for each: the time since the one before, times four, plus its kind
	count int
	last  time.Duration
}

// add takes a time that is not before the last one.
func (a *Arrivals) add(at time.Duration, kind Output) {
	since := max(0, at-a.last)
	a.data = binary.AppendUvarint(a.data, uint64(since)<<2|uint64(kind))
	a.last = at
	a.count++
}

// Len is how many there are.
func (a *Arrivals) Len() int { return a.count }

// All goes through them in order; times are since the request's Start.
func (a *Arrivals) All() iter.Seq2[time.Duration, Output] {
	return func(yield func(time.Duration, Output) bool) {
		var at time.Duration
		for data := a.data; len(data) > 0; {
			v, n := binary.Uvarint(data)
			data = data[n:]
			at += time.Duration(v >> 2)
			if !yield(at, Output(v&3)) {
				return
			}
		}
	}
}

// Gaps goes through the times between one chunk and the next. A gap of zero is
// two chunks that one read brought.
func (a *Arrivals) Gaps() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		before := time.Duration(-1)
		for at := range a.All() {
			if before >= 0 && !yield(at-before) {
				return
			}
			before = at
		}
	}
}
