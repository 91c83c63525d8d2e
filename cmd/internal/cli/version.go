package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// Version is the program's version, written into every artifact.
const Version = "0.1.0"

func newVersion(env Env) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  anvilsweep version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(env.Stdout, "anvilsweep %s %s %s/%s\n", Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
