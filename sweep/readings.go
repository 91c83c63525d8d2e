package sweep

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reading is what one GPU showed at a moment.
type reading struct {
	at                        time.Time
	gpu                       int
	power, clock, temperature *float64 // W, MHz, °C
}

// DCGM's names of the readings.
const (
	dcgmPower       = "DCGM_FI_DEV_POWER_USAGE"
	dcgmClock       = "DCGM_FI_DEV_SM_CLOCK"
	dcgmTemperature = "DCGM_FI_DEV_GPU_TEMP"
)

// readExporter takes a DCGM exporter's page.
func readExporter(text []byte, at time.Time) ([]reading, error) {
	families, err := parsePage(text)
	if err != nil {
		return nil, fmt.Errorf("the exporter's page is no Prometheus text: %w", err)
	}
	byGPU := map[int]*reading{}
	var out []reading
	for _, name := range []string{dcgmPower, dcgmClock, dcgmTemperature} {
		for _, m := range families[name].GetMetric() {
			v, ok := number(m)
			gpu := -1
			for _, label := range m.Label {
				if label.GetName() == "gpu" {
					if n, err := strconv.Atoi(label.GetValue()); err == nil {
						gpu = n
					}
				}
			}
			if !ok || gpu < 0 {
				continue
			}
			if byGPU[gpu] == nil {
				byGPU[gpu] = &reading{at: at, gpu: gpu}
			}
			switch r := byGPU[gpu]; name {
			case dcgmPower:
				r.power = &v
			case dcgmClock:
				r.clock = &v
			default:
				r.temperature = &v
			}
		}
	}
	for _, r := range byGPU {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b reading) int { return a.gpu - b.gpu })
	if len(out) == 0 {
		return nil, fmt.Errorf("the exporter's page has no %s", dcgmPower)
	}
	return out, nil
}

// readingParser reads lines of readings; the first CSV line names the columns.
type readingParser struct {
	columns []string
	broken  bool
}

// jsonReading is a reading as a JSON object.
type jsonReading struct {
	GPU         int      `json:"gpu"`
	Power       *float64 `json:"power_w"`
	Clock       *float64 `json:"sm_clock_mhz"`
	Temperature *float64 `json:"temperature_c"`
}

func (p *readingParser) line(text string, at time.Time) (reading, bool, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return reading{}, false, nil
	}
	if strings.HasPrefix(text, "{") {
		var j jsonReading
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			p.broken = true
			return reading{}, false, fmt.Errorf("a line of readings is not JSON: %w", err)
		}
		return reading{at, j.GPU, j.Power, j.Clock, j.Temperature}, true, nil
	}
	cells := strings.Split(text, ",")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if p.columns == nil {
		p.columns = cells
		if !slices.ContainsFunc(cells, func(c string) bool { return strings.HasPrefix(c, "power.draw") }) {
			p.broken = true
			return reading{}, false, fmt.Errorf("readings are JSON objects with power_w, or CSV with a header that has power.draw as nvidia-smi prints it, not %q", text)
		}
		return reading{}, false, nil
	}
	r := reading{at: at}
	for i, column := range p.columns {
		if i >= len(cells) {
			break
		}
		digits, _, _ := strings.Cut(cells[i], " ") // "412.30 W"
		v, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			continue // "[N/A]"
		}
		name, _, _ := strings.Cut(column, " ")
		switch name {
		case "index":
			r.gpu = int(v)
		case "power.draw", "power.draw.instant", "power.draw.average":
			r.power = &v
		case "clocks.sm", "clocks.current.sm":
			r.clock = &v
		case "temperature.gpu":
			r.temperature = &v
		}
	}
	return r, true, nil
}
