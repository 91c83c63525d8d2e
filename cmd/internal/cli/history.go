package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/compare"
	"anvilsweep/sweep/history"
	"anvilsweep/sweep/report"
)

func newHistory(env Env) *cobra.Command {
	var format, out, metric, where string
	o := history.Options{}
	cmd := &cobra.Command{
		Use:   "history DIR...",
		Short: "Follow one figure over many nights, with the points where its level changed",
		Long: `Follow one figure of each cell over many nights. A night is a results folder; runs
outside of one are taken together by the day they began on. Shown are the cell's level
since it last changed, the last night against it, and the trend; then what changed on
which night: the recipe, the engine's version and flags, the configuration.

A level changes where Pettitt's test over the nights says so. Nights with failed
requests or a limited client are shown and not used. Where the work itself changed,
such as the output policy, nights before and after are not held against each other.

--format html makes a page with a chart a cell.`,
		Example: `  anvilsweep history results/nights
  anvilsweep history results/2026-09-* --metric throughput_tok_s
  anvilsweep history results/nights --format html --out history.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := figureOf(metric)
			if err != nil {
				return usage(err)
			}
			if o.Alpha <= 0 || o.Alpha >= 1 {
				return usage(fmt.Errorf("--alpha %g is not between 0 and 1", o.Alpha))
			}
			if o.Threshold < 0 {
				return usage(fmt.Errorf("--threshold %g is negative", o.Threshold))
			}
			docs, err := artifact.Figures(args, artifact.Keep{})
			if err != nil {
				return usage(err)
			}
			if where != "" {
				if docs, err = keepWhere(env, docs, where); err != nil {
					return err
				}
			}
			o.Metric = m
			h := history.Of(docs, o)
			if len(h.Nights) == 0 {
				return failed(fmt.Errorf("%w in %s that says when it was measured", errNothing, strings.Join(args, ", ")))
			}
			var text bytes.Buffer
			switch format {
			case "table", "markdown":
				err = view.History(&text, h, view.Width(env.Stdout, env.Getenv), format == "markdown")
			case "csv":
				err = view.HistoryCSV(&text, h)
			case "json":
				err = view.HistoryJSON(&text, h)
			case "html":
				err = report.HistoryPage(&text, h, "anvilsweep "+Version)
			default:
				return usage(fmt.Errorf("--format %q is not one of table, markdown, csv, json, html", format))
			}
			if err != nil {
				return failed(err)
			}
			return writeOut(env, out, text.Bytes())
		},
	}
	cmd.Flags().StringVar(&metric, "metric", "ttft_p50_ms", "metric `name`")
	cmd.Flags().Float64Var(&o.Alpha, "alpha", compare.DefaultAlpha, "level of the test")
	cmd.Flags().Float64Var(&o.Threshold, "threshold", compare.DefaultThreshold, "a change of less `percent` is none")
	cmd.Flags().StringVar(&where, "where", "", "only the cells for which this `expression` over cell and axis holds")
	cmd.Flags().StringVar(&format, "format", "table", "table, markdown, csv, json or html")
	cmd.Flags().StringVarP(&out, "out", "o", "", "`file` to write (default: standard output)")
	return cmd
}
