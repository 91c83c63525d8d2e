//go:build unix

package sweep

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anvilsweep/sweep/artifact"
)

// at is a reading so many seconds into a cell.
func at(seconds float64, gpu int, watts float64) reading {
	return reading{at: time.Unix(0, 0).Add(time.Duration(seconds * float64(time.Second))), gpu: gpu, power: &watts}
}

// The energy is the area under the readings inside the cell, and known only
// where they leave no hole.
func TestEnergy(t *testing.T) {
	from, to := time.Unix(2, 0), time.Unix(6, 0)
	every := func(step float64, watts func(s float64) float64) (out []reading) {
		for s := 0.0; s <= 8; s += step {
			out = append(out, at(s, 0, watts(s)))
		}
		return out
	}
	flat := every(1, func(float64) float64 { return 100 })
	for name, c := range map[string]struct {
		readings []reading
		gpus     int
		joules   float64
		why      string
	}{
		"flat":             {flat, 1, 400, ""},
		"rising":           {every(1, func(s float64) float64 { return 10 * s }), 1, 160, ""},
		"between readings": {every(0.75, func(s float64) float64 { return 10 * s }), 1, 160, ""},
		"two GPUs":         {append(flat, at(1, 1, 50), at(3, 1, 50), at(5, 1, 50), at(7, 1, 50)), 2, 600, ""},
		"one too few":      {flat, 2, 0, "1 GPUs were read, and the tier has 2"},
		"a hole":           {[]reading{at(1, 0, 1), at(5.5, 0, 1), at(6, 0, 1)}, 1, 0, "two readings are 4.5s apart"},
		"begins late":      {[]reading{at(5.5, 0, 1), at(6, 0, 1)}, 1, 0, "the first reading came 3.5s into the cell"},
		"ends early":       {[]reading{at(1, 0, 1), at(2, 0, 1)}, 1, 0, "4s before the cell's end"},
		"nothing":          {nil, 1, 0, "no readings"},
	} {
		g := sumPower(c.readings, from, to, time.Second, c.gpus)
		switch {
		case c.why == "" && (!g.Valid || g.Energy == nil || math.Abs(*g.Energy-c.joules) > 1e-6):
			t.Errorf("%s: %+v, want %g J", name, g, c.joules)
		case c.why != "" && (g.Valid || g.Energy != nil || g.Reason == nil || !strings.Contains(*g.Reason, c.why)):
			t.Errorf("%s: valid %v, %v", name, g.Valid, g.Reason)
		}
	}
}

func powered(url, power string) string {
	text := strings.Replace(atAddress(url, ""), "gpu      =", "power {\n interval = \"100ms\"\n "+power+"\n }\n gpu      =", 1)
	return strings.NewReplacer("[1, 3]", "[1]", "requests = 6", "requests = 6\n arrivals \"constant\" { rate = 10 }").Replace(text)
}

// A command's lines, as nvidia-smi prints them or as JSON, and an exporter's
// page become energy per million tokens; what goes wrong is told.
func TestPowerReadings(t *testing.T) {
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "# TYPE DCGM_FI_DEV_POWER_USAGE gauge\nDCGM_FI_DEV_POWER_USAGE{gpu=\"0\",Hostname=\"h\"} 300\nDCGM_FI_DEV_POWER_USAGE{gpu=\"1\"} 9999\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 55\n")
	}))
	t.Cleanup(exporter.Close)
	pid := filepath.Join(t.TempDir(), "pid")
	for name, c := range map[string]struct {
		power string
		watts float64
		why   string
	}{
		"nvidia-smi":      {`command = ["sh", "-c", "echo $$ > ` + pid + `; echo 'index, power.draw [W], clocks.sm [MHz], temperature.gpu'; while true; do echo '0, 300.00 W, 1980 MHz, 61'; sleep 0.05; done"]`, 300, ""},
		"JSON":            {`command = ["sh", "-c", "while true; do echo '{\"gpu\":0,\"power_w\":300}'; sleep 0.05; done"]`, 300, ""},
		"exporter":        {fmt.Sprintf("exporter = \"%s/metrics\"\n gpus = [0]", exporter.URL), 300, ""},
		"not all GPUs":    {fmt.Sprintf("exporter = \"%s/metrics\"", exporter.URL), 0, "2 GPUs were read, and the tier has 1"},
		"ends":            {`command = ["sh", "-c", "exit 4"]`, 0, "ended before the cell: exit status 4"},
		"says other":      {`command = ["sh", "-c", "echo hello; sleep 100"]`, 0, "not \"hello\""},
		"is no program":   {`command = ["/no/such/program"]`, 0, "cannot be started"},
		"no exporter":     {`exporter = "http://127.0.0.1:1/metrics"`, 0, "connection refused"},
		"no such figures": {fmt.Sprintf("exporter = \"%s/metrics\"\n gpus = [7]", exporter.URL), 0, "no readings"},
	} {
		t.Run(name, func(t *testing.T) {
			e := sim(t, "instant", nil)
			dir := t.TempDir()
			if report := run(t, runner(t, dir, powered(e.BaseURL(), c.power))); !report.OK() {
				t.Fatalf("%+v", report)
			}
			d := all(t, dir)[0]
			g := d.Sweep.GPU
			if c.why != "" {
				if g.Valid || g.Energy != nil || g.PerMtok != nil || g.Reason == nil || !strings.Contains(*g.Reason, c.why) {
					t.Errorf("%+v %v", g, g.Reason)
				}
				return
			}
			if !g.Valid || math.Abs(*g.PowerMean-c.watts) > 1e-6 || math.Abs(*g.Energy-c.watts**d.WallMS/1000) > 1 {
				why := ""
				if g.Reason != nil {
					why = *g.Reason
				}
				t.Fatalf("%+v %s", g, why)
			}
			tokens, _ := d.Metric("output_tokens")
			if want := *g.Energy / 3.6e6 / *tokens * 1e6; g.PerMtok == nil || math.Abs(*g.PerMtok/want-1) > 1e-9 {
				t.Errorf("%v kWh per million tokens, want %g", g.PerMtok, want)
			}
			if strings.Contains(c.power, pid) {
				gone(t, pid)
			}
		})
	}
	if _, err := os.Stat(pid); err != nil {
		t.Error(err)
	}
}

// A crashed engine is started again as often as the recipe says, and no more.
func TestRestartPolicy(t *testing.T) {
	for restarts, want := range map[int]int{0: 1, 2: 3} {
		count := filepath.Join(t.TempDir(), "count")
		text := launching(`echo x >> `+count+`; exec "$ENGINE"`, "30s")
		text = strings.NewReplacer("GREETING = \"hello\" }", fmt.Sprintf("ENGINE = %q, ANVILSWEEP_TEST_ENGINE = \"127.0.0.1:PORT\" }\n restarts = %d", os.Args[0], restarts),
			"[1, 3]", "[1, 2, 3, 4, 5]").Replace(text)
		address := freePort(t)
		text = strings.ReplaceAll(strings.ReplaceAll(text, "127.0.0.1:PORT", address), "127.0.0.1:1/v1", address+"/v1")
		dir := t.TempDir()
		report := run(t, runner(t, dir, text))
		data, err := os.ReadFile(count)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(data), "x"); got != want || report.States[artifact.StateDone] != 0 {
			t.Errorf("restarts = %d: started %d times, want %d: %+v", restarts, got, want, report)
		}
		m, _ := read(t, dir)
		if last := m.Cells[4]; !strings.Contains(last.Reason, fmt.Sprintf("it crashed %d times, and restarts is %d", restarts+1, restarts)) {
			t.Error(last.Reason)
		}
		if _, docs := read(t, dir); !strings.Contains(fmt.Sprint(docs[5].FailureList()[0]["error_message"]), "simulated crash: out of memory") {
			t.Error(docs[5].FailureList()[0])
		}
	}
}
