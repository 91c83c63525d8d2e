package view

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"anvilsweep/recipe"
	"anvilsweep/sweep"
	"anvilsweep/sweep/metrics"
)

// Plan prints each sweep's matrix, a row a ladder, then what was excluded and
// the totals.
func Plan(w io.Writer, getenv func(string) string, plan *sweep.Plan, e sweep.Estimate) error {
	for i := range plan.Sweeps {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := planned(w, &plan.Sweeps[i]); err != nil {
			return err
		}
	}
	if vars := plan.Recipe.Variables; len(vars) > 0 {
		fmt.Fprintln(w, "\nVariables:")
		for _, v := range vars {
			fmt.Fprintf(w, "  %s = %s (%s)\n", v.Name, line(v.Value), v.Origin)
		}
	}
	requests, tokens := plan.Totals()
	fmt.Fprintf(w, "\nIn all: %s cells, %s requests, up to %s prompt tokens. Nothing was sent.\n",
		metrics.Count(int64(plan.Cells())), metrics.Count(requests), metrics.Count(tokens))
	if plan.Cells() > 0 {
		fmt.Fprintf(w, "Every cell run, about %s%s, %s.\n", length(e.Seconds), costs(e), e.Basis())
	}
	return nil
}

// length is a time for people, to two figures.
func length(seconds float64) string {
	switch {
	case seconds < 90:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 90*60:
		return fmt.Sprintf("%.0f min", seconds/60)
	case seconds < 72*3600:
		return fmt.Sprintf("%.1f h", seconds/3600)
	}
	return fmt.Sprintf("%.1f days", seconds/86400)
}

func costs(e sweep.Estimate) string {
	out := ""
	for _, currency := range slices.Sorted(maps.Keys(e.Cost)) {
		out += fmt.Sprintf(" and %.2f %s", e.Cost[currency], line(currency))
	}
	return out
}

// Valid says what a recipe without faults holds.
func Valid(w io.Writer, plan *sweep.Plan) {
	fmt.Fprintf(w, "Valid: %s, %s.\n", plural(len(plan.Sweeps), "sweep"), plural(plan.Cells(), "cell"))
}

func planned(w io.Writer, s *sweep.PlannedSweep) error {
	fmt.Fprintf(w, "Sweep %s  %s\n", s.Name, line(s.SourceRecipe))
	if s.Description != "" {
		fmt.Fprintln(w, line(s.Description))
	}
	g := Grid{Header: []string{"model", "engine", "tier", "context", "cache", "output", "axes", "repeat", "concurrency:requests"}, Names: 9}
	var last []string
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.Point.Concurrency.Warmup > 0 {
			g.Header[len(g.Header)-1] = "concurrency:requests+warm-up"
		}
		axes := sweep.Axes(c.Point)
		row := []string{axes["model"], axes["engine"], axes["tier"], axes["context"], c.Point.Context.Cache, axes["output"], ownAxes(c.Point), fmt.Sprint(c.Point.Repeat)}
		rung := fmt.Sprintf("%d:%d", c.Point.Concurrency.Value, c.Requests)
		if n := c.Point.Concurrency.Warmup; n > 0 {
			rung += fmt.Sprintf("+%d", n)
		}
		if c.Arrivals.Shape != "" {
			rung += " (" + c.Arrivals.String() + ")"
		}
		if n := sweep.Replicas(c.Point); n > 1 {
			rung = fmt.Sprintf("%d× %s", n, rung)
		}
		if last != nil && slices.Equal(row, last[:len(row)]) {
			last[len(row)] += " " + rung
			continue
		}
		last = append(row, rung)
		g.Rows = append(g.Rows, last)
	}
	g.drop("repeat", "1")
	g.drop("axes", "")
	if err := g.Write(w, false); err != nil {
		return err
	}
	requests, tokens := s.Totals()
	fmt.Fprintf(w, "%s cells, %s requests, up to %s prompt tokens.\n", metrics.Count(int64(len(s.Cells))), metrics.Count(requests), metrics.Count(tokens))
	for _, note := range s.Notes {
		fmt.Fprintln(w, "Note: "+line(note))
	}
	excluded(w, s)
	return nil
}

// ownAxes are the values of the sweep's own axes.
func ownAxes(p recipe.Point) string {
	var out []string
	for _, n := range p.Extra {
		out = append(out, n.Axis+"="+line(n.Text))
	}
	return strings.Join(out, " ")
}

// drop removes a column that says the same in every row.
func (g *Grid) drop(name, everywhere string) {
	at := slices.Index(g.Header, name)
	for _, row := range g.Rows {
		if row[at] != everywhere {
			return
		}
	}
	g.Header = slices.Delete(slices.Clone(g.Header), at, at+1)
	for i := range g.Rows {
		g.Rows[i] = slices.Delete(slices.Clone(g.Rows[i]), at, at+1)
	}
	if at < g.Names {
		g.Names--
	}
}

// excluded lists the points a rule took out, a line a reason with its first
// points in full.
func excluded(w io.Writer, s *sweep.PlannedSweep) {
	const shown = 20
	var reasons []string
	byReason := map[string][]string{}
	for _, e := range s.Excluded {
		axes := sweep.Axes(e.Point)
		text := fmt.Sprintf("%s.%s.ctx%s.c%s.%s", axes["engine"], axes["tier"], axes["context"], axes["concurrency"], axes["output"])
		if own := ownAxes(e.Point); own != "" {
			text += "." + strings.ReplaceAll(own, " ", ".")
		}
		if _, ok := byReason[e.Reason]; !ok {
			reasons = append(reasons, e.Reason)
		}
		byReason[e.Reason] = append(byReason[e.Reason], text)
	}
	for _, reason := range reasons {
		points := byReason[reason]
		fmt.Fprintf(w, "Excluded %d by %q: ", len(points), line(reason))
		more := ""
		if len(points) > shown {
			more = fmt.Sprintf(" and %d more (plan --json lists all)", len(points)-shown)
			points = points[:shown]
		}
		fmt.Fprintln(w, line(strings.Join(points, " "))+more)
	}
}

// planDocument is anvilsweep.plan/v1.
type planDocument struct {
	Schema       string         `json:"schema"`
	Estimate     *planEstimate  `json:"estimate,omitempty"`
	Error        string         `json:"error,omitempty"`
	Diagnostics  []diagnostic   `json:"diagnostics"`
	Recipe       *planRecipe    `json:"recipe,omitempty"`
	Variables    []planVariable `json:"variables,omitempty"`
	Sweeps       []planSweep    `json:"sweeps,omitempty"`
	Cells        int            `json:"cells"`
	Requests     int64          `json:"requests"`
	PromptTokens int64          `json:"prompt_tokens"`
}

type planEstimate struct {
	Seconds  float64            `json:"seconds"`
	Cost     map[string]float64 `json:"cost"` // by currency
	Measured int                `json:"measured_cells"`
	Assumed  int                `json:"assumed_cells"`
	Basis    string             `json:"basis"`
}

type diagnostic struct {
	Severity  string `json:"severity"`
	Summary   string `json:"summary"`
	Detail    string `json:"detail"`
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
}

type planRecipe struct {
	Digest  string   `json:"digest"`
	Sources []string `json:"sources"`
}

type planVariable struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

type planSweep struct {
	Name         string         `json:"name"`
	Description  string         `json:"description"`
	SourceRecipe string         `json:"source_recipe"`
	After        []string       `json:"after,omitempty"`
	Axes         []planAxis     `json:"axes"`
	Cells        []planCell     `json:"cells"`
	Excluded     []planExcluded `json:"excluded"`
	Notes        []string       `json:"notes"`
	Requests     int64          `json:"requests"`
	PromptTokens int64          `json:"prompt_tokens"`
}

type planAxis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

type planCell struct {
	ID           string            `json:"id"`
	Digest       string            `json:"digest"`
	Fingerprint  string            `json:"configuration_fingerprint"`
	Axes         map[string]string `json:"axes"`
	Included     string            `json:"included,omitempty"` // reason of the include block that added it
	Repeat       int               `json:"repeat"`
	Requests     int               `json:"requests"`
	Warmup       int               `json:"warmup"`
	PromptTokens int64             `json:"prompt_tokens"`
	Seed         *int64            `json:"seed"` // null: another in each run
	SeedOrigin   string            `json:"seed_origin"`
	Arrivals     string            `json:"arrivals"`
	Replicas     int               `json:"replicas"`
}

type planExcluded struct {
	Axes   map[string]string `json:"axes"`
	Repeat int               `json:"repeat"`
	Reason string            `json:"reason"`
}

// PlanJSON writes the plan, or what is wrong with the recipe, as one document.
func PlanJSON(w io.Writer, plan *sweep.Plan, e sweep.Estimate, diags recipe.Diagnostics, err error) error {
	doc := planDocument{Schema: "anvilsweep.plan/v1", Diagnostics: []diagnostic{}}
	if err != nil {
		doc.Error = err.Error()
		if doc.Error == "" {
			doc.Error = fmt.Sprintf("%d errors in the recipe", diags.Errors())
		}
	}
	doc.Diagnostics = plainDiagnostics(diags)
	if plan != nil {
		doc.fill(plan)
		doc.Estimate = &planEstimate{e.Seconds, e.Cost, e.Measured, e.Assumed, e.Basis()}
	}
	return writeJSON(w, doc)
}

func plainDiagnostics(diags recipe.Diagnostics) []diagnostic {
	out := []diagnostic{}
	for _, d := range diags.List() {
		out = append(out, diagnostic{
			Severity: d.Severity, Summary: d.Summary, Detail: d.Detail, File: d.File,
			Line: d.Line, Column: d.Column, EndLine: d.EndLine, EndColumn: d.EndColumn,
		})
	}
	return out
}

// validDocument is anvilsweep.diagnostics/v1.
type validDocument struct {
	Schema      string       `json:"schema"`
	Valid       bool         `json:"valid"`
	Error       string       `json:"error,omitempty"` // what is no diagnostic, such as a matrix over its cap
	Cells       int          `json:"cells"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

// ValidJSON writes what is wrong with a recipe as one document.
func ValidJSON(w io.Writer, plan *sweep.Plan, diags recipe.Diagnostics, err error) error {
	doc := validDocument{Schema: "anvilsweep.diagnostics/v1", Valid: err == nil, Diagnostics: plainDiagnostics(diags)}
	if err != nil {
		doc.Error = err.Error()
	}
	if plan != nil {
		doc.Cells = plan.Cells()
	}
	return writeJSON(w, doc)
}

func writeJSON(w io.Writer, doc any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

func (doc *planDocument) fill(plan *sweep.Plan) {
	doc.Recipe = &planRecipe{Digest: plan.Recipe.Digest()}
	for _, src := range plan.Recipe.Sources {
		doc.Recipe.Sources = append(doc.Recipe.Sources, plan.Recipe.Portable(src.Path))
	}
	for _, v := range plan.Recipe.Variables {
		doc.Variables = append(doc.Variables, planVariable{v.Name, v.Value, v.Origin})
	}
	for i := range plan.Sweeps {
		s := &plan.Sweeps[i]
		out := planSweep{
			Name: s.Name, Description: s.Description, SourceRecipe: s.SourceRecipe, After: s.After,
			Cells: []planCell{}, Excluded: []planExcluded{}, Notes: append([]string{}, s.Notes...),
		}
		out.Requests, out.PromptTokens = s.Totals()
		for _, a := range s.Axes {
			out.Axes = append(out.Axes, planAxis(a))
		}
		for j := range s.Cells {
			c := &s.Cells[j]
			out.Cells = append(out.Cells, planCell{
				ID: c.ID, Digest: c.Digest, Fingerprint: c.Fingerprint, Axes: sweep.Axes(c.Point), Included: c.Included,
				Repeat: c.Point.Repeat, Requests: c.Requests, Warmup: c.Point.Concurrency.Warmup,
				PromptTokens: c.PlannedTokens(), Seed: c.FixedSeed(), SeedOrigin: c.SeedOrigin,
				Arrivals: c.Arrivals.String(), Replicas: sweep.Replicas(c.Point),
			})
		}
		for _, e := range s.Excluded {
			out.Excluded = append(out.Excluded, planExcluded{sweep.Axes(e.Point), e.Point.Repeat, e.Reason})
		}
		doc.Sweeps = append(doc.Sweeps, out)
	}
	doc.Cells = plan.Cells()
	doc.Requests, doc.PromptTokens = plan.Totals()
}
