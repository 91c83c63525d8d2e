//go:build unix

package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"anvilsweep/sweep/artifact"
)

// launching is a recipe whose engine is started by a shell script.
func launching(script, ready string) string {
	text := atAddress("http://127.0.0.1:1/v1", "")
	return strings.Replace(text, `engine "vllm" { version = "0.32.0" }`, fmt.Sprintf(`engine "vllm" {
  launch {
    command = ["sh", "-c", %q]
    env     = { GREETING = "hello" }
  }
  ready { timeout = %q }
}`, script, ready), 1)
}

func gone(t *testing.T, pidFile string) {
	t.Helper()
	data, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %d was left behind", pid)
}

func TestEnginesThatDoNotStart(t *testing.T) {
	for name, c := range map[string]struct{ script, ready, says string }{
		"ends at once":       {`echo $GREETING, out of memory; exit 3`, "30s", "hello, out of memory"},
		"is never ready":     {`sleep 1000 & echo $! > PID; echo loading; wait`, "700ms", "not ready within 700ms"},
		"hears no goodbye":   {`trap "" TERM; sleep 1000 & echo $! > PID; echo loading; exit 1`, "30s", "it ended before it was ready"},
		"is not a program":   {"", "1s", "cannot be started"},
		"leaves work behind": {`(sleep 1000 & echo $! > PID); exit 0`, "30s", "ended before it was ready (with status 0)"},
	} {
		t.Run(name, func(t *testing.T) {
			pid := filepath.Join(t.TempDir(), "pid")
			text := launching(strings.ReplaceAll(c.script, "PID", pid), c.ready)
			if c.script == "" {
				text = strings.Replace(text, `["sh", "-c", ""]`, `["/no/such/program"]`, 1)
			}
			dir := t.TempDir()
			begin := time.Now()
			report := run(t, runner(t, dir, text))
			if report.States[artifact.StateFailed] != 2 || time.Since(begin) > 20*time.Second {
				t.Errorf("%+v after %v", report, time.Since(begin))
			}
			for _, d := range all(t, dir) {
				if message := fmt.Sprint(d.FailureList()[0]["error_message"]); !strings.Contains(message, c.says) {
					t.Errorf("%s", message)
				}
			}
			if strings.Contains(c.script, "PID") {
				gone(t, pid)
			}
		})
	}
}

func TestInterruptedWhileAnEngineStarts(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	dir := t.TempDir()
	r := runner(t, dir, launching("sleep 1000 & echo $! > "+pid+"; wait", "1m"))
	admit, stop := context.WithCancelCause(context.Background())
	go func() {
		for {
			if _, err := os.Stat(pid); err == nil {
				stop(errors.New("enough"))
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	report, err := start(r, admit, admit)
	if err != nil || report.States[artifact.StateInterrupted] != 1 || report.States[artifact.StateNotRun] != 1 {
		t.Errorf("%+v %v", report, err)
	}
	gone(t, pid)
}
