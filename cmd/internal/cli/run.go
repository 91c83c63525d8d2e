package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
	"anvilsweep/sweep"
	"anvilsweep/sweep/artifact"
)

func newRun(env Env) *cobra.Command {
	var flags recipeFlags
	var out string
	var grace time.Duration
	var trace bool
	var baseline []string
	var retry, locks string
	cmd := &cobra.Command{
		Use:   "run FILE|DIR... --out DIR",
		Short: "Run a recipe's cells and write their artifacts",
		Long: `Run every cell of a recipe, one after the other, and write one artifact a cell
and the sweep manifest into the output folder; then print the summary.

A folder that already holds results of the recipe is continued: cells that are
done and whole are kept, the others are run again into new files, as --retry
says. Nothing is overwritten.

Ctrl-C once: no new request is sent, those in flight may finish within the
grace period, everything is written. Twice: requests in flight are cancelled,
everything is written. Thrice: exit at once.

Exit codes: 0 every cell is done; 1 a cell or request failed; 2 the command
line, the recipe or the folder is wrong and nothing was sent; 3 a gate said no;
130 interrupted.`,
		Example: `  anvilsweep run examples/recipes/quickstart.sweep.hcl --out results/quickstart
  anvilsweep run examples/recipes/endpoint.sweep.hcl --var base_url=http://127.0.0.1:8000/v1 --out results/endpoint`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return usage(errors.New("run needs --out DIR, the folder for the results"))
			}
			if policies := []string{"failed", "interrupted", "none"}; !slices.Contains(policies, retry) {
				return usage(fmt.Errorf("--retry %q is none of %s", retry, strings.Join(policies, ", ")))
			}
			plan, err := flags.plan(env, args)
			if err != nil {
				return err
			}
			return run(env, plan, &sweep.Runner{Plan: plan, Dir: out, Trace: trace, Retry: sweep.Retry(retry), Locks: locks}, grace, baseline)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVarP(&out, "out", "o", "", "results `folder`; made if it is not there")
	cmd.Flags().StringArrayVar(&baseline, "baseline", nil, "results `folder` of an earlier run, which gates compare with; may be given again")
	cmd.Flags().StringVar(&retry, "retry", "failed", "which cells of an earlier run are run again: all that `failed`, only those interrupted, or none")
	cmd.Flags().StringVar(&locks, "endpoint-locks", "", "`folder` shared by the runs of a machine: a sweep on an endpoint that another one is using is refused")
	cmd.Flags().BoolVar(&trace, "trace", false, "keep the arrival of every chunk in a compressed file beside each artifact")
	cmd.Flags().DurationVar(&grace, "grace", 30*time.Second, "after Ctrl-C, how `long` requests in flight may take to finish")
	return cmd
}

func run(env Env, plan *sweep.Plan, runner *sweep.Runner, grace time.Duration, baseline []string) error {
	log := logger(env)
	progress := view.NewProgress(env.Stderr, env.Getenv, log, plan)
	runner.Version, runner.Getenv, runner.Log, runner.Observer = Version, env.Getenv, log, progress
	if len(baseline) > 0 {
		var err error
		if runner.Baseline, err = sweep.ReadBaseline(baseline); err != nil {
			return usage(fmt.Errorf("--baseline: %w", err))
		}
	}
	if err := runner.Check(); err != nil {
		return usage(err)
	}
	if err := runner.Open(); err != nil {
		return usage(err)
	}
	for i := range plan.Sweeps {
		for _, note := range plan.Sweeps[i].Notes {
			log.Warn(note, "sweep", plan.Sweeps[i].Name)
		}
	}
	admit, flight, stop := watch(env, progress.Say, grace)
	defer stop()
	report, err := runner.Run(admit, flight)
	progress.Close()
	if err != nil {
		return failed(err)
	}
	if err := summarize(env, runner, report); err != nil {
		return failed(err)
	}
	gates(env, report)
	switch {
	case admit.Err() != nil && !report.OK():
		return silent(exitInterrupted)
	case !report.OK():
		return silent(exitFailed)
	case len(report.FailedGates()) > 0:
		return silent(exitGate)
	}
	return nil
}

// gates says which gates held.
func gates(env Env, report sweep.Report) {
	if len(report.Gates) == 0 {
		return
	}
	no := report.FailedGates()
	for _, g := range no {
		fmt.Fprintf(env.Stdout, "gate %q says no at %s: %s does not hold\n", g.Gate, g.Cell, g.Text)
	}
	held := len(report.Gates) - len(no)
	names, cells := report.UndecidedGates()
	for _, name := range names {
		held -= cells[name]
		fmt.Fprintf(env.Stdout, "gate %q could not be decided at %d cells: a figure it needs is not there (a baseline is named by --baseline)\n", name, cells[name])
	}
	fmt.Fprintf(env.Stdout, "%d of %d gate checks held.\n", held, len(report.Gates))
}

// summarize ends a run with what `summary` prints of the same files.
func summarize(env Env, runner *sweep.Runner, report sweep.Report) error {
	if err := printSummary(env, []string{runner.Dir}, summaryOptions{format: "table"}); err != nil && !errors.Is(err, errNothing) {
		return err
	}
	line := fmt.Sprintf("%d of %d cells done", report.States[artifact.StateDone], report.Cells)
	if report.Kept > 0 {
		line += fmt.Sprintf(" (%d by an earlier run)", report.Kept)
	}
	for _, state := range []artifact.State{artifact.StateDegraded, artifact.StateFailed, artifact.StateInterrupted, artifact.StateSkipped, artifact.StateNotRun} {
		if n := report.States[state]; n > 0 {
			line += fmt.Sprintf(", %d %s", n, state)
		}
	}
	fmt.Fprintf(env.Stdout, "\n%s. Results: %s\n", line, runner.ManifestPath())
	return nil
}

// watch turns signals into the two contexts of a run: the first ends
// admission and starts the grace period, the second ends work in flight, the
// third ends the process.
func watch(env Env, say func(string), grace time.Duration) (admit, flight context.Context, stop func()) {
	admit, endAdmission := context.WithCancelCause(context.Background())
	flight, endFlight := context.WithCancelCause(context.Background())
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var late <-chan time.Time
		for count := 0; ; {
			select {
			case <-done:
				return
			case <-late:
				say("grace period over: cancelling requests in flight")
				endFlight(errors.New("interrupted, grace period over"))
			case <-env.Signals:
				count++
				switch count {
				case 1:
					say(fmt.Sprintf("interrupted: no new requests; those in flight have %s to finish (again to cancel them)", grace))
					endAdmission(errors.New("interrupted"))
					timer := time.NewTimer(grace)
					defer timer.Stop()
					late = timer.C
				case 2:
					say("interrupted again: cancelling requests in flight")
					endFlight(errors.New("interrupted"))
				default:
					env.Exit(exitInterrupted)
				}
			}
		}
	}()
	return admit, flight, func() {
		close(done)
		<-ended
		endAdmission(nil)
		endFlight(nil)
	}
}
