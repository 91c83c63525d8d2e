package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anvilsweep/sweep/artifact"
)

// A journal is held against the manifest and the files: whatever one of them
// says alone is found, with its place.
func TestTheJournalIsHeldAgainstTheFolder(t *testing.T) {
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
	path := filepath.Join(dir, journalName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	verify := func() artifact.Report {
		t.Helper()
		docs, err := artifact.Collect([]string{filepath.Join(dir, artifact.ManifestName)})
		if err != nil {
			t.Fatal(err)
		}
		r, ok := VerifyJournal(docs[0])
		if !ok {
			t.Fatal("the journal was not looked at")
		}
		return r
	}
	if r := verify(); r.Verdict() != "accepted" || r.Checks[0].Count != 11 || r.Checks[1].Count != 2 {
		t.Errorf("%s %+v", r.Verdict(), r)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for name, c := range map[string]struct{ text, says, verdict string }{
		"a line is gone":    {strings.Join(append(append([]string{}, lines[:4]...), lines[5:]...), ""), "event 6 follows event 4", "refused"},
		"a state is turned": {strings.Replace(string(whole), `"event":"cell_ended","sweep":"s","cell":"`+cellOf(t, lines[8])+`","state":"done"`, `"event":"cell_ended","sweep":"s","cell":"`+cellOf(t, lines[8])+`","state":"failed"`, 1), "is failed, the manifest says done", "refused"},
		"a torn line":       {string(whole) + `{"n":12,"ev`, "no whole line", "accepted with limitations"},
		"no end":            {strings.Join(lines[:len(lines)-2], ""), "the last run did not end", "accepted with limitations"},
	} {
		if c.text == string(whole) {
			t.Fatalf("%s: nothing was changed", name)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := verify(); r.Verdict() != c.verdict || !strings.Contains(strings.Join(append(r.Faults, r.Limitations...), "; "), c.says) {
			t.Errorf("%s: %s %v %v", name, r.Verdict(), r.Faults, r.Limitations)
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	events, err := ReadEvents(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	gone := events[4].Path
	if err := os.Remove(filepath.Join(dir, filepath.FromSlash(gone))); err != nil {
		t.Fatal(err)
	}
	if r := verify(); r.Verdict() != "refused" || !strings.Contains(r.Faults[0], gone+", which is not there") {
		t.Errorf("%+v", r)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, ok := VerifyJournal(&artifact.Document{Path: filepath.Join(dir, "sweep.json"), Manifest: &artifact.Manifest{}}); ok {
		t.Error("a journal that is not there was looked at")
	}
}

func cellOf(t *testing.T, line string) string {
	t.Helper()
	_, rest, found := strings.Cut(line, `"cell":"`)
	cell, _, end := strings.Cut(rest, `"`)
	if !found || !end {
		t.Fatal(line)
	}
	return cell
}
