package view

import (
	"fmt"
	"io"
	"strings"

	"anvilsweep/sweep"
)

// Event prints one line of a journal.
func Event(w io.Writer, e sweep.Event) {
	text := fmt.Sprintf("%6d  %s  %-14s %s %s", e.N, e.At.Format("2006-01-02T15:04:05.000Z"), e.Event, e.Cell, e.State)
	if e.Reason != "" {
		text += "  " + e.Reason
	}
	fmt.Fprintln(w, strings.TrimRight(line(text), " "))
}
