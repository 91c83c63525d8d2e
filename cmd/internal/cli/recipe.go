package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/recipe"
	"anvilsweep/sweep"
	"anvilsweep/sweep/artifact"
)

// recipeFlags are what every command that reads a recipe takes.
type recipeFlags struct {
	vars     []string
	varFiles []string
	set      []string
	sweeps   []string
}

func (f *recipeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.vars, "var", nil, "set a variable of the recipe, `name=value`; may be given again")
	flags.StringArrayVar(&f.varFiles, "var-file", nil, "set variables from a `file` of name = value lines; may be given again")
	flags.StringArrayVar(&f.set, "set", nil, "set an attribute of the recipe, `path=expression`, such as sweep.nightly.repeat=1 or 'tier.*.gpu=\"H200\"'; may be given again")
	flags.StringArrayVar(&f.sweeps, "sweep", nil, "only the sweep of this `name`; may be given again")
	cmd.ValidArgsFunction = completeFiles
	completeFlag(cmd, "sweep", func(paths []string) []string {
		return (&recipeFlags{vars: f.vars, varFiles: f.varFiles}).names(Env{Getenv: nothing}, paths, sweepNames)
	})
	completeFlag(cmd, "set", func([]string) []string { return recipe.Settable() })
	completeFlag(cmd, "var", func(paths []string) []string {
		return (&recipeFlags{varFiles: f.varFiles}).names(Env{Getenv: nothing}, paths, variableNames)
	})
}

func nothing(string) string { return "" }

// load reads the recipe and plans it. What is wrong with it comes back as
// diagnostics, with a usage error once they hold an error.
func (f *recipeFlags) load(env Env, paths []string) (*sweep.Plan, recipe.Diagnostics, error) {
	opts := recipe.Options{VarFiles: f.varFiles, Getenv: env.Getenv, Metrics: artifact.FigureNames()}
	for _, v := range f.vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, recipe.Diagnostics{}, usage(fmt.Errorf("--var %q is not name=value", v))
		}
		opts.Vars = append(opts.Vars, recipe.Setting{Name: name, Value: value})
	}
	for _, v := range f.set {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, recipe.Diagnostics{}, usage(fmt.Errorf("--set %q is not path=expression", v))
		}
		opts.Set = append(opts.Set, recipe.Setting{Name: name, Value: value})
	}
	r, diags := recipe.Load(paths, opts)
	if diags.HasErrors() {
		return nil, diags, silent(exitUsage)
	}
	plan, more, err := sweep.NewPlan(r, f.sweeps...)
	diags = diags.Append(more)
	if err != nil {
		return nil, diags, usage(err)
	}
	if diags.HasErrors() {
		return nil, diags, silent(exitUsage)
	}
	return plan, diags, nil
}

// plan is load for people: diagnostics go to stderr.
func (f *recipeFlags) plan(env Env, paths []string) (*sweep.Plan, error) {
	plan, diags, err := f.load(env, paths)
	if printErr := view.Diagnostics(env.Stderr, env.Getenv, diags); printErr != nil {
		err = errors.Join(err, failed(printErr))
	}
	return plan, err
}
