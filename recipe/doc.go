// Package recipe is the HCL language that declares a sweep.
//
// Load reads files and folders (source.go), evaluates variables and locals
// (variable.go, local.go), decodes each block beside its schema, a file per
// block, and returns a Recipe of plain values. What depends on a cell, such as
// an exclude rule, is kept as an expression behind a small function (kept.go);
// so are rules over results (rule.go). A block that names a cell's axes is
// decoded for each configuration it has (percell.go). Everything that is wrong
// is reported at once, with its place; what could fill the memory is refused
// before it is evaluated (weight.go).
//
// hcl and cty stay inside: what leaves is plain, diagnostics included. The
// package imports nothing of ours.
package recipe
