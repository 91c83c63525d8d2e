package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/compare"
	"anvilsweep/sweep/summary"
)

func newCompare(env Env) *cobra.Command {
	var by, control, format string
	var baseline, names, allow []string
	var alpha, threshold float64
	cmd := &cobra.Command{
		Use:   "compare CONTROL CANDIDATE...",
		Short: "Say what is better or worse beyond noise, and what cannot be compared",
		Long: `Compare results cell by cell: one night with another, or with --by the values of
an axis within one set, such as tiers or engines. Cells are matched by their
position. What is not about the same is refused with the field that differs:
protocol, model, prompts, cache mode, output policy, sampling, requests, load, the
engine's version and flags, the GPU; --allow takes one out.

With repeats on both sides the test is over runs, else medians and means are
tested over the requests of the one run. It is the Mann-Whitney U test. The
difference is the median of all ratios, with its interval at the test's level. Of many
figures some differ by chance: q is the share of what is told that may be, over all
figures of the comparison, and what has more than 0.05 is not told.

With --by the cells on the Pareto frontier are named: no other of the same work gives
as much of both throughput (a GPU's, where every cell says how many it had) and
` + summary.PerUserMetric + `, and more of one.

Exit codes: 0 nothing is worse; 2 the command line or the files are wrong; 3
something is worse.`,
		Example: `  anvilsweep compare results/last-good results/tonight
  anvilsweep compare results/quickstart --by tier --control small
  anvilsweep compare results/tonight --baseline results/last-good --metric ttft_p50_ms --format markdown`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if by == "" && len(args)+len(baseline) < 2 {
				return usage(errors.New("compare needs two sets of results, or --by AXIS within one"))
			}
			if by == "" && control != "" {
				return usage(errors.New("--control is a value of the axis that --by names"))
			}
			if alpha <= 0 || alpha >= 1 {
				return usage(fmt.Errorf("--alpha %g is not between 0 and 1", alpha))
			}
			if threshold < 0 {
				return usage(fmt.Errorf("--threshold %g is negative", threshold))
			}
			o := compare.Options{Factor: by, Control: control, Alpha: alpha, Threshold: threshold, Allow: allow}
			for _, name := range figures(names) {
				m, err := figureOf(name)
				if err != nil {
					return usage(err)
				}
				o.Metrics = append(o.Metrics, m)
			}
			paths := append(baseline, args...)
			sets := make([][]*artifact.Document, len(paths))
			for i, path := range paths {
				var err error
				if sets[i], err = artifact.Figures([]string{path}, artifact.Keep{Rows: true}); err != nil {
					return usage(err)
				}
			}
			r, err := compare.Of(paths, sets, o)
			if err != nil {
				return usage(err)
			}
			if by != "" {
				if r.Pareto, err = frontier(slices.Concat(sets...), by); err != nil {
					return usage(err)
				}
			}
			switch format {
			case "table", "markdown":
				err = view.Comparison(env.Stdout, r, view.Width(env.Stdout, env.Getenv), format == "markdown")
			case "json":
				err = view.ComparisonJSON(env.Stdout, r)
			default:
				return usage(fmt.Errorf("--format %q is not one of table, markdown, json", format))
			}
			if err != nil {
				return failed(err)
			}
			if r.Count(compare.Worse) > 0 {
				return silent(exitGate)
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&baseline, "baseline", nil, "results `folder` that the others are held against, in place of the first argument")
	cmd.Flags().StringVar(&by, "by", "", "`axis` whose values are compared, such as tier, engine or one of the recipe's own")
	cmd.Flags().StringVar(&control, "control", "", "`value` of the axis that the others are held against (default: the first)")
	cmd.Flags().StringSliceVar(&names, "metric", []string{"ttft_p50_ms", "tpot_p50_ms", "e2e_p50_ms", "throughput_tok_s"}, "metric or set `name`; may be given again or separated by commas")
	cmd.Flags().Float64Var(&alpha, "alpha", compare.DefaultAlpha, "level of the test")
	cmd.Flags().Float64Var(&threshold, "threshold", compare.DefaultThreshold, "a difference of less `percent` is none")
	cmd.Flags().StringArrayVar(&allow, "allow", nil, "`field` that may differ, as it is named where it is refused, such as \"engine version\"; may be given again")
	cmd.Flags().StringVar(&format, "format", "table", "table, markdown or json")
	return cmd
}

// figures are names with sets replaced by those of their members that artifacts
// hold.
func figures(names []string) []string {
	var out []string
	for _, name := range names {
		members, set := summary.Sets[name]
		if !set {
			out = append(out, name)
			continue
		}
		for _, m := range members {
			if slices.Contains(artifact.FigureNames(), m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// figureOf finds a figure that artifacts hold.
func figureOf(name string) (compare.Metric, error) {
	m, err := summary.LookUp(name)
	if err == nil && !slices.Contains(artifact.FigureNames(), name) {
		err = fmt.Errorf("%s is made by summary and stands in no artifact; name a figure that does, such as throughput_tok_s", name)
	}
	return compare.Metric(m), err
}

// frontier are the cells on the Pareto frontier; the compared axis makes the
// columns, where tables know it.
func frontier(docs []*artifact.Document, by string) ([]string, error) {
	s, err := summary.Build(docs, summary.Options{Columns: []string{by}})
	if err != nil { // an axis of positions alone, such as sweep
		if s, err = summary.Build(docs, summary.Options{}); err != nil {
			return nil, err
		}
	}
	return s.Frontier(), nil
}
