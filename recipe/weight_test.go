package recipe

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// What would fill the memory is refused before it is evaluated.
func TestValuesThatGrow(t *testing.T) {
	doubling := "locals {\n  a0 = \"xxxxxxxxxxxxxxxx\"\n"
	for i := 1; i < 60; i++ {
		doubling += fmt.Sprintf("  a%d = \"${local.a%d}${local.a%d}\"\n", i, i-1, i-1)
	}
	lists := "locals {\n  a0 = [1, 2, 3]\n"
	for i := 1; i < 60; i++ {
		lists += fmt.Sprintf("  a%d = concat(local.a%d, local.a%d)\n", i, i-1, i-1)
	}
	for name, c := range map[string][2]string{
		"texts that double":        {doubling + "}\n", "Value too large"},
		"lists that double":        {lists + "}\n", "Value too large"},
		"loops in loops":           {"locals { a = [for x in range(1000) : [for y in range(1000) : [for z in range(1000) : 1]]] }\n", "Value too large"},
		"a loop over a long local": {"locals {\n a = [for x in range(1000) : [for y in range(100) : 1]]\n b = [for x in local.a : local.a]\n c = [for x in local.b : local.b]\n}\n", "Value too large"},
		"a wide column":            {"locals { a = format(\"%999999999d\", 1) }\n", "10000 wide at most"},
		"a wide column in a list":  {"locals { a = formatlist(\"%-999999d\", [1, 2]) }\n", "10000 wide at most"},
		"a deep indent":            {"locals { a = indent(999999999, \"a\\nb\") }\n", "from 0 to 10000 blanks"},
		"a variable's default":     {"variable \"v\" { default = [for x in range(1000) : [for y in range(1000) : [for z in range(1000) : 1]]] }\n", "Value too large"},
		"a rule of a cell":         {strings.Replace(smallest, "context     = 1024", "context = 1024\n exclude \"x\" { when = length([for x in range(1000) : [for y in range(1000) : [for z in range(1000) : 1]]]) > 1 }", 1), "Value too large"},
		"flags of an engine":       {"engine \"x\" { flags = { a = [for x in range(1000) : [for y in range(1000) : [for z in range(1000) : 1]]] } }\n", "Value too large"},
	} {
		begin := time.Now()
		text := c[0]
		if !strings.Contains(text, "sweep ") {
			text += smallest
		}
		_, diags := load(t, text)
		if text := strings.Join(strings.Fields(written(t, diags)), " "); !diags.HasErrors() || !strings.Contains(text, c[1]) {
			t.Errorf("%s: %s", name, text)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%s: %v", name, took)
		}
	}
	if _, diags := load(t, "locals { a = [for x in range(100) : [for y in range(100) : format(\"%05d\", x * y)]] }\n"+smallest); diags.HasErrors() {
		t.Error(written(t, diags))
	}
}
