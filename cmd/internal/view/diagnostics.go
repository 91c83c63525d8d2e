package view

import (
	"io"

	"anvilsweep/recipe"
)

// Diagnostics prints what is wrong with a recipe, with source lines.
func Diagnostics(w io.Writer, getenv func(string) string, d recipe.Diagnostics) error {
	if d.Errors()+d.Warnings() == 0 {
		return nil
	}
	return d.WriteText(w, Width(w, getenv), Color(w, getenv))
}
