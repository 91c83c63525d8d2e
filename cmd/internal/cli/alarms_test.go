package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"anvilsweep/client/simengine"
	"anvilsweep/sweep/compare"
)

// TestAlarms is how well compare tells a slower server from noise, on the
// embedded engine and with its defaults: pairs of sweeps with five repeats of
// which the second engine is 5 % slower, and pairs in which it is not. It holds
// measured times against each other, so it runs by `make alarms` alone.
func TestAlarms(t *testing.T) {
	pairs, err := strconv.Atoi(os.Getenv("ANVILSWEEP_ALARMS"))
	if err != nil {
		t.Skip("it takes minutes and a quiet machine: make alarms")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "anvilsweep")
	if out, err := exec.Command("go", "build", "-o", binary, "../../anvilsweep").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	address := func(slower float64) string {
		engine := simengine.New(simengine.Options{Profile: simengine.Profile{Name: "alarms", MaxModelLen: 32768, MaxSeqs: 64, PrefillTokS: 10000, PrefillChunk: 8192, DecodeStep: 6 * time.Millisecond, DecodePerSeq: 100 * time.Microsecond, PrefixBlock: 16, CacheTokens: 1 << 18}.Slower(slower)})
		if err := engine.Listen("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := engine.Close(); err != nil {
				t.Error(err)
			}
		})
		return engine.BaseURL()
	}
	same, slow := address(0), address(5)
	sweeps := 0
	sweep := func(url string) string {
		t.Helper()
		sweeps++
		name := filepath.Join(dir, fmt.Sprint(sweeps))
		recipe := name + ".sweep.hcl"
		text := fmt.Sprintf(`
engine "openai" {}
tier "t" { base_url = %q }
concurrency "two" {
  ladder   = [1, 4]
  requests = 8
}
sweep "s" {
  model       = "m"
  engine      = engine.openai
  tier        = tier.t
  context     = 1024
  concurrency = concurrency.two
  output      = { max_tokens = 24 }
  repeat      = 5
}
`, url)
		if err := os.WriteFile(recipe, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(binary, "run", recipe, "--out", name).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
		return name
	}
	count := func(a, b string) map[compare.Verdict]int {
		t.Helper()
		cmd := exec.Command(binary, "compare", a, b, "--format", "json")
		out, err := cmd.Output()
		if code := cmd.ProcessState.ExitCode(); code != exitOK && code != exitGate {
			t.Fatal(err)
		}
		var r compare.Result
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Cells {
			for _, f := range c.Figures {
				if f.P != nil && *f.P < r.Alpha {
					t.Logf("  %s %s: %s by %+.1f %%, p %.4f, q %.4f", c.Place, f.Metric, f.Verdict, *f.DeltaPct, *f.P, *f.Q)
				}
			}
		}
		n := map[compare.Verdict]int{}
		for _, v := range []compare.Verdict{compare.Better, compare.Worse, compare.Same, compare.NotComparable, compare.TooFew} {
			n[v] = r.Count(v)
		}
		return n
	}
	found, alarms := 0, 0
	for i := range pairs {
		control := sweep(same)
		n := count(control, sweep(same))
		t.Logf("pair %d, the same: %v", i+1, n)
		if n[compare.Worse]+n[compare.Better] > 0 {
			alarms++
		}
		if i%4 > 0 {
			continue // a slower one beside each fourth
		}
		n = count(control, sweep(slow))
		t.Logf("pair %d, 5 %% slower: %v", i+1, n)
		if n[compare.Worse] > 0 && n[compare.Better] == 0 {
			found++
		}
	}
	t.Logf("%d pairs that are the same: %d with an alarm; %d pairs of which one is 5 %% slower: %d found", pairs, alarms, (pairs+3)/4, found)
	if alarms > max(1, pairs/20) || found < (pairs+3)/4 {
		t.Error("compare tells noise from news badly, or the machine is very busy")
	}
}
