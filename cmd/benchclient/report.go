//go:build linux

package main

import (
	"fmt"
	"io"
	"time"

	"anvilsweep/cmd/internal/view"
)

// pair is one load, measured by the client and by the bare reader.
type pair struct {
	task         task
	client, bare result
}

func report(out io.Writer, pairs []pair) error {
	ms := func(v *float64, from float64) string { return fmt.Sprintf("%.2f", *v-from) }
	perChunk := func(r result) float64 { return float64(r.CPU) / float64(time.Microsecond) / float64(r.Chunks) }
	first := float64(firstOutput) / 1e6
	steady := view.Grid{Names: 1, Header: []string{
		"steady", "TTFT error\nmean", "\np99", "floor\nmean", "\np99", "ITL\nmean", "\np99", "\nmax", "\ndeviation", "sent\np99", "lag\np50", "\np99", "read late\np99", "CPU µs\na chunk", "× floor",
	}}
	flood := view.Grid{Names: 1, Header: []string{"flood", "chunks/s", "floor\nchunks/s", "CPU µs\na chunk", "floor", "× floor"}}
	memory := view.Grid{Names: 1, Header: []string{"memory", "requests", "chunks", "peak resident MB"}}
	for _, p := range pairs {
		c, name := p.client, fmt.Sprintf("%d streams", p.task.Streams)
		switch p.task.Regime {
		case "steady":
			steady.Rows = append(steady.Rows, []string{
				name, ms(c.TTFT.Mean, first), ms(c.TTFT.P99, first), ms(p.bare.TTFT.Mean, first), ms(p.bare.TTFT.P99, first),
				ms(c.Gaps.Mean, 0), ms(c.Gaps.P99, 0), ms(c.Gaps.Max, 0), ms(c.Gaps.Stddev, 0), ms(c.Sent.P99, 0),
				ms(c.Lag.P50, 0), ms(c.Lag.P99, 0), fmt.Sprintf("%.2f", c.Late.P99),
				fmt.Sprintf("%.1f", perChunk(c)), fmt.Sprintf("%.2f", perChunk(c)/perChunk(p.bare)),
			})
		case "flood":
			rate := func(r result) string { return fmt.Sprintf("%.0f", float64(r.Chunks)/r.Wall.Seconds()) }
			flood.Rows = append(flood.Rows, []string{
				name, rate(c), rate(p.bare), fmt.Sprintf("%.2f", perChunk(c)), fmt.Sprintf("%.2f", perChunk(p.bare)), fmt.Sprintf("%.2f", perChunk(c)/perChunk(p.bare)),
			})
		case "memory":
			memory.Rows = append(memory.Rows, []string{
				name, fmt.Sprint(p.task.Streams * p.task.Requests), fmt.Sprint(c.Chunks), fmt.Sprintf("%.0f", float64(c.PeakBytes)/1e6),
			})
		}
	}
	for _, g := range []view.Grid{steady, flood, memory} {
		if err := g.Write(out, false); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(out, "Times in ms. TTFT error: TTFT less the 50 ms the server waits. Floor: a bare reader of the same connections.\nSent: the server's own gaps. Lag: from the server's sending a chunk to its arrival. docs/fidelity.md explains the rest.")
	return err
}
