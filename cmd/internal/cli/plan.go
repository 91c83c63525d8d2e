package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
)

func newPlan(env Env) *cobra.Command {
	var flags recipeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan FILE|DIR...",
		Short: "Show the cells a recipe expands to; send nothing",
		Long: `Expand a recipe into its matrix of cells and show it: what will be run in which
order, what is excluded and why, and the requests and prompt tokens in all.
Nothing is sent. The same recipe gives the same plan, byte for byte.`,
		Example: `  anvilsweep plan examples/recipes/quickstart.sweep.hcl
  anvilsweep plan examples/recipes/quickstart.sweep.hcl --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !asJSON {
				plan, err := flags.plan(env, args)
				if err != nil {
					return err
				}
				return view.Plan(env.Stdout, env.Getenv, plan)
			}
			plan, diags, err := flags.load(env, args)
			if printErr := view.PlanJSON(env.Stdout, plan, diags, err); printErr != nil {
				return errors.Join(err, failed(printErr))
			}
			var f *failure
			if errors.As(err, &f) {
				return silent(f.code) // the document holds the errors
			}
			return err
		},
	}
	flags.add(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document (schema anvilsweep.plan/v1), errors included")
	return cmd
}
