package view

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"anvilsweep/sweep/export"
)

// Records prints runs as a Markdown table, with exact figures.
func Records(w io.Writer, records []export.Record, names []string) error {
	g := Grid{Header: []string{"run", "model", "tier", "flags", "context", "concurrency", "ok/n"}, Names: 4}
	g.Header = append(g.Header, names...)
	for _, r := range records {
		row := []string{cmp.Or(r.CellID, r.File), r.Model, cmp.Or(r.Tier, r.GPU), strings.Join(r.Flags, " "), contextText(r.Context), strconv.Itoa(r.Concurrency), fmt.Sprintf("%d/%d", r.Completed, r.Requests)}
		for _, name := range names {
			text := "—"
			if v, ok := r.Figures[name]; ok {
				text = exact(&v)
			}
			row = append(row, text)
		}
		g.Rows = append(g.Rows, row)
	}
	return g.Write(w, true)
}
