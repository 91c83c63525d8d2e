package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/summary"
)

// drawn are the metrics that charts need, beside those of the tables.
var drawn = []string{"throughput_tok_s", "ttft_p50_ms", "ttft_p95_ms", "tpot_p50_ms", "tpot_p95_ms", summary.PerUserMetric, summary.PerGPUMetric}

// quantiles are the statistics that show a distribution, with their share in
// percent.
var quantiles = []struct {
	name  string
	share float64
}{{"min", 0}, {"p25", 25}, {"p50", 50}, {"p75", 75}, {"p90", 90}, {"p95", 95}, {"p99", 99}, {"max", 100}}

// sheet is a section with the metrics that charts need.
type sheet struct {
	summary.Section
	at map[string]int // of a metric among a cell's values
}

func (s sheet) value(c summary.Cell, metric string) *float64 {
	if c.Runs == 0 {
		return nil
	}
	return c.Values[s.at[metric]].Value
}

// pictures are the charts of each of the summary's sections, a group for each
// context; or over contexts, where concurrency does not vary.
func (b *builder) pictures(docs []*artifact.Document) ([][]group, error) {
	wanted := slices.Clone(drawn)
	for _, family := range []string{"ttft", "tpot"} {
		for _, q := range quantiles {
			wanted = append(wanted, family+"_"+q.name+"_ms")
		}
	}
	full, err := summary.Build(docs, summary.Options{Metrics: wanted})
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i, m := range full.Metrics {
		at[m.Name] = i
	}
	out := make([][]group, len(full.Sections))
	for i, section := range full.Sections {
		s := sheet{section, at}
		across := ""
		for _, axis := range []string{"concurrency", "context"} {
			if across == "" && s.varies(axis) {
				across = axis
			}
		}
		if across == "" {
			continue
		}
		for _, rows := range s.groups(across) {
			g, err := s.charts(across, rows)
			if err != nil {
				return nil, err
			}
			if len(g.Figures) > 0 {
				g.Open = len(out[i]) == 0
				out[i] = append(out[i], g)
			}
		}
	}
	return out, nil
}

// varies reports whether some row's neighbours differ in nothing but a number
// on this axis.
func (s sheet) varies(axis string) bool {
	return slices.ContainsFunc(s.groups(axis), func(rows []summary.Row) bool {
		numbers := 0
		for _, r := range rows {
			if _, err := strconv.ParseFloat(r.At[axis], 64); err == nil {
				numbers++
			}
		}
		return numbers > 1
	})
}

// groups parts rows by all their axes but one.
func (s sheet) groups(but string) [][]summary.Row {
	var out [][]summary.Row
	index := map[string]int{}
	for _, r := range s.Rows {
		key := s.title(r, but)
		if _, ok := index[key]; !ok {
			index[key] = len(out)
			out = append(out, nil)
		}
		out[index[key]] = append(out[index[key]], r)
	}
	return out
}

func (s sheet) title(r summary.Row, but string) string {
	var parts []string
	for _, axis := range s.RowAxes {
		if axis != but {
			parts = append(parts, axis+" "+r.At[axis])
		}
	}
	return strings.Join(parts, ", ")
}

func (s sheet) charts(across string, rows []summary.Row) (group, error) {
	g := group{Title: cmp.Or(s.title(rows[0], across), "all cells")}
	var ticks []tick
	for _, r := range rows {
		if x, err := strconv.ParseFloat(r.At[across], 64); err == nil {
			ticks = append(ticks, tick{x, short(x)})
		}
	}
	name := map[string]string{"concurrency": "requests in flight", "context": "context, tokens"}[across]
	for _, c := range []struct{ y, caption, metric, dashed string }{
		{"output tokens per second", "Throughput", "throughput_tok_s", ""},
		{"TTFT, ms", "Time to first token: p50, p95 dashed", "ttft_p50_ms", "ttft_p95_ms"},
		{"TPOT, ms", "Time per output token: p50, p95 dashed", "tpot_p50_ms", "tpot_p95_ms"},
	} {
		chart := chart{Title: s.say(c.caption+" over "+name, g.Title), X: name, Y: c.y, LogX: true, TicksX: ticks}
		chart.Series = s.lines(rows, across, c.metric, 0)
		if c.dashed != "" && len(s.Columns) <= styles {
			chart.Series = append(chart.Series, s.lines(rows, across, c.dashed, styles)...)
		}
		if err := g.add(chart, c.caption); err != nil {
			return g, err
		}
	}
	pareto := s.pareto(rows)
	pareto.Title = s.say("Throughput against the speed one user sees", g.Title)
	if err := g.add(pareto, "Throughput against user speed, the Pareto frontier ringed"); err != nil {
		return g, err
	}
	last := rows[len(rows)-1]
	for _, family := range []string{"ttft", "tpot"} {
		c := chart{X: strings.ToUpper(family) + ", ms", Y: "% of requests at or below", TicksY: []tick{{0, "0"}, {25, "25"}, {50, "50"}, {75, "75"}, {90, "90"}, {100, "100"}}}
		var shown names
		for i := range s.Columns {
			line := series{Style: i, Line: true}
			for _, q := range quantiles {
				if v := s.value(last.Cells[i], family+"_"+q.name+"_ms"); v != nil {
					line.Points = append(line.Points, point{*v, q.share})
					shown.add(q.name)
				}
			}
			if len(line.Points) > 1 {
				c.Series = append(c.Series, line)
			}
		}
		caption := fmt.Sprintf("%s distribution at %s %s: %s", strings.ToUpper(family), across, last.At[across], strings.Join(shown, ", "))
		c.Title = s.say(caption, g.Title)
		if err := g.add(c, caption); err != nil {
			return g, err
		}
	}
	return g, nil
}

// say names a chart for those who do not see it.
func (s sheet) say(what, where string) string {
	var tiers names
	for _, c := range s.Columns {
		tiers.add(c.Name)
	}
	return fmt.Sprintf("%s; %s, %s; %s. The table above has the numbers.", what, s.Model, where, tiers.list())
}

func (s sheet) lines(rows []summary.Row, across, metric string, style int) []series {
	var out []series
	for i := range s.Columns {
		line := series{Style: i + style, Line: true}
		for _, r := range rows {
			x, err := strconv.ParseFloat(r.At[across], 64)
			if v := s.value(r.Cells[i], metric); err == nil && x > 0 && v != nil {
				line.Points = append(line.Points, point{x, *v})
			}
		}
		if len(line.Points) > 0 {
			out = append(out, line)
		}
	}
	return out
}

// pareto has a line a tier through its ladder.
func (s sheet) pareto(rows []summary.Row) chart {
	metric, name := summary.PerGPUMetric, "tokens per second, a GPU"
	for _, r := range rows {
		for _, c := range r.Cells {
			if s.value(c, "throughput_tok_s") != nil && s.value(c, summary.PerGPUMetric) == nil {
				metric, name = "throughput_tok_s", "tokens per second"
			}
		}
	}
	c := chart{X: "tokens per second, one user (p50)", Y: name}
	for i := range s.Columns {
		line := series{Style: i, Line: true}
		for _, r := range rows {
			x, y := s.value(r.Cells[i], summary.PerUserMetric), s.value(r.Cells[i], metric)
			if x == nil || y == nil {
				continue
			}
			line.Points = append(line.Points, point{*x, *y})
			if r.Cells[i].Pareto {
				c.Rings = append(c.Rings, point{*x, *y})
			}
		}
		if len(line.Points) > 0 {
			c.Series = append(c.Series, line)
		}
	}
	return c
}

// add draws a chart, unless there is nothing to draw.
func (g *group) add(c chart, caption string) error {
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range c.Series {
		for _, p := range s.Points {
			low, high = min(low, p.Y), max(high, p.Y)
		}
	}
	if len(c.Series) == 0 {
		return nil
	}
	// A ladder spans decades; so may what it makes of the server.
	c.LogY = c.TicksY == nil && c.LogX && low > 0 && high/low > 20
	svg, err := c.svg()
	if err != nil {
		return err
	}
	g.Figures = append(g.Figures, figure{SVG: svg, Caption: caption})
	return nil
}

// night is the longest pause within one run; what lies further apart is drawn
// apart.
const night = 6 * time.Hour

// timeline shows when the cells of the latest run were measured.
func (b *builder) timeline() (*figure, error) {
	var docs []*artifact.Document
	for _, d := range b.runs {
		if !d.Started.IsZero() && d.WallMS != nil {
			docs = append(docs, d)
		}
	}
	if len(docs) < 2 {
		return nil, nil
	}
	slices.SortStableFunc(docs, func(x, y *artifact.Document) int { return x.Started.Compare(y.Started) })
	first := 0
	for i := 1; i < len(docs); i++ {
		if docs[i].Started.Sub(ended(docs[i-1])) > night {
			first = i
		}
	}
	earlier := first
	docs = docs[first:]
	var lanes names
	for _, d := range docs {
		lanes.add(laneOf(d))
	}
	begin := docs[0].Started
	unit, unitName := time.Second, "seconds"
	if length := ended(docs[len(docs)-1]).Sub(begin); length > 3*time.Hour {
		unit, unitName = time.Hour, "hours"
	} else if length > 3*time.Minute {
		unit, unitName = time.Minute, "minutes"
	}
	since := func(t time.Time) float64 { return float64(t.Sub(begin)) / float64(unit) }
	const lanesMost = 24
	if len(lanes) > lanesMost {
		lanes = lanes[:lanesMost]
	}
	c := chart{Title: "When each cell was measured, a lane a tier", X: unitName + " since " + begin.UTC().Format("2006-01-02 15:04:05 UTC"), Width: 900, Height: 70 + 24*len(lanes)}
	whole, flagged, failed := series{Style: 0, Spans: true}, series{Style: 3, Spans: true}, series{Style: 1, Spans: true}
	for i, lane := range lanes {
		y := float64(len(lanes)-i) - 0.5
		c.TicksY = append(c.TicksY, tick{y, clip(lane)})
		for _, d := range docs {
			if laneOf(d) != lane {
				continue
			}
			s := &whole
			switch {
			case d.Failed > 0:
				s = &failed
			case d.Sweep != nil && len(d.Sweep.Flags) > 0:
				s = &flagged
			}
			s.Points = append(s.Points, point{since(d.Started), y}, point{since(ended(d)), y})
		}
	}
	out := &figure{Caption: "Each bar is a cell."}
	if earlier > 0 {
		out.Caption += fmt.Sprintf(" The latest run only; %d cells were measured more than six hours before.", earlier)
	}
	for _, s := range []struct {
		series
		name string
	}{{whole, "all requests succeeded"}, {flagged, "flagged"}, {failed, "requests failed"}} {
		if len(s.Points) > 0 {
			c.Series = append(c.Series, s.series)
			out.Legend = append(out.Legend, legend{swatch(s.Style, true), s.name})
		}
	}
	var err error
	out.SVG, err = c.svg()
	return out, err
}

func laneOf(d *artifact.Document) string {
	return cmp.Or(d.Tier, d.GPU, d.Engine, "(unnamed)")
}

func clip(s string) string {
	if r := []rune(s); len(r) > 16 {
		return string(r[:15]) + "…"
	}
	return s
}

// prompts show the prompts' size as planned against the server's count, of the
// models that were measured at two contexts or more.
func (b *builder) prompts() ([]figure, error) {
	var models names
	points := map[string][]point{}
	for _, d := range b.runs {
		size, _ := d.Metric("prompt_tokens_mean")
		if d.ContextTokens == nil || *d.ContextTokens <= 0 || size == nil || *size <= 0 {
			continue
		}
		models.add(d.Model)
		p := point{float64(*d.ContextTokens), *size}
		if !slices.Contains(points[d.Model], p) {
			points[d.Model] = append(points[d.Model], p)
		}
	}
	var out []figure
	for _, m := range models {
		low, high := points[m][0].X, points[m][0].X
		for _, p := range points[m] {
			low, high = min(low, p.X), max(high, p.X)
		}
		if low == high {
			continue
		}
		c := chart{Title: "Prompt size of " + m + ", planned against counted by the server", X: "planned, tokens", Y: "counted, tokens (mean)", LogX: true, LogY: true, Diagonal: true, Series: []series{{Points: points[m]}}}
		svg, err := c.svg()
		if err != nil {
			return nil, err
		}
		out = append(out, figure{SVG: svg, Caption: m + "; dashed: as planned"})
	}
	return out, nil
}
