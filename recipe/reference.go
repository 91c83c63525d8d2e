package recipe

import (
	_ "embed" // the page is part of the program
	"strings"
	"text/template"
)

//go:embed reference.md
var referencePage string

// Reference is the language's reference page in Markdown: its prose, and what
// the schema and the table of functions know.
func Reference() (string, error) {
	page, err := template.New("reference").Parse(referencePage)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = page.Execute(&b, map[string]any{"Functions": Functions, "Settable": Settable(), "PageFigures": PageFigures})
	return b.String(), err
}
