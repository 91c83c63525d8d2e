package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/sweep/publish"
)

func newPublish(env Env) *cobra.Command {
	var out string
	var o publish.Options
	var limit int64
	cmd := &cobra.Command{
		Use:   "publish DIR --out COPY",
		Short: "Copy results without what should not leave the house",
		Long: `Copy a results folder with URLs, host names, addresses, ports, absolute paths, keys
and mail addresses taken out of every file. Hosts become host-1, host-2 and so on. Sizes
and SHA-256 of manifests and aggregates are made to fit again, so that verify accepts the
copy; ` + publish.LedgerName + ` names every file. Raw traces and whatever is no artifact, manifest,
recipe or journal stay behind. Model, tier and cell names, engine flags and times stay in:
--remove takes out what else may not be told. Look at the copy before it goes out.`,
		Example: `  anvilsweep publish results/quickstart --out public/quickstart
  anvilsweep publish results/nightly --out public/nightly --remove codename --limit-mib 20`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return usage(errors.New("publish needs --out, a folder that is not there yet"))
			}
			if limit < 1 {
				return usage(fmt.Errorf("--limit-mib %d is below 1", limit))
			}
			o.Limit = limit << 20
			r, err := publish.Copy(args[0], out, o)
			if err != nil {
				return failed(err)
			}
			view.Published(env.Stdout, r, out)
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "`folder` to make")
	cmd.Flags().StringArrayVar(&o.Words, "remove", nil, "`text` to take out besides, whatever its case; may be given again")
	cmd.Flags().Int64Var(&limit, "limit-mib", 256, "refuse a copy of more `MiB`")
	return cmd
}
