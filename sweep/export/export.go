package export

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"anvilsweep/sweep/artifact"
)

// Record is one run: an artifact, or an aggregate of replicas.
type Record struct {
	File         string             `json:"file"`
	SHA256       string             `json:"sha256"`
	Kind         string             `json:"kind"` // "artifact" or "aggregate"
	Generation   string             `json:"generation"`
	StartedAt    string             `json:"started_at"` // RFC 3339, UTC
	Sweep        string             `json:"sweep"`
	CellID       string             `json:"cell_id"`
	CellDigest   string             `json:"cell_digest"`
	Repeat       int                `json:"repeat"`
	SourceRecipe string             `json:"source_recipe"`
	Fingerprint  string             `json:"configuration_fingerprint"`
	Model        string             `json:"model"`
	Engine       string             `json:"engine"`
	Tier         string             `json:"tier"`
	GPU          string             `json:"gpu"`
	Context      *int               `json:"context_tokens"`
	Concurrency  int                `json:"concurrency"`
	Axes         map[string]string  `json:"axes"`
	Requests     int                `json:"requests"`
	Completed    int                `json:"completed"`
	Failed       int                `json:"failed"`
	Flags        []string           `json:"flags"`
	Figures      map[string]float64 `json:"figures"` // those that there are
}

// Records are the runs that count among documents, in their order. Figures that are
// withheld or were not measured are left out.
func Records(docs []*artifact.Document, figures []string) []Record {
	out := []Record{}
	runs, _ := artifact.Runs(docs)
	for _, d := range runs {
		r := Record{
			File: d.Path, SHA256: d.SHA256, Kind: string(d.Kind), Generation: d.Generation, SourceRecipe: d.SourceRecipe, Fingerprint: d.ConfigurationFingerprint,
			Model: d.Model, Engine: d.Engine, Tier: d.Tier, GPU: d.GPU, Context: d.ContextTokens, Concurrency: d.Concurrency,
			Requests: d.Requests, Completed: d.Completed, Failed: d.Failed, Axes: map[string]string{}, Flags: []string{}, Figures: map[string]float64{},
		}
		if !d.Started.IsZero() {
			r.StartedAt = d.Started.UTC().Format(time.RFC3339Nano)
		}
		if s := d.Sweep; s != nil {
			r.Sweep, r.CellID, r.CellDigest, r.Repeat = s.Name, s.CellID, s.CellDigest, s.Repeat
			maps.Copy(r.Axes, s.Axes)
			for _, f := range s.Flags {
				r.Flags = append(r.Flags, f.Name)
			}
		}
		for _, name := range figures {
			if v, _ := d.Metric(name); v != nil {
				r.Figures[name] = *v
			}
		}
		out = append(out, r)
	}
	return out
}

// column is one of a record's, apart from figures.
type column struct {
	name string
	of   func(*Record) string
}

var columns = []column{
	{"file", func(r *Record) string { return r.File }},
	{"sha256", func(r *Record) string { return r.SHA256 }},
	{"kind", func(r *Record) string { return r.Kind }},
	{"generation", func(r *Record) string { return r.Generation }},
	{"started_at", func(r *Record) string { return r.StartedAt }},
	{"sweep", func(r *Record) string { return r.Sweep }},
	{"cell_id", func(r *Record) string { return r.CellID }},
	{"cell_digest", func(r *Record) string { return r.CellDigest }},
	{"repeat", func(r *Record) string { return whole(r.Repeat) }},
	{"source_recipe", func(r *Record) string { return r.SourceRecipe }},
	{"configuration_fingerprint", func(r *Record) string { return r.Fingerprint }},
	{"model", func(r *Record) string { return r.Model }},
	{"engine", func(r *Record) string { return r.Engine }},
	{"tier", func(r *Record) string { return r.Tier }},
	{"gpu", func(r *Record) string { return r.GPU }},
	{"context_tokens", func(r *Record) string {
		if r.Context == nil {
			return ""
		}
		return strconv.Itoa(*r.Context)
	}},
	{"concurrency", func(r *Record) string { return strconv.Itoa(r.Concurrency) }},
	{"axes", func(r *Record) string { return r.axes() }},
	{"requests", func(r *Record) string { return strconv.Itoa(r.Requests) }},
	{"completed", func(r *Record) string { return strconv.Itoa(r.Completed) }},
	{"failed", func(r *Record) string { return strconv.Itoa(r.Failed) }},
	{"flags", func(r *Record) string { return strings.Join(r.Flags, " ") }},
}

func whole(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func (r *Record) axes() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Axes)) {
		parts = append(parts, name+"="+r.Axes[name])
	}
	return strings.Join(parts, " ")
}

func (r *Record) figures() []string { return slices.Sorted(maps.Keys(r.Figures)) }

// CSV writes a line a run with a column a figure; long, a line a run and
// figure.
func CSV(w io.Writer, records []Record, names []string, long bool) error {
	out := csv.NewWriter(w)
	var header []string
	for _, c := range columns {
		header = append(header, c.name)
	}
	if long {
		header = append(header, "figure", "value")
	} else {
		header = append(header, names...)
	}
	lines := [][]string{header}
	for i := range records {
		r := &records[i]
		var lead []string
		for _, c := range columns {
			lead = append(lead, c.of(r))
		}
		if long {
			for _, name := range r.figures() {
				lines = append(lines, append(slices.Clone(lead), name, exact(r.Figures[name])))
			}
			continue
		}
		for _, name := range names {
			text := ""
			if v, ok := r.Figures[name]; ok {
				text = exact(v)
			}
			lead = append(lead, text)
		}
		lines = append(lines, lead)
	}
	return out.WriteAll(lines)
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// JSON writes the records as one document.
func JSON(w io.Writer, records []Record) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Schema  string   `json:"schema"`
		Records []Record `json:"records"`
	}{"anvilsweep.export/v1", records})
}

// Benchfmt writes a line a run in the format of Go's benchmarks. Repeats of a
// cell are lines of one name, as benchstat wants them; the axes are parts of
// the name, "Sweep/context=8192/tier=h200".
func Benchfmt(w io.Writer, records []Record) error {
	for i := range records {
		r := &records[i]
		axes := map[string]string{}
		maps.Copy(axes, r.Axes)
		for name, value := range map[string]string{"model": r.Model, "tier": r.Tier, "engine": r.Engine, "context": "sampled", "concurrency": strconv.Itoa(r.Concurrency)} {
			if _, ok := axes[name]; !ok && value != "" {
				axes[name] = value
			}
		}
		if r.Context != nil && r.Axes["context"] == "" {
			axes["context"] = strconv.Itoa(*r.Context)
		}
		line := "BenchmarkSweep"
		for _, name := range slices.Sorted(maps.Keys(axes)) {
			line += "/" + word(name) + "=" + word(axes[name])
		}
		line += " " + strconv.Itoa(max(1, r.Completed))
		for _, name := range r.figures() {
			line += " " + exact(r.Figures[name]) + " " + name
		}
		if len(r.Figures) == 0 {
			continue // a line without a figure is none
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// word is a text that may stand in a benchmark's name.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '/' || r == '=' || r == 0x7f {
			return '_'
		}
		return r
	}, s)
}
