package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/report"
)

func newReport(env Env) *cobra.Command {
	var out, title, where, slo string
	var metrics []string
	cmd := &cobra.Command{
		Use:   "report PATH...",
		Short: "Make one page of any artifacts, to open in a browser",
		Long: `Make one HTML page of artifacts, manifests and folders of them, of any generation:
the tiers side by side, charts over the ladders, the Pareto frontier, the time line,
prompt sizes, failures, every cell's details, identity and provenance, and how each
figure is defined. The page is one file that needs no network, prints, reads in
light and dark, by keyboard and by screen reader. The same files make the same bytes.

The page holds what the artifacts hold, error texts among it; publish takes out
what should not leave the house.`,
		Example: `  anvilsweep report results/quickstart --out report.html
  anvilsweep report results/quickstart --where 'cell.context < 4096' --metric latency -o latency.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			keep := artifact.Keep{Failures: true}
			var err error
			if keep.SLO, err = sloOf(slo); err != nil {
				return usage(err)
			}
			docs, err := artifact.Figures(args, keep)
			if err != nil {
				return usage(err)
			}
			o := report.Options{Title: title, Program: "anvilsweep " + Version, Metrics: metrics}
			if len(keep.SLO) > 0 {
				o.Notes = append(o.Notes, sloNote(keep.SLO))
			}
			if where != "" {
				if docs, err = keepWhere(env, docs, where); err != nil {
					return err
				}
				o.Notes = append(o.Notes, "Only the cells for which "+where+" holds.")
			}
			if runs, _ := artifact.Runs(docs); len(runs) == 0 {
				return failed(fmt.Errorf("%w in %s", errNothing, strings.Join(args, ", ")))
			}
			o.Title = cmp.Or(o.Title, titleOf(docs, args))
			var page bytes.Buffer
			if err := report.Page(&page, docs, o); err != nil {
				return usage(err)
			}
			return writeOut(env, out, page.Bytes())
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "`file` to write (default: standard output)")
	cmd.Flags().StringVar(&title, "title", "", "`text` over the page (default: the sweeps' names)")
	cmd.Flags().StringVar(&where, "where", "", "only the cells for which this `expression` over cell and axis holds")
	cmd.Flags().StringVar(&slo, "slo", "", "show goodput: what of the requests met these most `times`, as in summary")
	cmd.Flags().StringSliceVar(&metrics, "metric", nil, "metric or set `name` of the tables; may be given again or separated by commas")
	return cmd
}

// titleOf names results by their sweeps, else by where they are.
func titleOf(docs []*artifact.Document, paths []string) string {
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, d := range docs {
		if d.Kind == artifact.KindManifest {
			for _, s := range d.Manifest.Sweeps {
				add(s.Name)
			}
		}
	}
	if len(names) == 0 {
		for _, p := range paths {
			add(filepath.Base(p))
		}
	}
	const shown = 4
	if len(names) > shown {
		names = append(names[:shown], fmt.Sprintf("and %d more", len(names)-shown))
	}
	return "Sweep of " + strings.Join(names, ", ")
}

// writeOut writes a finished result whole to a file, or to standard output.
func writeOut(env Env, path string, data []byte) error {
	if path == "" {
		if _, err := env.Stdout.Write(data); err != nil {
			return failed(err)
		}
		return nil
	}
	if err := artifact.CheckTarget(path); err != nil {
		return usage(err)
	}
	if err := artifact.WriteFile(path, data); err != nil {
		return failed(err)
	}
	return nil
}
