package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/sweep"
)

// followEvery is how often a followed journal is looked at.
const followEvery = 200 * time.Millisecond

func newEvents(env Env) *cobra.Command {
	var after int64
	var bad, follow, asJSON bool
	cmd := &cobra.Command{
		Use:   "events DIR",
		Short: "Show what happened in a results folder",
		Long: `Show the journal of a results folder: runs, cells, engines, each with a number.
The number of the last one seen is where a later call goes on with --after.`,
		Example: `  anvilsweep events results/quickstart
  anvilsweep events results/nightly --after 120 --errors
  anvilsweep events results/nightly --follow --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for {
				events, err := sweep.ReadEvents(args[0], after)
				if err != nil {
					return usage(err)
				}
				for _, e := range events {
					after = e.N
					if bad && !e.Bad() {
						continue
					}
					if !asJSON {
						view.Event(env.Stdout, e)
						continue
					}
					line, err := json.Marshal(e)
					if err != nil {
						return failed(err)
					}
					fmt.Fprintf(env.Stdout, "%s\n", line)
				}
				if !follow {
					return nil
				}
				select {
				case <-env.Signals:
					return nil
				case <-time.After(followEvery):
				}
			}
		},
	}
	cmd.Flags().Int64Var(&after, "after", 0, "only events with a `number` above this one")
	cmd.Flags().BoolVar(&bad, "errors", false, "only what went wrong")
	cmd.Flags().BoolVar(&follow, "follow", false, "go on until Ctrl-C")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}
