package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/sweep"
)

func newGate(env Env) *cobra.Command {
	var flags recipeFlags
	var recipes, baseline []string
	var junit string
	var markdown bool
	cmd := &cobra.Command{
		Use:   "gate DIR --recipe FILE|DIR",
		Short: "Hold results against the gates of a recipe; send nothing",
		Long: `Hold the results in a folder against the gates of a recipe, as run does at its end:
with the recipe that made them, or with one whose gates have changed since. Cells
are found by their digest.

Exit codes: 0 every gate that could be decided held; 2 the command line, the
recipe or the folder is wrong; 3 a gate did not hold.`,
		Example: `  anvilsweep gate results/tonight --recipe examples/recipes/nightly.sweep.hcl --baseline results/last-good
  anvilsweep gate results/tonight --recipe examples/recipes/nightly.sweep.hcl --junit gates.xml --markdown`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(recipes) == 0 {
				return usage(errors.New("gate needs --recipe, the file or folder whose gates are held"))
			}
			plan, err := flags.plan(env, recipes)
			if err != nil {
				return err
			}
			var before sweep.Baseline
			if len(baseline) > 0 {
				if before, err = sweep.ReadBaseline(baseline); err != nil {
					return usage(fmt.Errorf("--baseline: %w", err))
				}
			}
			results, err := sweep.HoldGates(plan, args[0], before)
			if err != nil {
				return usage(err)
			}
			if junit != "" {
				if err := writeJUnit(junit, results); err != nil {
					return failed(err)
				}
			}
			if err := view.Gates(env.Stdout, results, markdown); err != nil {
				return failed(err)
			}
			if len((sweep.Report{Gates: results}).FailedGates()) > 0 {
				return silent(exitGate)
			}
			return nil
		},
	}
	flags.add(cmd)
	cmd.ValidArgsFunction = nil
	cmd.Flags().StringArrayVar(&recipes, "recipe", nil, "recipe `file` or folder; may be given again")
	cmd.Flags().StringArrayVar(&baseline, "baseline", nil, "results `folder` of an earlier run, which gates compare with; may be given again")
	cmd.Flags().StringVar(&junit, "junit", "", "also write a JUnit XML `file`, for CI")
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print Markdown, for a pull request")
	return cmd
}

func writeJUnit(path string, results []sweep.GateResult) error {
	data, err := view.JUnit(results)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
