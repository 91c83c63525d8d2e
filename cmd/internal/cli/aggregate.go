package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"anvilsweep/sweep/artifact"
)

func newAggregate(env Env) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "aggregate FILE FILE...",
		Short: "Join artifacts of synchronised replicas to one document",
		Long: `Join artifacts of replicas, independent servers of one configuration that were
driven at one time, to an anvil-serving.capacity-aggregate/v1 document: figures
over all requests, and throughput over the time the whole took. Where the clocks
do not say that time exactly, it and the throughput have bounds. The same files
in the same order give the same bytes.

Artifacts that are no such replicas are refused with the file and the field.
Without --out the document is printed. Exit codes: 0 joined; 2 refused.`,
		Example: `  anvilsweep aggregate results/a.json results/b.json --out results/both.json`,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			docs := make([]*artifact.Document, len(args))
			for i, path := range args {
				found, err := artifact.Collect([]string{path})
				if err != nil {
					return usage(err)
				}
				if len(found) != 1 {
					return usage(fmt.Errorf("%s is a folder; name the artifacts themselves", path))
				}
				docs[i] = found[0]
			}
			base := commonFolder(args)
			if out != "" {
				base = filepath.Dir(out)
			}
			joined, err := artifact.Combine(docs, base)
			if err != nil {
				return usage(err)
			}
			data, err := artifact.Encode(joined)
			if err != nil {
				return failed(err)
			}
			if out == "" {
				_, err := env.Stdout.Write(data)
				return err
			}
			if err := freeTarget(out); err != nil {
				return usage(err)
			}
			if err := artifact.WriteFile(out, data); err != nil {
				return failed(err)
			}
			throughput, _ := joined.Metrics.Float("throughput_tok_s")
			fmt.Fprintf(env.Stdout, "%d replicas, %d requests, %.1f output tok/s (%v), timeline %s. Written: %s\n",
				joined.ReplicaCount, joined.Requests, throughput, joined.Metrics["throughput_estimate_kind"], joined.Synchronization, out)
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "`file` to write; the artifacts lie in its folder or below it")
	return cmd
}

// freeTarget refuses to write over what is not an aggregate.
func freeTarget(path string) error {
	if err := artifact.CheckTarget(path); err != nil {
		return err
	}
	found, err := artifact.Collect([]string{path})
	if err != nil {
		return nil // nothing is there
	}
	if len(found) == 1 && found[0].Kind != artifact.KindAggregate {
		return errors.New(path + " is there and is no aggregate; choose another file")
	}
	return nil
}

// commonFolder is the deepest folder that holds all the files.
func commonFolder(paths []string) string {
	base := filepath.Dir(paths[0])
	for _, path := range paths[1:] {
		for rel, err := filepath.Rel(base, path); err == nil && len(rel) > 1 && rel[:2] == ".."; rel, err = filepath.Rel(base, path) {
			base = filepath.Dir(base)
		}
	}
	return base
}
