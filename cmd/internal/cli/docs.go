package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"anvilsweep/recipe"
)

func newDocs(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "docs",
		Short: "Print the recipe language's reference, in Markdown",
		Long: `Print the reference of the recipe language that this version speaks, in Markdown:
every block, attribute, default, function and path of --set.`,
		Example: `  anvilsweep docs > docs/recipe.md`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			page, err := recipe.Reference()
			if err != nil {
				return failed(err)
			}
			fmt.Fprint(env.Stdout, page)
			return nil
		},
	}
}
