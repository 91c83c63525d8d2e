package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/recipe"
)

func newFmt(env Env) *cobra.Command {
	var check, show bool
	cmd := &cobra.Command{
		Use:   "fmt FILE|DIR...",
		Short: "Give recipes the one layout",
		Long: `Rewrite recipes in the one layout that HCL has, and name those that changed. A
recipe that cannot be parsed stays as it is. Recipes in JSON are left alone.

Exit codes: 0 all is well; 1 with --check, a recipe is not formatted; 2 a recipe
cannot be read or parsed.`,
		Example: `  anvilsweep fmt recipes/
  anvilsweep fmt --check --diff recipes/`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			sources, err := recipe.Files(args)
			if err != nil {
				return usage(err)
			}
			changed, broken := 0, false
			for _, src := range sources {
				out, diags := recipe.Format(src)
				if err := view.Diagnostics(env.Stderr, env.Getenv, diags); err != nil {
					return failed(err)
				}
				if diags.HasErrors() {
					broken = true
					continue
				}
				if string(out) == string(src.Bytes) {
					continue
				}
				changed++
				if show {
					fmt.Fprintf(env.Stdout, "%s", diff.Diff(src.Path, src.Bytes, src.Path+" (formatted)", out))
				} else {
					fmt.Fprintln(env.Stdout, src.Path)
				}
				if check || show {
					continue
				}
				if err := rewrite(src.Path, out); err != nil {
					return failed(err)
				}
			}
			switch {
			case broken:
				return silent(exitUsage)
			case check && changed > 0:
				return silent(exitFailed)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "change nothing; exit code 1 where a recipe is not formatted")
	cmd.Flags().BoolVar(&show, "diff", false, "change nothing; show what would change")
	return cmd
}

// rewrite replaces a file, whole or not at all, and keeps its mode.
func rewrite(path string, data []byte) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(info.Mode()), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
