package cli

import (
	"github.com/spf13/cobra"

	"anvilsweep/sweep"
)

// completeFiles completes recipe files and folders.
func completeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"hcl", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeFlag completes a flag with names from the recipe on the line.
func completeFlag(cmd *cobra.Command, flag string, names func(paths []string) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return names(args), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag is there: it was added a line above
	}
}

// names are what a recipe has of something; nothing where it does not load.
func (f *recipeFlags) names(env Env, paths []string, of func(*sweep.Plan) []string) []string {
	if len(paths) == 0 {
		return nil
	}
	plan, _, err := f.load(env, paths)
	if err != nil {
		return nil
	}
	return of(plan)
}

func sweepNames(plan *sweep.Plan) []string {
	var out []string
	for _, s := range plan.Sweeps {
		out = append(out, s.Name)
	}
	return out
}

func cellIDs(plan *sweep.Plan) []string {
	var out []string
	for _, s := range plan.Sweeps {
		for _, c := range s.Cells {
			out = append(out, c.ID)
		}
	}
	return out
}

func variableNames(plan *sweep.Plan) []string {
	var out []string
	for _, v := range plan.Recipe.Variables {
		out = append(out, v.Name+"=")
	}
	return out
}
