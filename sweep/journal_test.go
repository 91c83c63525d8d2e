package sweep

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anvilsweep/sweep/artifact"
)

func TestTheJournalTellsWhatHappened(t *testing.T) {
	e := sim(t, "instant", func(n int, _ string) string {
		if n == 2 {
			return "status:500"
		}
		return ""
	})
	dir := t.TempDir()
	for range 2 {
		run(t, runner(t, dir, atAddress(e.BaseURL(), "")))
	}
	events, err := ReadEvents(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for i, e := range events {
		if e.N != int64(i+1) || e.At.IsZero() {
			t.Errorf("event %d: %+v", i, e)
		}
		told = append(told, strings.TrimSpace(fmt.Sprint(e.Event, " ", e.State)))
		if e.Bad() != (e.State == artifact.StateDegraded) {
			t.Errorf("bad %v: %+v", e.Bad(), e)
		}
	}
	if got := strings.Join(told, ", "); got != "run_started, cell_started, cell_ended degraded, cell_started, cell_ended done, run_ended, run_started, cell_started, cell_ended done, cell_kept done, run_ended" {
		t.Error(got)
	}
	if later, err := ReadEvents(dir, 9); err != nil || len(later) != len(events)-9 || later[0].N != 10 {
		t.Errorf("%v %v", later, err)
	}
	if _, err := ReadEvents(t.TempDir(), 0); err == nil {
		t.Error("a folder without a manifest")
	}
}

// A torn line is cut, a full file is turned, and numbers go on.
func TestTheJournalAfterAKill(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, journalName)
	if err := os.WriteFile(path, []byte(`{"n":1,"event":"run_started"}`+"\n"+`{"n":2,"ev`), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.add(Event{Event: EventRunEnded}); err != nil {
		t.Fatal(err)
	}
	events, whole, err := readJournal(path)
	if info, _ := os.Stat(path); err != nil || len(events) != 2 || events[1].N != 2 || info.Size() != whole {
		t.Errorf("%+v %v", events, err)
	}
	j.size = journalLimit + 1
	if err := j.add(Event{Event: EventRunStarted}); err != nil {
		t.Fatal(err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil { // turned, and killed before the first line
		t.Fatal(err)
	}
	if j, err = openJournal(dir); err != nil || j.last != 2 {
		t.Fatalf("%+v %v", j, err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
}
