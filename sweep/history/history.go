package history

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/compare"
	"anvilsweep/sweep/metrics"
)

// Options say what is followed and when its level counts as changed.
type Options struct {
	Metric    compare.Metric
	Alpha     float64 // level of the test
	Threshold float64 // percent; a smaller change is none
}

// History is one figure of many cells over many nights.
type History struct {
	Metric    compare.Metric `json:"metric"`
	Alpha     float64        `json:"alpha"`
	Threshold float64        `json:"threshold_pct"`
	Nights    []Night        `json:"nights"`
	Cells     []Cell         `json:"cells"`
	LeftOut   []string       `json:"left_out"` // files that are not in it, and why
}

// Night is one results folder, or one day of runs outside of any.
type Night struct {
	Name    string    `json:"name"`
	Started time.Time `json:"started_at"` // of its first run
	Folder  string    `json:"folder"`     // empty: runs outside of one
	Recipe  string    `json:"recipe"`     // digest of the recipe's sources; empty: not known
	Runs    int       `json:"runs"`
	Changes []string  `json:"changes"` // against the night before
}

// Cell is one cell's points, oldest first.
type Cell struct {
	Place   string   `json:"place"`
	Points  []Point  `json:"points"`
	Changes []Change `json:"level_changes"`
	Level   *float64 `json:"level"`         // median of the used points since the last change
	LastPct *float64 `json:"last_off_pct"`  // the last point against that level without it
	LastUse bool     `json:"last_point_ok"` // the last point is one that is used
}

// Point is a cell on one night.
type Point struct {
	Night   int      `json:"night"` // of Nights, from 0
	Value   *float64 `json:"value"` // median of the runs
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
	Runs    int      `json:"runs"`
	Note    string   `json:"note"`    // why the point is not used
	Changes []string `json:"changes"` // of the server and the work, against the point before
	Cut     bool     `json:"cut"`     // the work changed: what was before is something else
}

// Used reports whether the point counts.
func (p Point) Used() bool { return p.Note == "" && p.Value != nil }

// Change is where a cell's level changed.
type Change struct {
	Night   int             `json:"night"` // the first of the new level
	Before  float64         `json:"before"`
	After   float64         `json:"after"`
	Pct     float64         `json:"delta_pct"`
	P       float64         `json:"p"`
	Verdict compare.Verdict `json:"verdict"`
}

// run is a document with its night.
type run struct {
	doc   *artifact.Document
	night int
}

// Of follows a figure over the nights that documents are of.
func Of(docs []*artifact.Document, o Options) *History {
	if o.Alpha == 0 {
		o.Alpha = compare.DefaultAlpha
	}
	h := &History{Metric: o.Metric, Alpha: o.Alpha, Threshold: o.Threshold, Nights: []Night{}, Cells: []Cell{}, LeftOut: []string{}}
	runs := h.nights(docs)
	byPlace := map[string][]run{}
	var places []string
	for _, r := range runs {
		place := compare.Place(r.doc)
		if byPlace[place] == nil {
			places = append(places, place)
		}
		byPlace[place] = append(byPlace[place], r)
	}
	slices.SortStableFunc(places, compare.Natural)
	for _, place := range places {
		h.Cells = append(h.Cells, h.cell(place, byPlace[place], o))
	}
	h.changes()
	return h
}

// nights parts runs by the folder whose manifest names them, else by day.
func (h *History) nights(docs []*artifact.Document) []run {
	manifest := map[string]*artifact.Document{} // of an artifact, by its path
	for _, d := range docs {
		if d.Kind == artifact.KindManifest {
			for _, c := range d.Manifest.Cells {
				for _, f := range c.Artifacts {
					manifest[filepath.Clean(d.Beside(f.Path))] = d
				}
			}
		}
	}
	counting, left := artifact.Runs(docs)
	for _, l := range left {
		h.LeftOut = append(h.LeftOut, l.Path+": "+l.Why)
	}
	index := map[string]int{}
	var runs []run
	for _, d := range counting {
		if d.Started.IsZero() {
			h.LeftOut = append(h.LeftOut, d.Path+": the file does not say when it was measured")
			continue
		}
		n := Night{Name: d.Started.UTC().Format(time.DateOnly), Changes: []string{}}
		key := n.Name
		if m := manifest[filepath.Clean(d.Path)]; m != nil {
			n.Folder, n.Recipe = filepath.Dir(m.Path), m.Manifest.Recipe.Digest
			key = m.Path
		}
		i, ok := index[key]
		if !ok {
			i = len(h.Nights)
			index[key] = i
			n.Started = d.Started
			h.Nights = append(h.Nights, n)
		}
		night := &h.Nights[i]
		if d.Started.Before(night.Started) {
			night.Started = d.Started
		}
		night.Runs++
		runs = append(runs, run{d, i})
	}
	return h.inOrder(runs)
}

// inOrder sorts nights by their beginning and names them apart.
func (h *History) inOrder(runs []run) []run {
	order := make([]int, len(h.Nights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(h.Nights[a].Started.Compare(h.Nights[b].Started), strings.Compare(h.Nights[a].Folder, h.Nights[b].Folder))
	})
	at := make([]int, len(order))
	nights := make([]Night, len(order))
	days := map[string]int{}
	for to, from := range order {
		at[from] = to
		nights[to] = h.Nights[from]
		nights[to].Name = nights[to].Started.UTC().Format(time.DateOnly)
		days[nights[to].Name]++
	}
	for i := range nights {
		if days[nights[i].Name] > 1 {
			nights[i].Name = nights[i].Started.UTC().Format("2006-01-02 15:04")
		}
	}
	h.Nights = nights
	for i := range runs {
		runs[i].night = at[runs[i].night]
	}
	slices.SortStableFunc(runs, func(a, b run) int { return cmp.Or(a.night-b.night, a.doc.Started.Compare(b.doc.Started)) })
	return runs
}

func (h *History) cell(place string, runs []run, o Options) Cell {
	c := Cell{Place: place, Points: []Point{}, Changes: []Change{}}
	var before *artifact.Document
	for len(runs) > 0 {
		n := 1
		for n < len(runs) && runs[n].night == runs[0].night {
			n++
		}
		p := point(runs[:n], o.Metric.Name)
		if before != nil {
			for _, why := range compare.Differences(before, runs[0].doc) {
				p.Changes = append(p.Changes, why)
				p.Cut = p.Cut || !compare.OfTheServer(why)
			}
			if a, b := before.ConfigurationFingerprint, runs[0].doc.ConfigurationFingerprint; a != b && a != "" && b != "" && len(p.Changes) == 0 {
				p.Changes = append(p.Changes, fmt.Sprintf("configuration fingerprint %s and %s", brief(a), brief(b)))
			}
		}
		before = runs[0].doc
		c.Points = append(c.Points, p)
		runs = runs[n:]
	}
	c.levels(o)
	return c
}

func brief(sum string) string {
	sum = strings.TrimPrefix(sum, "sha256:")
	return sum[:min(8, len(sum))]
}

func point(runs []run, metric string) Point {
	p := Point{Night: runs[0].night, Runs: len(runs), Changes: []string{}}
	var values []float64
	var notes []string
	for _, r := range runs {
		d := r.doc
		v, note := d.Metric(metric)
		switch {
		case d.Failed > 0:
			note = "requests failed"
		case d.Lone():
			note = "a replica without the others"
		case limited(d):
			note = artifact.FlagClientLimited
		}
		if v != nil {
			values = append(values, *v)
		}
		if note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	p.Note = strings.Join(notes, "; ")
	if len(values) > 0 {
		m, low, high := metrics.Median(values), slices.Min(values), slices.Max(values)
		p.Value, p.Low, p.High = &m, &low, &high
	}
	return p
}

func limited(d *artifact.Document) bool {
	return d.Sweep != nil && slices.ContainsFunc(d.Sweep.Flags, func(f artifact.Flag) bool { return f.Name == artifact.FlagClientLimited })
}

// levels finds where the cell's level changed, part by part between cuts.
func (c *Cell) levels(o Options) {
	start := 0
	for i := 1; i <= len(c.Points); i++ {
		if i < len(c.Points) && !c.Points[i].Cut {
			continue
		}
		c.search(start, i, o)
		if i < len(c.Points) {
			start = i
		}
	}
	slices.SortFunc(c.Changes, func(a, b Change) int { return a.Night - b.Night })
	from := c.Points[start].Night
	if n := len(c.Changes); n > 0 {
		from = max(from, c.Changes[n-1].Night)
	}
	var level []float64
	for _, p := range c.Points {
		if p.Night >= from && p.Used() {
			level = append(level, *p.Value)
		}
	}
	if len(level) > 0 {
		m := metrics.Median(level)
		c.Level = &m
	}
	last := c.Points[len(c.Points)-1]
	c.LastUse = last.Used()
	if c.LastUse && len(level) > 1 {
		if before := metrics.Median(level[:len(level)-1]); before != 0 {
			off := 100 * (*last.Value/before - 1)
			c.LastPct = &off
		}
	}
}

// search looks for changes among the points from start up to end.
func (c *Cell) search(start, end int, o Options) {
	var values []float64
	var at []int // of the points that are used
	for i := start; i < end; i++ {
		if c.Points[i].Used() {
			values = append(values, *c.Points[i].Value)
			at = append(at, i)
		}
	}
	for _, ch := range changePoints(values, o.Alpha) {
		before, after := metrics.Median(values[ch.from:ch.at]), metrics.Median(values[ch.at:ch.to])
		if before == 0 {
			continue
		}
		change := Change{Night: c.Points[at[ch.at]].Night, Before: before, After: after, Pct: 100 * (after/before - 1), P: ch.p}
		if max(change.Pct, -change.Pct) < o.Threshold {
			continue
		}
		change.Verdict = compare.Worse
		switch {
		case o.Metric.Better == "":
			change.Verdict = compare.Changed
		case (change.Pct > 0) == (o.Metric.Better == "higher"):
			change.Verdict = compare.Better
		}
		c.Changes = append(c.Changes, change)
	}
}

// changes says of each night what is new in it: the recipe, and what the cells
// say of the server and the work.
func (h *History) changes() {
	for i := 1; i < len(h.Nights); i++ {
		if a, b := h.Nights[i-1].Recipe, h.Nights[i].Recipe; a != b && a != "" && b != "" {
			h.Nights[i].Changes = append(h.Nights[i].Changes, fmt.Sprintf("recipe %s and %s", brief(a), brief(b)))
		}
	}
	count := map[int]map[string]int{}
	for _, c := range h.Cells {
		for _, p := range c.Points {
			for _, why := range p.Changes {
				if count[p.Night] == nil {
					count[p.Night] = map[string]int{}
				}
				if count[p.Night][why]++; count[p.Night][why] == 1 {
					h.Nights[p.Night].Changes = append(h.Nights[p.Night].Changes, why)
				}
			}
		}
	}
	for night, whys := range count {
		for i, why := range h.Nights[night].Changes {
			if n := whys[why]; n > 1 {
				h.Nights[night].Changes[i] = fmt.Sprintf("%s (%d cells)", why, n)
			}
		}
	}
}

// Count is how many cells' latest level change has the verdict.
func (h *History) Count(v compare.Verdict) int {
	n := 0
	for _, c := range h.Cells {
		if k := len(c.Changes); k > 0 && c.Changes[k-1].Verdict == v {
			n++
		}
	}
	return n
}
