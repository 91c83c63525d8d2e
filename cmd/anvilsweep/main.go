// Command anvilsweep runs declarative sweeps over LLM serving endpoints.
package main

import (
	"os"
	"os/signal"
	"syscall"

	"anvilsweep/cmd/internal/cli"
)

func main() {
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(cli.Run(os.Args[1:], cli.Env{
		Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Signals: signals, Exit: os.Exit,
	}))
}
