package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/summary"
)

// errNothing means that there was no artifact among the files.
var errNothing = errors.New("no artifact found")

func newSummary(env Env) *cobra.Command {
	var format, where, slo string
	var metrics, rows, columns []string
	cmd := &cobra.Command{
		Use:   "summary PATH...",
		Short: "Put the tiers of any artifacts side by side",
		Long: `Read artifacts, manifests and folders of them, of any generation of the format,
and print a row a context and concurrency with the tiers side by side: the best
marked, the difference to the first column in percent, requests and failures
shown, p99 marked where it has fewer than 100 samples, repeats folded into their
median with half their range as ±. A run without a tier takes its gpu for one,
then its engine.

--rows and --columns take axes: model, engine, tier, context, concurrency,
output, cache and the recipes' own. An axis in neither whose cells would fall
together becomes a row axis by itself: different cells are never one figure.

Metrics are the artifact's own keys and those made here:
  ` + summary.CostMetric + `, ` + summary.TotalCostMetric + `  the tier's price over tokens
  ` + summary.PerGPUMetric + `  throughput over the GPUs of the tier
  ` + summary.RequestRateMetric + `  completed requests over the pool's wall time
  ` + summary.GoodputMetric + `, ` + summary.AttainedMetric + `  with --slo; a failed request met nothing
Sets name several at once: ` + strings.Join(slices.Sorted(maps.Keys(summary.Sets)), ", ") + `.

◆ marks the Pareto frontier of a context: no other ranked cell gives as much of
both throughput (a GPU's, where every cell says how many it had) and
` + summary.PerUserMetric + `, and more of one. Where all cells are on it, none is marked.

--where is an expression of the recipe language, as in plan --cells.`,
		Example: `  anvilsweep summary results/quickstart
  anvilsweep summary results/quickstart --metric ttft_p99_ms --metric decode_tok_s_p50
  anvilsweep summary results/quickstart --rows tier,context --columns concurrency --metric throughput
  anvilsweep summary results/quickstart --where 'cell.concurrency > 2' --slo ttft=500ms,tpot=50ms
  anvilsweep summary results/monday results/tuesday --format csv`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			err := printSummary(env, args, summaryOptions{format, where, slo, summary.Options{Metrics: metrics, Rows: rows, Columns: columns}})
			if errors.Is(err, errNothing) {
				return failed(fmt.Errorf("%w in %s", err, strings.Join(args, ", ")))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "table, markdown, csv or json")
	cmd.Flags().StringSliceVar(&metrics, "metric", nil, "metric or set `name` to show; may be given again or separated by commas")
	cmd.Flags().StringSliceVar(&rows, "rows", nil, "`axes` that make the rows (default context,concurrency)")
	cmd.Flags().StringSliceVar(&columns, "columns", nil, "`axes` that make the columns (default tier)")
	cmd.Flags().StringVar(&where, "where", "", "show only the cells for which this `expression` over cell and axis holds")
	cmd.Flags().StringVar(&slo, "slo", "", "show goodput: what of the requests met these most `times`, of ttft, ttfo, tpot and e2e")
	return cmd
}

type summaryOptions struct {
	format, where, slo string
	summary.Options
}

func printSummary(env Env, paths []string, o summaryOptions) error {
	var keep artifact.Keep
	var err error
	if keep.SLO, err = sloOf(o.slo); err != nil {
		return usage(err)
	}
	docs, err := artifact.Figures(paths, keep)
	if err != nil {
		return usage(err)
	}
	if o.where != "" {
		if docs, err = keepWhere(env, docs, o.where); err != nil {
			return err
		}
	}
	s, err := summary.Build(docs, o.Options)
	if err != nil {
		return usage(err)
	}
	if len(keep.SLO) > 0 {
		s.Notes = append(s.Notes, sloNote(keep.SLO))
	}
	switch o.format {
	case "table":
		err = view.Summary(env.Stdout, s, view.Width(env.Stdout, env.Getenv), false)
	case "markdown":
		err = view.Summary(env.Stdout, s, view.Width(env.Stdout, env.Getenv), true)
	case "csv":
		err = view.SummaryCSV(env.Stdout, s)
	case "json":
		err = view.SummaryJSON(env.Stdout, s)
	default:
		return usage(fmt.Errorf("--format %q is not one of table, markdown, csv, json", o.format))
	}
	if err != nil {
		return failed(err)
	}
	if len(s.Sections) == 0 {
		return errNothing
	}
	return nil
}

// sloOf reads --slo; none is none.
func sloOf(text string) (artifact.SLO, error) {
	if text == "" {
		return nil, nil
	}
	slo, err := artifact.ParseSLO(text)
	if err != nil {
		return nil, fmt.Errorf("--slo: %w", err)
	}
	return slo, nil
}

func sloNote(slo artifact.SLO) string {
	return "Goodput counts requests with " + slo.String() + "; a failed one meets nothing."
}
