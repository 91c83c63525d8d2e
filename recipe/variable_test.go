package recipe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const smallest = `
engine "sim" {}
tier "t" { profile = "small" }
sweep "s" {
  model       = "m"
  engine      = engine.sim
  tier        = tier.t
  context     = 1024
  concurrency = 1
  output      = { max_tokens = 64 }
}
`

// folder writes files and returns the folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWhereAVariableIsSet(t *testing.T) {
	dir := folder(t, map[string]string{
		"r.sweep.hcl":     `variable "p" { default = "default" }` + strings.Replace(smallest, "sweep \"s\" {", "sweep \"s\" {\n description = var.p", 1),
		"a.auto.vars.hcl": `p = "a"`, "b.auto.vars.hcl": `p = upper("b")`, "c.auto.vars.hcl.off": `p = "off"`,
		"one.hcl": `p = "one"`, "two.hcl": "p = \"two\"\nother = 1\n",
	})
	env := map[string]string{}
	opts := Options{Getenv: func(name string) string { return env[name] }}
	step := func(value, origin string, warnings int) {
		t.Helper()
		r, diags := Load([]string{dir}, opts)
		if diags.HasErrors() || diags.Warnings() != warnings {
			t.Fatal(written(t, diags))
		}
		if v := r.Variables[0]; v.Value != `"`+value+`"` || v.Origin != origin {
			t.Errorf("%+v, want %s from %s", v, value, origin)
		}
	}
	step("B", "b.auto.vars.hcl", 0)
	opts.VarFiles = []string{filepath.Join(dir, "two.hcl"), filepath.Join(dir, "one.hcl")}
	step("one", "--var-file "+filepath.Join(dir, "one.hcl"), 1) // two.hcl sets what is not declared
	env["ANVILSWEEP_VAR_p"] = "from env"
	step("from env", "ANVILSWEEP_VAR_p", 1)
	opts.Vars = []Setting{{"p", "x"}, {"p", "last"}}
	step("last", "--var", 1)
	for _, name := range []string{"a.auto.vars.hcl", "b.auto.vars.hcl"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	opts = Options{}
	step("default", "default", 0)
}

func TestTypedVariablesFromText(t *testing.T) {
	for _, c := range []struct{ declared, text, value, fails string }{
		{`type = list(string)`, `["a", "b"]`, `["a", "b"]`, ""},
		{`type = list(string)`, `[]`, `[]`, ""},
		{`type = list(number)`, `[1, "2"]`, `[1, 2]`, ""},
		{`type = list(string)`, `a,b`, "", "Extra characters"},
		{`type = number`, `12`, "12", ""},
		{`type = number`, `many`, "", "many"},
		{`type = bool`, `true`, "true", ""},
		{`default = null`, `x`, `"x"`, ""},
		{`default = []`, `a,b`, `"a,b"`, ""},
		{`type = object({ a = number, b = optional(string, "z") })`, `{ a = 1 }`, "{\n  a = 1\n  b = \"z\"\n}", ""},
		{`type = map(string)`, `{ k = "v" }`, "{\n  k = \"v\"\n}", ""},
	} {
		for _, opts := range []Options{
			{Vars: []Setting{{"p", c.text}}},
			{Getenv: func(name string) string { return map[string]string{"ANVILSWEEP_VAR_p": c.text}[name] }},
		} {
			dir := folder(t, map[string]string{"r.sweep.hcl": "variable \"p\" {\n" + c.declared + "\n}\n" + smallest})
			r, diags := Load([]string{dir}, opts)
			switch {
			case c.fails != "":
				if text := written(t, diags); !diags.HasErrors() || !strings.Contains(text, c.fails) {
					t.Errorf("%s = %s: %s", c.declared, c.text, text)
				}
			case diags.HasErrors():
				t.Errorf("%s = %s: %s", c.declared, c.text, written(t, diags))
			case r.Variables[0].Value != c.value:
				t.Errorf("%s = %s became %q", c.declared, c.text, r.Variables[0].Value)
			}
		}
	}
}

// A secret is in no diagnostic, wherever it was set.
func TestSecretsThatDoNotFit(t *testing.T) {
	const secret = "hush-CANARY"
	dir := folder(t, map[string]string{
		"r.sweep.hcl": `variable "p" {
  type      = string
  default   = "x"
  sensitive = true
  validation {
    condition     = length(var.p) < 4
    error_message = "not ${var.p}"
  }
}
variable "n" {
  type      = number
  default   = 1
  sensitive = true
}
` + smallest,
		"v.hcl": `p = "` + secret + `"` + "\nn = \"" + secret + "\"\n",
	})
	for _, opts := range []Options{
		{VarFiles: []string{filepath.Join(dir, "v.hcl")}},
		{Vars: []Setting{{"p", secret}, {"n", `"` + secret + `"`}}},
		{Vars: []Setting{{"n", `"` + secret}}},
		{Getenv: func(name string) string { return `"` + secret + `"` }},
	} {
		_, diags := Load([]string{dir}, opts)
		if text := written(t, diags); !diags.HasErrors() || strings.Contains(text, "CANARY") {
			t.Errorf("%+v: %s", opts, text)
		}
	}
}

func writeFile(path string, data []byte) error { return os.WriteFile(path, data, 0o600) }
