package cli

import (
	"os/exec"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// tries PAGE: run every command line that a page of the documentation shows, in
// its order. Each must do what it should; compare may find something worse, as
// measured times have it.
func tries(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tries PAGE")
	}
	shown, count := false, 0
	for _, line := range strings.Split(ts.ReadFile(args[0]), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			shown = line == "```sh"
			continue
		case !shown || strings.TrimSpace(line) == "":
			continue
		}
		count++
		line = strings.ReplaceAll(line, "bin/anvilsweep", "anvilsweep")
		ts.Logf("$ %s", line)
		err := ts.Exec("sh", "-c", line)
		if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == exitGate && strings.HasPrefix(line, "anvilsweep compare ") {
			continue
		}
		ts.Check(err)
	}
	if count == 0 {
		ts.Fatalf("%s shows no command", args[0])
	}
}
