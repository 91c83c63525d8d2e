package cli

import (
	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
)

func newValidate(env Env) *cobra.Command {
	var flags recipeFlags
	cmd := &cobra.Command{
		Use:   "validate FILE|DIR...",
		Short: "Check a recipe; send nothing",
		Long: `Check a recipe and everything its cells evaluate. All errors are shown at once
with their places. Exit code 2 when there is one.`,
		Example: `  anvilsweep validate examples/recipes/quickstart.sweep.hcl
  anvilsweep validate recipes/ --var host=10.0.0.7`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			plan, err := flags.plan(env, args)
			if err != nil {
				return err
			}
			view.Valid(env.Stdout, plan)
			return nil
		},
	}
	flags.add(cmd.Flags())
	return cmd
}
