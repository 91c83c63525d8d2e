package view

import (
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Grid is a table of finished text.
type Grid struct {
	Header []string
	Rows   [][]string
	Names  int // how many leading columns hold names, set flush left; the rest are figures
}

// fit shortens the names of the first column until the grid is no wider than
// width, down to a least that still tells them apart; figures are never cut.
func (g Grid) fit(width int) {
	const least = 24
	total, first := 0, 0
	for i := range g.Header {
		widest := columns(g.Header[i])
		for _, row := range g.Rows {
			widest = max(widest, columns(row[i]))
		}
		total += widest + 2
		if i == 0 {
			first = widest
		}
	}
	if total <= width {
		return
	}
	for _, row := range g.Rows {
		row[0] = shorten(row[0], max(least, first-(total-width)))
	}
}

// Write renders the grid with light borders, or as Markdown.
func (g Grid) Write(w io.Writer, markdown bool) error {
	align := make([]tw.Align, len(g.Header))
	for i := range align {
		align[i] = tw.AlignRight
		if i < g.Names {
			align[i] = tw.AlignLeft
		}
	}
	options := []tablewriter.Option{
		// Metric names are shown as they are written on the command line.
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		// Else the locale decides how wide lines and marks are, and terminals of
		// today do not follow it: borders come out of line.
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithAlignment(align),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
	}
	if markdown {
		options = append(options, tablewriter.WithRenderer(renderer.NewMarkdown()))
	} else {
		options = append(options, tablewriter.WithRendition(tw.Rendition{
			Borders: tw.BorderNone, Symbols: tw.NewSymbols(tw.StyleLight),
			Settings: tw.Settings{Separators: tw.SeparatorsNone},
		}))
	}
	table := tablewriter.NewTable(w, options...)
	table.Header(anys(g.Header, markdown)...)
	for _, row := range g.Rows {
		if err := table.Append(anys(row, markdown)...); err != nil {
			return err
		}
	}
	return table.Render()
}

func anys(cells []string, markdown bool) []any {
	out := make([]any, len(cells))
	for i, c := range cells {
		out[i] = cell(c, markdown)
	}
	return out
}

// cell keeps foreign text in its cell: the Markdown renderer escapes neither
// the column mark nor line ends, and a terminal obeys control characters.
func cell(s string, markdown bool) string {
	s = printable(s)
	if markdown {
		s = strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", "<br>").Replace(s)
	}
	return s
}

// printable replaces what a terminal would act on: control characters, escape
// sequences, line ends inside foreign text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r < 0x20, r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return '�'
		}
		return r
	}, s)
}

// line is printable text on one line.
func line(s string) string { return strings.ReplaceAll(printable(s), "\n", " ") }

// columns is how wide s is on a terminal.
func columns(s string) int {
	widest := 0
	for _, l := range strings.Split(s, "\n") {
		widest = max(widest, displaywidth.String(l))
	}
	return widest
}
