package artifact

import (
	"strings"
	"testing"
	"time"
)

// The manifest says which attempt counts, also where the clock was set back
// between two of them; replicas count through their aggregate.
func TestRuns(t *testing.T) {
	at := func(path string, kind Kind, minute int) *Document {
		return &Document{Path: path, SHA256: path, Kind: kind, Started: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)}
	}
	m := &Manifest{Cells: []ManifestCell{
		{Artifacts: []ManifestFile{{Path: "a.json", Attempt: 1}, {Path: "a2.json", Attempt: 2}}},
		{Artifacts: []ManifestFile{{Path: "old.json"}, {Path: "new.json"}}},
		{Artifacts: []ManifestFile{{Path: "gone.json", Attempt: 1}}, Stale: true},
		{Artifacts: []ManifestFile{{Path: "r1.json", Attempt: 1}, {Path: "r2.json", Attempt: 1}, {Path: "both.json", Attempt: 1}}},
	}}
	both := at("d/both.json", KindAggregate, 0)
	both.Members = []string{"d/r1.json", "d/r2.json"}
	runs, left := Runs([]*Document{
		at("d/a.json", KindBenchmark, 50), at("d/a2.json", KindBenchmark, 10), at("d/new.json", KindBenchmark, 0), at("d/old.json", KindBenchmark, 9),
		at("d/gone.json", KindBenchmark, 1), both, at("d/r1.json", KindBenchmark, 0), at("d/r2.json", KindBenchmark, 0),
		{Path: "d/sweep.json", Kind: KindManifest, Manifest: m}, {Path: "d/x.json", Kind: KindOther, Why: "no schema"},
	})
	var got []string
	for _, d := range runs {
		got = append(got, d.Path)
	}
	if strings.Join(got, " ") != "d/a2.json d/new.json d/both.json" || len(left) != 6 {
		t.Errorf("%v, left out %v", got, left)
	}
	cell := &m.Cells[3]
	if cell.Attempts() != 1 || len(cell.LastAttempt()) != 3 || m.Cells[1].Attempts() != 2 || len(m.Cells[1].LastAttempt()) != 1 {
		t.Errorf("%d attempts", cell.Attempts())
	}
}
