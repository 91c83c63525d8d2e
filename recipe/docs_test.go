package recipe

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
)

// The reference names everything that the language has.
func TestReferenceIsWhole(t *testing.T) {
	data, err := os.ReadFile("../docs/recipe.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	page, err := Reference()
	if err != nil {
		t.Fatal(err)
	}
	if page != text {
		t.Error("docs/recipe.md is not what `anvilsweep docs` prints; make golden writes it")
	}
	var names []string
	for _, schema := range []*hcl.BodySchema{modelSchema, engineSchema, tierSchema, tlsSchema, contextSchema, concurrencySchema, outputSchema, sweepSchema, timeoutSchema, excludeSchema, variableSchema, validationSchema, axisSchema, stopSchema, gateSchema, searchSchema, budgetSchema, launchSchema, readySchema, metricsSchema} {
		for _, a := range schema.Attributes {
			names = append(names, "`"+a.Name+"`")
		}
		for _, b := range schema.Blocks {
			names = append(names, "`"+b.Type)
		}
	}
	for _, b := range rootSchema.Blocks {
		names = append(names, "`"+b.Type)
	}
	for _, kind := range Kinds {
		names = append(names, "`"+kind+"`")
	}
	for _, effort := range efforts {
		names = append(names, "`"+effort+"`")
	}
	for part, inner := range cellParts {
		names = append(names, "`cell."+part+"`")
		for _, name := range inner {
			names = append(names, "."+name)
		}
	}
	for _, f := range Functions {
		names = append(names, fmt.Sprintf("| `%s` | %s |", f.Name, f.Does))
	}
	for _, name := range names {
		if !strings.Contains(text, name) {
			t.Errorf("docs/recipe.md lacks %s", name)
		}
	}
}
