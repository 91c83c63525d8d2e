//go:build linux

// Command benchclient measures the client itself. It starts a server of known
// timing in a process of its own, drives it with the client in another, does the
// same with a bare reader, and prints what the client adds to what it measures.
// docs/fidelity.md explains the tables.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// task is one measurement, told to a child process in its arguments.
type task struct {
	Regime   string // steady, flood or memory
	Streams  int
	Requests int // of each stream, one after another
	Chunks   int // of each request
	Bare     bool
	URL      string
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchclient:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("benchclient", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "a tenth of the load: does it work, not what are the figures")
	role := flags.String("role", "", "what a child process is: serve, or a task in JSON; for the program's own use")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *role == "serve":
		return serve(out)
	case *role != "":
		var t task
		if err := json.Unmarshal([]byte(*role), &t); err != nil {
			return err
		}
		result, err := t.run()
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(result)
	}
	return bench(out, *quick)
}

// tasks are the loads of the report.
func tasks(quick bool) []task {
	steady := func(streams, requests int) task {
		return task{Regime: "steady", Streams: streams, Requests: requests, Chunks: steadyChunks}
	}
	all := []task{
		steady(1, 20), steady(10, 10), steady(100, 5), steady(250, 5), steady(500, 5), steady(1000, 3),
		{Regime: "flood", Streams: 16, Requests: 4, Chunks: 100_000},
		{Regime: "flood", Streams: 64, Requests: 4, Chunks: 25_000},
		{Regime: "memory", Streams: 1000, Requests: 10, Chunks: 1000},
	}
	if quick {
		all = []task{steady(1, 2), steady(50, 1), {Regime: "flood", Streams: 4, Requests: 1, Chunks: 20_000}, {Regime: "memory", Streams: 50, Requests: 2, Chunks: 100}}
	}
	return all
}

func bench(out io.Writer, quick bool) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	server := exec.Command(self, "-role", "serve")
	server.Stderr = os.Stderr
	// The server ends when this pipe does, whatever becomes of us.
	hold, err := server.StdinPipe()
	if err != nil {
		return err
	}
	said, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hold.Close(), server.Wait()) }()
	url, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the server did not start: %w", err)
	}
	var pairs []pair
	for _, t := range tasks(quick) {
		t.URL = strings.TrimSpace(url)
		fmt.Fprintf(os.Stderr, "%s, %d streams…\n", t.Regime, t.Streams)
		p := pair{task: t}
		if p.client, err = child(self, t); err != nil {
			return err
		}
		if t.Regime != "memory" {
			t.Bare = true
			if p.bare, err = child(self, t); err != nil {
				return err
			}
		}
		pairs = append(pairs, p)
	}
	return report(out, pairs)
}

// child runs one measurement in a process of its own, so that none inherits
// another's memory.
func child(self string, t task) (result, error) {
	var r result
	told, err := json.Marshal(t)
	if err != nil {
		return r, err
	}
	cmd := exec.Command(self, "-role", string(told))
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("%s with %d streams: %w", t.Regime, t.Streams, err)
	}
	return r, json.Unmarshal(raw, &r)
}
