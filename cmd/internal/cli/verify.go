package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/sweep"
	"anvilsweep/sweep/artifact"
)

func newVerify(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "verify PATH...",
		Short: "Recompute artifacts from their rows and follow their links",
		Long: `Recompute every figure of artifacts of any generation from their own rows, bit for
bit; follow manifests to their artifacts, with sizes, SHA-256, digests and links back,
and to the recipe's copies; hold the journal against both; make aggregates again. Says what was checked, what could not be and why, and what a file is that is no
artifact. Exit code 1 when something does not agree.`,
		Example: `  anvilsweep verify results/quickstart
  anvilsweep verify results/quickstart/cells/quickstart/*.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			docs, err := artifact.Collect(args)
			if err != nil {
				return usage(err)
			}
			var reports []artifact.Report
			refused, artifacts := 0, 0
			for _, d := range docs {
				reports = append(reports, artifact.Verify(d))
				if d.Kind != artifact.KindOther {
					artifacts++
				}
				if d.Kind == artifact.KindManifest {
					if journal, ok := sweep.VerifyJournal(d); ok {
						reports = append(reports, journal)
					}
				}
			}
			for _, r := range reports {
				if len(r.Faults) > 0 {
					refused++
				}
			}
			view.Verify(env.Stdout, reports)
			switch {
			case refused > 0:
				return silent(exitFailed)
			case artifacts == 0:
				return failed(errors.New("there is no artifact and no manifest among the files"))
			}
			return nil
		},
	}
}
