package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/recipe"
	"anvilsweep/sweep"
)

func newPlan(env Env) *cobra.Command {
	var flags recipeFlags
	var asJSON bool
	var cells, results string
	cmd := &cobra.Command{
		Use:   "plan FILE|DIR...",
		Short: "Show the cells a recipe expands to; send nothing",
		Long: `Expand a recipe into its matrix of cells and show it: what will be run in which
order, what is excluded and why, the requests and prompt tokens in all, and an
estimate of time and cost with what it is made of. Nothing is sent. The same
recipe gives the same plan, byte for byte.`,
		Example: `  anvilsweep plan examples/recipes/quickstart.sweep.hcl
  anvilsweep plan examples/recipes/tiers.sweep.hcl --cells 'cell.tier.name == "h200" && cell.concurrency > 4'
  anvilsweep plan examples/recipes/quickstart.sweep.hcl --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			plan, diags, err := flags.load(env, args)
			if err == nil && cells != "" {
				var more recipe.Diagnostics
				if more = keepCells(plan, cells); more.HasErrors() {
					plan, err = nil, silent(exitUsage)
				}
				diags = diags.Append(more)
			}
			var measured map[string]float64
			if err == nil && results != "" {
				if measured, err = sweep.WallTimes(results); err != nil {
					err = usage(fmt.Errorf("--results: %w", err))
				}
			}
			var estimate sweep.Estimate
			if plan != nil {
				estimate = plan.Estimate(measured)
			}
			if asJSON {
				if printErr := view.PlanJSON(env.Stdout, plan, estimate, diags, err); printErr != nil {
					return errors.Join(err, failed(printErr))
				}
				return said(err)
			}
			if printErr := view.Diagnostics(env.Stderr, env.Getenv, diags); printErr != nil {
				return errors.Join(err, failed(printErr))
			}
			if err != nil {
				return err
			}
			return view.Plan(env.Stdout, env.Getenv, plan, estimate)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document (schema anvilsweep.plan/v1), errors included")
	cmd.Flags().StringVar(&cells, "cells", "", "show only the cells for which this `expression` over cell and axis holds")
	cmd.Flags().StringVar(&results, "results", "", "estimate by the cells measured in this results `folder`")
	return cmd
}

// keepCells leaves the cells that an expression holds for.
func keepCells(plan *sweep.Plan, text string) recipe.Diagnostics {
	take, diags := plan.Recipe.Filter("<--cells>", text)
	if diags.HasErrors() {
		return diags
	}
	plan.Keep(func(c *sweep.Cell) bool {
		holds, more := take(c.Point)
		diags = diags.Append(more)
		return holds
	})
	return diags
}
