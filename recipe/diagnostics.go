package recipe

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Diagnostics is what is wrong with a recipe, and what is legal but surely
// unwanted. The zero value is none.
type Diagnostics struct {
	list  hcl.Diagnostics
	files map[string]*hcl.File
}

// Diagnostic is one of them in plain values. Lines and columns count from 1;
// they are 0 where there is no place.
type Diagnostic struct {
	Severity  string // "error" or "warning"
	Summary   string
	Detail    string
	File      string
	Line      int
	Column    int
	EndLine   int
	EndColumn int
}

// HasErrors reports whether there is an error among them.
func (d Diagnostics) HasErrors() bool { return d.list.HasErrors() }

// Errors counts the errors.
func (d Diagnostics) Errors() int { return d.count(hcl.DiagError) }

// Warnings counts the warnings.
func (d Diagnostics) Warnings() int { return d.count(hcl.DiagWarning) }

func (d Diagnostics) count(severity hcl.DiagnosticSeverity) int {
	n := 0
	for _, one := range d.sorted() {
		if one.Severity == severity {
			n++
		}
	}
	return n
}

// Append returns both together.
func (d Diagnostics) Append(other Diagnostics) Diagnostics {
	if len(other.list) == 0 {
		return d
	}
	files := d.files
	for name, file := range other.files {
		if files[name] != file {
			files = maps.Clone(files)
			if files == nil {
				files = map[string]*hcl.File{}
			}
			maps.Copy(files, other.files)
			break
		}
	}
	return Diagnostics{list: append(slices.Clip(d.list), other.list...), files: files}
}

// identity is what makes two diagnostics one: the same fault at the same
// place, whichever cell met it.
type identity struct {
	severity        hcl.DiagnosticSeverity
	summary, detail string
	subject         hcl.Range
}

func identify(d *hcl.Diagnostic) identity {
	id := identity{severity: d.Severity, summary: d.Summary, detail: d.Detail}
	if d.Subject != nil {
		id.subject = *d.Subject
	}
	return id
}

// sorted is the list by file, line and column without repeats; what has no
// place comes first.
func (d Diagnostics) sorted() hcl.Diagnostics {
	seen := map[identity]bool{}
	var out hcl.Diagnostics
	for _, one := range d.list {
		if id := identify(one); !seen[id] {
			seen[id] = true
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(a, b *hcl.Diagnostic) int {
		x, y := identify(a), identify(b)
		return cmp.Or(
			cmp.Compare(x.subject.Filename, y.subject.Filename),
			cmp.Compare(x.subject.Start.Byte, y.subject.Start.Byte),
			cmp.Compare(x.severity, y.severity), cmp.Compare(x.summary, y.summary), cmp.Compare(x.detail, y.detail))
	})
	return out
}

// WriteText prints them with their source lines and the values involved.
func (d Diagnostics) WriteText(w io.Writer, width int, color bool) error {
	out := hcl.NewDiagnosticTextWriter(w, d.files, uint(width), color)
	for _, one := range d.sorted() {
		if err := out.WriteDiagnostic(one); err != nil {
			return err
		}
	}
	return nil
}

// List returns them in plain values.
func (d Diagnostics) List() []Diagnostic {
	out := []Diagnostic{}
	for _, one := range d.sorted() {
		plain := Diagnostic{Severity: "error", Summary: one.Summary, Detail: one.Detail}
		if one.Severity == hcl.DiagWarning {
			plain.Severity = "warning"
		}
		if s := one.Subject; s != nil {
			plain.File, plain.Line, plain.Column = s.Filename, s.Start.Line, s.Start.Column
			plain.EndLine, plain.EndColumn = s.End.Line, s.End.Column
		}
		out = append(out, plain)
	}
	return out
}

// add appends what hcl found. Values that are sensitive, and expressions that
// hold them, are not shown.
func (d *Diagnostics) add(more hcl.Diagnostics) {
	for _, one := range more {
		if one.Expression != nil && one.EvalContext != nil && showsSensitive(one.Expression, one.EvalContext) {
			quiet := *one
			quiet.Expression, quiet.EvalContext = nil, nil
			one = &quiet
		}
		if name, unknown := unknownFunction(one); unknown {
			named := *one
			named.Detail += suggestion(name, functionNames, "")
			one = &named
		}
		d.list = append(d.list, one)
	}
}

// unknownFunction is the name that a diagnostic of hcl's is about: hcl suggests
// names of variables and not of functions.
func unknownFunction(d *hcl.Diagnostic) (string, bool) {
	if d.Summary != "Call to unknown function" || strings.Contains(d.Detail, "Did you mean") {
		return "", false
	}
	return quotedName(d.Detail)
}

func showsSensitive(expr hcl.Expression, ctx *hcl.EvalContext) bool {
	for _, traversal := range expr.Variables() {
		v, diags := traversal.TraverseAbs(ctx)
		if !diags.HasErrors() && v.ContainsMarked() {
			return true
		}
	}
	return false
}

// fault adds an error at a place.
func (d *Diagnostics) fault(at hcl.Range, summary, detail string) {
	d.list = append(d.list, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at})
}

// warn adds a warning at a place.
func (d *Diagnostics) warn(at hcl.Range, summary, detail string) {
	d.list = append(d.list, &hcl.Diagnostic{Severity: hcl.DiagWarning, Summary: summary, Detail: detail, Subject: &at})
}
