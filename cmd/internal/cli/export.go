package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/export"
	"anvilsweep/sweep/summary"
)

// exportFormats are what export writes.
var exportFormats = []string{"csv", "json", "benchfmt", "parquet", "markdown"}

func newExport(env Env) *cobra.Command {
	var format, out string
	var names []string
	var long bool
	cmd := &cobra.Command{
		Use:   "export PATH...",
		Short: "Write the figures of any artifacts for other programs",
		Long: `Write every run among artifacts and folders of them, of any generation, with its
identity and its exact figures. A figure that was not measured or is withheld is
left out, never 0.

csv and parquet (for DuckDB and pandas) have a row a run and a column a figure, with
--long a row a run and figure; json has one record a run; benchfmt is the format of
Go's benchmarks, repeats as lines of one name, for benchstat; markdown is a table for
people, of the figures named or else the usual ones.`,
		Example: `  anvilsweep export results/quickstart --format csv --long > figures.csv
  anvilsweep export results/quickstart --format parquet --out figures.parquet
  anvilsweep export results/quickstart --format benchfmt --figure ttft_p50_ms > quickstart.txt`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(exportFormats, format) {
				return usage(fmt.Errorf("--format %q is not one of %s", format, strings.Join(exportFormats, ", ")))
			}
			if long && format != "csv" && format != "parquet" {
				return usage(errors.New("--long is for csv and parquet"))
			}
			known := artifact.FigureNames()
			for _, name := range names {
				if !slices.Contains(known, name) {
					return usage(fmt.Errorf("--figure %q is no figure of an artifact", name))
				}
			}
			switch {
			case len(names) == 0 && format == "markdown":
				names = summary.DefaultMetrics
			case len(names) == 0:
				names = known
			}
			docs, err := artifact.Figures(args, artifact.Keep{})
			if err != nil {
				return usage(err)
			}
			records := export.Records(docs, names)
			if len(records) == 0 {
				return failed(fmt.Errorf("%w in %s", errNothing, strings.Join(args, ", ")))
			}
			var data bytes.Buffer
			if err := exported(&data, format, records, names, long); err != nil {
				return failed(err)
			}
			return writeOut(env, out, data.Bytes())
		},
	}
	cmd.Flags().StringVar(&format, "format", "csv", strings.Join(exportFormats, ", "))
	cmd.Flags().BoolVar(&long, "long", false, "csv or parquet with a row a run and figure")
	cmd.Flags().StringSliceVar(&names, "figure", nil, "`name` of a figure to write; may be given again or separated by commas (default: all)")
	cmd.Flags().StringVarP(&out, "out", "o", "", "`file` to write (default: standard output)")
	return cmd
}

func exported(w io.Writer, format string, records []export.Record, names []string, long bool) error {
	switch format {
	case "csv":
		return export.CSV(w, records, names, long)
	case "json":
		return export.JSON(w, records)
	case "benchfmt":
		return export.Benchfmt(w, records)
	case "markdown":
		return view.Records(w, records, names)
	}
	if long {
		return export.ParquetLong(w, records)
	}
	return export.ParquetWide(w, records, names)
}
