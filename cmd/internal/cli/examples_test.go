package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const examples = "../../../examples/recipes"

// command runs one command line and returns its exit code and output.
func command(args ...string) (int, string, string) {
	var out, errs bytes.Buffer
	code := Run(args, Env{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }})
	return code, out.String(), errs.String()
}

// The plan of each example is what it was, and the same in 100 runs.
func TestPlansOfTheExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(examples, "*.sweep.hcl"))
	if err != nil || len(files) < 12 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sweep.hcl")
		t.Run(name, func(t *testing.T) {
			code, plan, errs := command("plan", "--json", file)
			if code != exitOK {
				t.Fatal(plan, errs)
			}
			golden := filepath.Join("testdata", "plans", name+".json")
			if *update {
				if err := os.WriteFile(golden, []byte(plan), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if plan != string(want) {
				t.Errorf("the plan differs from %s; make golden rewrites it", golden)
			}
			runs := 100
			if raceEnabled || testing.Short() {
				runs = 10
			}
			for range runs {
				if _, again, _ := command("plan", "--json", file); again != plan {
					t.Fatal("the plan is another in another run")
				}
			}
		})
	}
}

// Every example says when to use it and how to run it, and is formatted.
func TestExamplesExplainThemselves(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(examples, "*.sweep.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(text), "\n\n")
		if !strings.HasPrefix(head, "# ") || !strings.Contains(head, "anvilsweep run ") {
			t.Errorf("%s does not begin with what it is for and how it is run", file)
		}
	}
}
