package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"anvilsweep/sweep/artifact"
)

const (
	// journalName is the file of a results folder that tells what happened, a JSON
	// line an event.
	journalName = "events.jsonl"
	// olderName is the part that the journal grew out of.
	olderName = "events.older.jsonl"
	// journalLimit bounds the file; the part before it is kept once.
	journalLimit = 8 << 20
)

// Event is one thing that happened. Numbers go up by one and are the cursor
// that readers go on from.
type Event struct {
	N      int64          `json:"n"`
	At     time.Time      `json:"at"`
	Event  string         `json:"event"`
	Sweep  string         `json:"sweep,omitempty"`
	Cell   string         `json:"cell,omitempty"`
	State  artifact.State `json:"state,omitempty"`
	Reason string         `json:"reason,omitempty"`
	Path   string         `json:"path,omitempty"` // of the artifact
}

// Names of events.
const (
	EventRunStarted    = "run_started"
	EventRunEnded      = "run_ended"
	EventCellStarted   = "cell_started"
	EventCellEnded     = "cell_ended"
	EventCellKept      = "cell_kept"
	EventCellNotRun    = "cell_not_run"
	EventEngineStarts  = "engine_starts"
	EventEngineCrashed = "engine_crashed"
)

// Bad reports an event that a reader looks for when something went wrong.
func (e Event) Bad() bool {
	switch e.Event {
	case EventEngineCrashed:
		return true
	case EventCellEnded, EventCellNotRun:
		return e.State != artifact.StateDone && e.State != artifact.StateSkipped
	}
	return false
}

// journal appends events, each on disk before the next thing happens.
type journal struct {
	dir  string
	file *os.File
	size int64
	last int64
}

// openJournal goes on with the folder's journal. A line that a killed run left
// torn is cut off: nothing was done on its word.
func openJournal(dir string) (*journal, error) {
	j := &journal{dir: dir}
	events, whole, err := readJournal(filepath.Join(dir, journalName))
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		if events, _, err = readJournal(filepath.Join(dir, olderName)); err != nil {
			return nil, err
		}
	}
	if n := len(events); n > 0 {
		j.last = events[n-1].N
	}
	j.size = whole
	if j.file, err = os.OpenFile(filepath.Join(dir, journalName), os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	_, err = j.file.Seek(whole, io.SeekStart)
	if err = errors.Join(err, j.file.Truncate(whole)); err != nil {
		return nil, errors.Join(fmt.Errorf("journal: %w", err), j.file.Close())
	}
	return j, nil
}

// readJournal reads whole lines and tells how far they go. No file is no
// events.
func readJournal(path string) (events []Event, whole int64, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("journal: %w", err)
	}
	for line := range bytes.Lines(data) {
		var e Event
		if line[len(line)-1] != '\n' || json.Unmarshal(line, &e) != nil {
			break
		}
		events = append(events, e)
		whole += int64(len(line))
	}
	return events, whole, nil
}

// add appends an event.
func (j *journal) add(e Event) error {
	if j.size > journalLimit {
		if err := j.turn(); err != nil {
			return err
		}
	}
	j.last++
	e.N, e.At = j.last, time.Now().UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	n, err := j.file.Write(append(line, '\n'))
	j.size += int64(n)
	if err = errors.Join(err, j.file.Sync()); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// turn begins a new file; the one before the last goes.
func (j *journal) turn() error {
	path := filepath.Join(j.dir, journalName)
	err := errors.Join(j.file.Close(), os.Rename(path, filepath.Join(j.dir, olderName)))
	if err == nil {
		j.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	j.size = 0
	return nil
}

func (j *journal) close() error { return j.file.Close() }

// ReadEvents are a results folder's events with numbers above the cursor.
func ReadEvents(dir string, after int64) ([]Event, error) {
	if _, err := os.Stat(filepath.Join(dir, artifact.ManifestName)); err != nil {
		return nil, fmt.Errorf("%s is no results folder: it has no %s", dir, artifact.ManifestName)
	}
	var out []Event
	for _, name := range []string{olderName, journalName} {
		events, _, err := readJournal(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if e.N > after {
				out = append(out, e)
			}
		}
	}
	return out, nil
}
