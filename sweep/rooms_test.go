package sweep_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport is the house's plan: which rooms a room may open into, and who
// owns which library. A package that is not listed is a new room: decide where
// it belongs, then list it.
var mayImport = map[string]struct {
	ours    []string
	foreign []string
}{
	"client":            {nil, []string{"github.com/valyala/fasthttp", "github.com/andybalholm/brotli", "github.com/klauspost/compress", "github.com/go-faster/jx", "github.com/HdrHistogram/hdrhistogram-go", "golang.org/x/net/http/httpguts"}},
	"client/prompt":     {nil, nil},
	"client/simengine":  {[]string{"client/prompt"}, []string{"github.com/valyala/fasthttp", "github.com/andybalholm/brotli", "github.com/klauspost/compress"}},
	"recipe":            {nil, []string{"github.com/hashicorp/hcl/v2", "github.com/zclconf/go-cty", "github.com/agext/levenshtein"}},
	"sweep/metrics":     {nil, []string{"github.com/HdrHistogram/hdrhistogram-go"}},
	"sweep/artifact":    {[]string{"sweep/metrics", "client"}, []string{"github.com/go-json-experiment/json"}},
	"sweep/summary":     {[]string{"sweep/artifact", "sweep/metrics"}, []string{"github.com/agext/levenshtein"}},
	"sweep":             {[]string{"recipe", "client", "client/prompt", "client/simengine", "sweep/artifact", "sweep/metrics"}, []string{"github.com/hashicorp/go-hclog", "golang.org/x/net/http/httpproxy", "github.com/prometheus/client_model", "github.com/prometheus/common", "gonum.org/v1/gonum/stat/distuv"}},
	"sweep/history":     {[]string{"sweep/artifact", "sweep/compare", "sweep/metrics"}, nil},
	"sweep/report":      {[]string{"sweep/artifact", "sweep/compare", "sweep/history", "sweep/metrics", "sweep/summary"}, []string{"gonum.org/v1/plot"}},
	"sweep/publish":     {[]string{"sweep/artifact"}, nil},
	"sweep/export":      {[]string{"sweep/artifact"}, []string{"github.com/parquet-go/parquet-go"}},
	"sweep/compare":     {[]string{"sweep/artifact", "sweep/metrics"}, []string{"golang.org/x/perf/benchmath", "gonum.org/v1/gonum/stat/distuv"}},
	"cmd/benchclient":   {[]string{"client", "sweep/metrics", "cmd/internal/view"}, nil},
	"cmd/anvilsweep":    {[]string{"cmd/internal/cli"}, nil},
	"cmd/internal/cli":  {[]string{"cmd/internal/view", "recipe", "sweep", "sweep/artifact", "sweep/compare", "sweep/export", "sweep/history", "sweep/publish", "sweep/report", "sweep/summary", "client", "client/simengine"}, []string{"github.com/spf13/cobra", "github.com/rogpeppe/go-internal/diff", "github.com/hashicorp/go-hclog"}},
	"cmd/internal/view": {[]string{"recipe", "sweep", "sweep/artifact", "sweep/compare", "sweep/export", "sweep/history", "sweep/metrics", "sweep/publish", "sweep/summary"}, []string{"github.com/olekukonko/tablewriter", "github.com/clipperhouse/displaywidth", "github.com/hashicorp/go-hclog", "golang.org/x/term"}},
}

func TestWhoMayImportWhom(t *testing.T) {
	root := ".."
	seen := map[string]bool{}
	for _, top := range []string{"cmd", "recipe", "sweep", "client"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			rel, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			room := filepath.ToSlash(rel)
			rule, listed := mayImport[room]
			if !listed {
				t.Errorf("%s: package %s is not in the plan of the house", path, room)
				return nil
			}
			seen[room] = true
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, spec := range file.Imports {
				name, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					return err
				}
				if ours, ok := strings.CutPrefix(name, "anvilsweep/"); ok {
					if !slices.Contains(rule.ours, ours) {
						t.Errorf("%s imports %s, which package %s may not", path, name, room)
					}
					continue
				}
				if !strings.Contains(strings.SplitN(name, "/", 2)[0], ".") {
					continue // standard library
				}
				if !slices.ContainsFunc(rule.foreign, func(owned string) bool { return name == owned || strings.HasPrefix(name, owned+"/") }) {
					t.Errorf("%s imports %s, which package %s does not own", path, name, room)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for room := range mayImport {
		if !seen[room] {
			t.Errorf("the plan lists %s, which has no code", room)
		}
	}
}
