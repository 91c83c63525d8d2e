package sweep

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// BenchmarkBetweenCells is what a run spends on a cell beside its requests:
// files, journal, manifest, rules. The aim is under 20 ms.
func BenchmarkBetweenCells(b *testing.B) {
	const cells = 200
	text := strings.Replace(atAddress("", ""), `base_url = ""`, `profile = "instant"`, 1)
	text = strings.NewReplacer(`engine "vllm" { version = "0.32.0" }`, `engine "sim" {}`, "engine.vllm", "engine.sim", "[1, 3]", "[2]", "requests = 6", "requests = 4").Replace(text)
	text = strings.Replace(text, "repeat = 1", "", 1)
	text = strings.Replace(text, "context     = 512", fmt.Sprintf("context     = 512\n  repeat = %d", cells), 1)
	for b.Loop() {
		r := &Runner{Plan: planText(b, text), Dir: filepath.Join(b.TempDir(), "out"), Version: "bench", Log: hclog.NewNullLogger(), Getenv: func(string) string { return "" }}
		busy := &walls{}
		r.Observer = busy
		began := time.Now()
		report, err := start(r, context.Background(), context.Background())
		if err != nil || !report.OK() {
			b.Fatal(err, report)
		}
		b.ReportMetric(float64((time.Since(began)-busy.sum).Microseconds())/1000/cells, "ms/cell")
	}
}

// walls adds up what cells took by themselves.
type walls struct{ sum time.Duration }

func (w *walls) CellStarted(*Cell, int, int) {}
func (w *walls) RequestDone(*Cell, bool)     {}
func (w *walls) CellEnded(_ *Cell, end CellEnd) {
	for _, a := range end.Artifacts {
		w.sum += time.Duration(a.WallClockMS * float64(time.Millisecond))
	}
}
