package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/sweep"
)

func newExplain(env Env) *cobra.Command {
	var flags recipeFlags
	var cell string
	cmd := &cobra.Command{
		Use:   "explain FILE|DIR... --cell CELL",
		Short: "Say why a cell exists and where each of its values comes from",
		Long: `Say why a recipe has a cell, what it measures, and where each value comes from:
the block and line, the expression, the variable and how it was set; with the
rules that will decide about it. CELL is a cell's id or its beginning, as plan
shows it.`,
		Example: `  anvilsweep explain examples/recipes/quickstart.sweep.hcl --cell sim.large.ctx4096.c16`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if cell == "" {
				return usage(fmt.Errorf("explain needs --cell CELL; plan --json has the ids"))
			}
			plan, err := flags.plan(env, args)
			if err != nil {
				return err
			}
			s, c, err := findCell(plan, cell)
			if err != nil {
				return usage(err)
			}
			view.Explain(env.Stdout, plan, s, c)
			return nil
		},
		ValidArgsFunction: completeFiles,
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&cell, "cell", "", "the cell's `id`, or its beginning")
	completeFlag(cmd, "cell", func(paths []string) []string { return flags.names(env, paths, cellIDs) })
	return cmd
}

// findCell is the only cell whose id begins so, or has just that id.
func findCell(plan *sweep.Plan, id string) (*sweep.PlannedSweep, *sweep.Cell, error) {
	var found []*sweep.Cell
	var in *sweep.PlannedSweep
	for i := range plan.Sweeps {
		for j := range plan.Sweeps[i].Cells {
			c := &plan.Sweeps[i].Cells[j]
			if c.ID == id {
				return &plan.Sweeps[i], c, nil
			}
			if strings.HasPrefix(c.ID, id) {
				found, in = append(found, c), &plan.Sweeps[i]
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, nil, fmt.Errorf("the recipe has no cell %q; plan --json has the ids", id)
	case 1:
		return in, found[0], nil
	}
	return nil, nil, fmt.Errorf("%d cells begin with %q, the first two are %s and %s", len(found), id, found[0].ID, found[1].ID)
}
