package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/metrics"
	"anvilsweep/sweep/summary"
)

//go:embed page.html.tmpl
var pageText string

//go:embed style.css
var styleText string

//go:embed page.js
var scriptText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Options say what the page is about.
type Options struct {
	Title   string
	Program string   // what made the page, such as "anvilsweep 1.2"
	Metrics []string // of the tables; summary's default where there are none
	Notes   []string // to stand beside summary's
}

// page is what the template shows.
type page struct {
	Title, Program string
	Style          template.CSS
	Script         template.JS
	Facts          []fact
	Notes          []string
	Sections       []section
	Singles        *table
	Timeline       *figure
	Prompts        []figure
	Failures       *table
	Gaps           *table
	LeftOut        *table
	Cells          []detail
	Provenance     []*table
	Definitions    []fact
}

// fact is a term and what is to be said of it.
type fact struct{ Term, Text string }

// figure is a chart with its caption and legend.
type figure struct {
	SVG     template.HTML
	Caption string
	Legend  []legend
}

type legend struct {
	Swatch template.HTML
	Name   string
}

// section is one model under one workload: its tiers side by side.
type section struct {
	ID, Title, Workload string
	Table               *table
	Legend              []legend
	Groups              []group
}

// group is the charts of one context.
type group struct {
	Title   string
	Open    bool
	Figures []figure
}

// Page writes the report of documents, which artifact.Figures has read with
// their failures. It depends on nothing but them and the options.
func Page(w io.Writer, docs []*artifact.Document, o Options) error {
	s, err := summary.Build(docs, summary.Options{Metrics: o.Metrics})
	if err != nil {
		return err
	}
	runs, _ := artifact.Runs(docs)
	b := &builder{s: s, runs: runs, ids: map[string]string{}}
	p := page{Title: o.Title, Program: o.Program, Style: template.CSS(styleText), Script: template.JS(scriptText), Notes: slices.Concat(s.Notes, o.Notes)} //nolint:gosec // our own
	b.number()
	p.Facts = b.facts(docs)
	if p.Sections, p.Singles, err = b.sections(docs); err != nil {
		return err
	}
	if p.Timeline, err = b.timeline(); err != nil {
		return err
	}
	if p.Prompts, err = b.prompts(); err != nil {
		return err
	}
	p.Failures, p.Gaps, p.LeftOut = b.failures(), b.gaps(), b.leftOut()
	for _, d := range runs {
		p.Cells = append(p.Cells, b.detail(d))
	}
	p.Provenance = b.provenance(docs)
	for _, m := range s.Metrics {
		if text := define(m.Name); text != "" {
			p.Definitions = append(p.Definitions, fact{m.Name, text})
		}
	}
	p.Definitions = append(p.Definitions,
		fact{"p50, p95, p99", "nearest rank: of n sorted values the one in place ⌈q·n/100⌉; a p99 of fewer than 100 samples is descriptive and marked ~"},
		fact{"cell with several runs", "the median of the runs; ± is half of their range as a share of the median"},
		fact{"◆", "on the Pareto frontier of its context: no other ranked cell gives as much of both throughput (a GPU's, where every cell says how many it had) and " + summary.PerUserMetric + ", and more of one"},
		fact{"!, ‡", "requests failed; the cell is flagged: such cells are shown and not ranked"})
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return err
	}
	_, err = w.Write(out.Bytes())
	return err
}

// builder makes the parts of a page.
type builder struct {
	s    *summary.Summary
	runs []*artifact.Document
	ids  map[string]string // of a cell's details, by the file's path
}

// number gives each run an anchor.
func (b *builder) number() {
	for i, d := range b.runs {
		b.ids[d.Path] = fmt.Sprintf("cell-%d", i+1)
	}
}

// facts are the overview.
func (b *builder) facts(docs []*artifact.Document) []fact {
	var requests, completed, failed, flagged int
	models, tiers, engines, programs := names{}, names{}, names{}, names{}
	var first, last time.Time
	for _, d := range b.runs {
		requests, completed, failed = requests+d.Requests, completed+d.Completed, failed+d.Failed
		models.add(d.Model)
		tiers.add(d.Tier)
		engines.add(d.Engine)
		if d.Sweep != nil {
			programs.add(strings.TrimSpace(d.Sweep.Program.Name + " " + d.Sweep.Program.Version))
			if len(d.Sweep.Flags) > 0 {
				flagged++
			}
		}
		if d.Started.IsZero() {
			continue
		}
		if first.IsZero() || d.Started.Before(first) {
			first = d.Started
		}
		if end := ended(d); end.After(last) {
			last = end
		}
	}
	var recipes names
	for _, d := range docs {
		if d.Kind == artifact.KindManifest {
			for _, s := range d.Manifest.Recipe.Sources {
				recipes.add(s.Path)
			}
		}
	}
	out := []fact{{"Runs", metrics.Count(int64(len(b.runs)))}}
	if c := b.s.Cells; c.Planned > 0 {
		out = append(out, fact{"Planned cells done", fmt.Sprintf("%s of %s", metrics.Count(int64(c.States[artifact.StateDone])), metrics.Count(int64(c.Planned)))})
	}
	out = append(out,
		fact{"Requests", fmt.Sprintf("%s sent, %s completed, %s failed", metrics.Count(int64(requests)), metrics.Count(int64(completed)), metrics.Count(int64(failed)))},
		fact{"Flagged runs", metrics.Count(int64(flagged))})
	if !first.IsZero() {
		out = append(out, fact{"Measured", first.UTC().Format("2006-01-02 15:04:05") + " to " + last.UTC().Format("2006-01-02 15:04:05") + " UTC"})
	}
	for _, n := range []struct {
		term string
		names
	}{{"Models", models}, {"Tiers", tiers}, {"Engines", engines}, {"Recipes", recipes}, {"Measured by", programs}} {
		if len(n.names) > 0 {
			out = append(out, fact{n.term, n.list()})
		}
	}
	return out
}

// names are texts, each once, as they came.
type names []string

func (n *names) add(s string) {
	if s != "" && !slices.Contains(*n, s) {
		*n = append(*n, s)
	}
}

// list has the first of them.
func (n names) list() string {
	const shown = 8
	if len(n) <= shown {
		return strings.Join(n, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(n[:shown], ", "), len(n)-shown)
}

func ended(d *artifact.Document) time.Time {
	if d.WallMS == nil {
		return d.Started
	}
	return d.Started.Add(time.Duration(*d.WallMS * float64(time.Millisecond)))
}
