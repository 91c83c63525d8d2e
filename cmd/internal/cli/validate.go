package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
)

func newValidate(env Env) *cobra.Command {
	var flags recipeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate FILE|DIR...",
		Short: "Check a recipe; send nothing",
		Long: `Check a recipe and everything its cells evaluate. All errors are shown at once
with their places. Exit code 2 when there is one.`,
		Example: `  anvilsweep validate examples/recipes/quickstart.sweep.hcl
  anvilsweep validate recipes/ --var host=10.0.0.7
  anvilsweep validate recipes/ --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !asJSON {
				plan, err := flags.plan(env, args)
				if err != nil {
					return err
				}
				view.Valid(env.Stdout, plan)
				return nil
			}
			plan, diags, err := flags.load(env, args)
			if printErr := view.ValidJSON(env.Stdout, plan, diags, err); printErr != nil {
				return errors.Join(err, failed(printErr))
			}
			return said(err)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document (schema anvilsweep.diagnostics/v1), for editors and CI")
	return cmd
}

// said keeps the exit code of an error that the document on stdout holds.
func said(err error) error {
	var f *failure
	if errors.As(err, &f) {
		return silent(f.code)
	}
	return err
}
