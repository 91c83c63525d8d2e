package cli

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"anvilsweep/client/simengine"
	"anvilsweep/sweep/artifact"
)

// TestSoak is a night in small, on an engine that fails in one of ten cells: 40
// of them, killed and gone on with three times, or by `make soak` 2,000 and ten
// times. Every cell is accounted for and none is run twice; memory, and the
// time that goes into anything but cells, are told.
func TestSoak(t *testing.T) {
	cells, kills := 40, 3
	if text := os.Getenv("ANVILSWEEP_SOAK"); text != "" {
		var err error
		if cells, err = strconv.Atoi(text); err != nil {
			t.Fatalf("ANVILSWEEP_SOAK=%s is no number of cells", text)
		}
		kills = 10
	}
	binary := filepath.Join(t.TempDir(), "anvilsweep")
	if out, err := exec.Command("go", "build", "-o", binary, "../../anvilsweep").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	var seen atomic.Int64
	engine := simengine.New(simengine.Options{
		Profile: simengine.Profile{Name: "soak", MaxModelLen: 32768, MaxSeqs: 64, PrefillTokS: 1e6, PrefillChunk: 32768, DecodeStep: 6 * time.Millisecond, PrefixBlock: 16, CacheTokens: 1 << 18},
		Fault: func(int, string) string {
			faults := []string{"status:500", "truncated", "wrong_canary", "error_event"}
			if n := seen.Add(1); n%40 == 0 { // four requests a cell
				return faults[n/40%4]
			}
			return ""
		},
	})
	if err := engine.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}()
	dir := t.TempDir()
	recipe := filepath.Join(dir, "soak.sweep.hcl")
	text := fmt.Sprintf(`
engine "openai" {}
tier "t" { base_url = %q }
concurrency "four" {
  ladder   = [4]
  requests = 4
}
output "o" {
  words       = 40
  policy      = "strict"
  max_tokens  = 96
  temperature = axis.n / 100000
}
sweep "s" {
  model       = "m"
  engine      = engine.openai
  tier        = tier.t
  axis "n" { values = range(%d) }
  context     = [256, 1024]
  concurrency = concurrency.four
  output      = output.o
}
`, engine.BaseURL(), cells/2)
	if err := os.WriteFile(recipe, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	var busy time.Duration
	peak := 0
	for i := 0; i <= kills; i++ {
		cmd := exec.Command(binary, "run", recipe, "--out", out, "--retry", "interrupted")
		log, err := os.Create(filepath.Join(dir, fmt.Sprint("log", i)))
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = log, log
		began := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		life := time.Duration(float64(cells)*0.28/float64(kills+1)*float64(time.Second)) + time.Duration(rand.Intn(1+50*kills*kills/4))*time.Millisecond
		if i == kills {
			life = time.Hour
		}
		deadline := time.After(life)
	watching:
		for {
			select {
			case <-ended:
				break watching
			case <-deadline:
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				<-ended
				break watching
			case <-time.After(500 * time.Millisecond):
				peak = max(peak, resident(cmd.Process.Pid))
			}
		}
		busy += time.Since(began)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	states, sum := accounted(t, out, cells)
	t.Logf("%d cells %v, %d kills, wall %.1f s of which cells %.1f s (%.1f %% more), %d MB resident at most",
		cells, states, kills, busy.Seconds(), sum.Seconds(), 100*(busy.Seconds()/sum.Seconds()-1), peak>>10)
	if states[artifact.StateNotRun]+states[artifact.StateInterrupted] > 0 || states[artifact.StateDegraded]+states[artifact.StateFailed] < cells/20 {
		t.Errorf("%v", states)
	}
}

// resident is a process's memory in KB; 0 where the system does not tell.
func resident(pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		var kb int
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kb); n == 1 {
			return kb
		}
	}
	return 0
}

// failer is a test or a script.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// accounted holds a results folder's manifest against its files: every cell is
// there, every file is named and whole, and no cell was done twice.
func accounted(t failer, out string, cells int) (map[artifact.State]int, time.Duration) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(out, artifact.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	var m artifact.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Cells) != cells {
		t.Errorf("%d cells in the manifest, want %d", len(m.Cells), cells)
	}
	docs, err := artifact.Collect([]string{filepath.Join(out, "cells")})
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]*artifact.Document{}
	for _, d := range docs {
		if d.Kind == artifact.KindOther {
			t.Errorf("%s is not whole: %s", d.Path, d.Why)
		}
		sums[d.SHA256] = d
	}
	states := map[artifact.State]int{}
	var sum time.Duration
	named := 0
	for _, c := range m.Cells {
		states[c.State]++
		done := 0
		for _, f := range c.Artifacts {
			named++
			d := sums[f.SHA256]
			if d == nil {
				t.Errorf("%s: the manifest names a file that is not there", f.Path)
				continue
			}
			sum += time.Duration(*d.WallMS * float64(time.Millisecond))
			if d.Failed == 0 {
				done++
			}
		}
		if done > 1 || c.State == artifact.StateDone && done != 1 {
			t.Errorf("cell %s is %s and was done %d times", c.ID, c.State, done)
		}
	}
	if named != len(docs) {
		t.Errorf("%d files, %d of them named", len(docs), named)
	}
	return states, sum
}
