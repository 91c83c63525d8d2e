package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"anvilsweep/cmd/internal/view"
)

// Exit codes.
const (
	exitOK          = 0   // all done
	exitFailed      = 1   // a cell, a request or the program failed
	exitUsage       = 2   // the command line or the recipe is wrong; nothing was sent
	exitGate        = 3   // all was run, and a gate of the recipe said no
	exitInterrupted = 130 // stopped by a signal; what was there is written
)

// Env is what a command may know of the world outside.
type Env struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Signals        <-chan os.Signal
	Exit           func(int) // for the third Ctrl-C only
}

// failure is an error with the exit code it leads to. An empty message means
// that everything was said already.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

func usage(err error) error  { return &failure{exitUsage, err} }
func failed(err error) error { return &failure{exitFailed, err} }
func silent(code int) error  { return &failure{code, nil} }

// output remembers that something could not be written, so that a full disk
// behind a pipe is not a success.
type output struct {
	io.Writer
	err error
}

// Write is part of io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// Fd is the file behind the output, for what asks whether it is a terminal.
func (o *output) Fd() uintptr {
	if f, ok := o.Writer.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// Run runs one command line and returns its exit code.
func Run(args []string, env Env) int {
	stdout := &output{Writer: env.Stdout}
	env.Stdout = stdout
	root := newRoot(env)
	root.SetArgs(args)
	err := root.Execute()
	if err == nil && stdout.err != nil {
		err = failed(fmt.Errorf("the result could not be written: %w", stdout.err))
	}
	if err == nil {
		return exitOK
	}
	var f *failure
	if !errors.As(err, &f) {
		// Everything a command's own code did not classify is cobra's: a
		// flag or an argument that does not fit.
		f = &failure{exitUsage, err}
	}
	if text := f.Error(); text != "" {
		fmt.Fprintln(env.Stderr, "anvilsweep: "+text)
		if f.err == err {
			fmt.Fprintln(env.Stderr, "See 'anvilsweep --help'.")
		}
	}
	return f.code
}

func newRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "anvilsweep",
		Short: "Recipe-driven sweeps over LLM serving endpoints",
		Long: `anvilsweep runs what a recipe declares: engines, GPU tiers, context grids,
concurrency ladders and output policies become a matrix of cells; each cell is
measured against an OpenAI-compatible endpoint and leaves one linked
anvil-serving.benchmark/v1 artifact; tables put the tiers side by side.`,
		Example: `  anvilsweep plan examples/recipes/quickstart.sweep.hcl
  anvilsweep run examples/recipes/quickstart.sweep.hcl --out results/quickstart
  anvilsweep summary results/quickstart --metric ttft_p95_ms --metric throughput_tok_s`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.AddCommand(
		newInit(env), newFmt(env), newDocs(env), newValidate(env), newPlan(env), newExplain(env), newRun(env),
		newGate(env), newAggregate(env), newEvents(env), newSummary(env), newCompare(env), newHistory(env), newReport(env), newExport(env), newPublish(env), newShow(env), newVerify(env),
		newSim(env), newVersion(env),
	)
	return root
}

// logger writes to stderr; colour only on a terminal that wants it.
func logger(env Env) hclog.Logger {
	color := hclog.ColorOff
	if view.Color(env.Stderr, env.Getenv) {
		color = hclog.ForceColor
	}
	return hclog.New(&hclog.LoggerOptions{Name: "anvilsweep", Output: env.Stderr, Level: hclog.Info, Color: color})
}
