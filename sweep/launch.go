package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"anvilsweep/client"
	"anvilsweep/recipe"
)

const (
	// readyPoll is how often a starting engine is asked whether it is up.
	readyPoll = 500 * time.Millisecond
	// stopGrace is how long an engine may take to end when it is told to.
	stopGrace = 30 * time.Second
	// tailBytes is how much of an engine's log goes into a failure.
	tailBytes = 1500
)

// process is an engine that the run started itself, with everything that it
// started in turn: they are one process group.
type process struct {
	key   string // of the launch, resolved
	name  string
	log   string // path
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // of the process; read after ended
}

// launchKey is the same for cells that one running engine serves.
func launchKey(p recipe.Point) string {
	l := p.Engine.Launch
	return digest(map[string]any{"engine": p.Engine.Name, "command": l.Command, "env": l.Env, "dir": l.Dir, "base_url": p.Tier.BaseURL})
}

// startProcess starts the engine of a cell; its output goes into a log file.
func startProcess(p recipe.Point, logs string) (*process, error) {
	l := p.Engine.Launch
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return nil, err
	}
	key := launchKey(p)
	name := fmt.Sprintf("%s-%s.log", short(p.Engine.Name), strings.TrimPrefix(key, "sha256:")[:8])
	file, err := os.OpenFile(filepath.Join(logs, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(file, "--- %s: %s\n", time.Now().UTC().Format(time.RFC3339), strings.Join(l.Command, " ")); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	pr := &process{key: key, name: p.Engine.Name, log: file.Name(), ended: make(chan struct{})}
	pr.cmd = exec.Command(l.Command[0], l.Command[1:]...)
	pr.cmd.Dir, pr.cmd.Stdout, pr.cmd.Stderr = l.Dir, file, file
	pr.cmd.Env = os.Environ()
	for _, k := range sortedKeys(l.Env) {
		pr.cmd.Env = append(pr.cmd.Env, k+"="+l.Env[k])
	}
	ownGroup(pr.cmd)
	started := make(chan error)
	go pr.run(file, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("engine %s cannot be started: %w", p.Engine.Name, err)
	}
	return pr, nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// run starts the process and waits for its end on one thread: where the system
// can end a process with its parent, it is with the thread that started it.
func (pr *process) run(file *os.File, started chan<- error) {
	unlock := ownThread()
	defer unlock()
	err := pr.cmd.Start()
	started <- err
	if err == nil {
		pr.err = pr.cmd.Wait()
		killGroup(pr.cmd) // what it left behind
	}
	_ = file.Close() // the engine wrote it; a failure to close says nothing of our data
	close(pr.ended)
}

// over reports whether the process has ended.
func (pr *process) over() bool {
	select {
	case <-pr.ended:
		return true
	default:
		return false
	}
}

// wait asks until the engine is up: its path answers 200, and its model list,
// if it has one, has the model.
func (pr *process) wait(ctx context.Context, cl *client.Client, p recipe.Point) error {
	ready := p.Engine.Ready
	ctx, cancel := context.WithTimeoutCause(ctx, ready.Timeout, fmt.Errorf("it was not ready within %s", ready.Timeout))
	defer cancel()
	last := "nothing was asked yet"
	for {
		failure := cl.Ready(ctx, ready.Path)
		if failure == nil {
			models, noList := cl.Models(ctx)
			if noList != nil || slices.ContainsFunc(models, func(m client.ModelInfo) bool { return m.ID == p.Model.ID }) {
				return nil
			}
			last = fmt.Sprintf("it lists %d models, and %s is not one of them", len(models), p.Model.ID)
		} else {
			last = failure.Error()
		}
		select {
		case <-pr.ended:
			return pr.crashed("it ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("engine %s: %w; last: %s; its log ends:\n%s", pr.name, context.Cause(ctx), last, pr.tail())
		case <-time.After(readyPoll):
		}
	}
}

// crashed tells how the process ended, with the end of its log.
func (pr *process) crashed(what string) error {
	how := "with status 0"
	if pr.err != nil {
		how = pr.err.Error()
	}
	return fmt.Errorf("engine %s: %s (%s); its log ends:\n%s", pr.name, what, how, pr.tail())
}

func (pr *process) tail() string {
	f, err := os.Open(pr.log)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	defer func() { _ = f.Close() }() // read only
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return "(" + err.Error() + ")"
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, tailBytes))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(data), "�"))
}

// stop ends the engine: asked first, then killed with all that it started.
func (pr *process) stop() {
	if !pr.over() {
		endGroup(pr.cmd)
		select {
		case <-pr.ended:
		case <-time.After(stopGrace):
			killGroup(pr.cmd)
			<-pr.ended
		}
	}
}
