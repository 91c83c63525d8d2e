package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/sweep/artifact"
)

func newShow(env Env) *cobra.Command {
	return &cobra.Command{
		Use:     "show ARTIFACT",
		Short:   "Show one artifact: what was run, what it measured, what failed",
		Example: `  anvilsweep show results/quickstart/cells/quickstart/sim.large.ctx4096.c16.words16-*.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			docs, err := artifact.Collect(args)
			if err != nil {
				return usage(err)
			}
			if len(docs) != 1 {
				return usage(fmt.Errorf("%s is a folder; show takes one artifact", args[0]))
			}
			if docs[0].Kind != artifact.KindBenchmark {
				why := docs[0].Why
				if docs[0].Kind == artifact.KindManifest {
					why = "a sweep manifest; summary and verify take it"
				}
				return usage(fmt.Errorf("%s is no artifact: %s", args[0], why))
			}
			if err := view.Show(env.Stdout, docs[0]); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}
