package recipe

import (
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// Format is a source in the one layout that HCL has. What cannot be parsed
// stays as it is, with the faults.
func Format(src Source) ([]byte, Diagnostics) {
	l := &loader{recipe: &Recipe{}}
	l.diags.files = map[string]*hcl.File{}
	if strings.HasSuffix(src.Path, ".json") {
		return src.Bytes, l.diags // JSON has tools of its own
	}
	if l.parse(src) == nil {
		return src.Bytes, l.diags
	}
	return hclwrite.Format(src.Bytes), l.diags
}

// Files are the recipe files that paths name: files themselves, and the recipe
// files of folders.
func Files(paths []string) ([]Source, error) {
	var out []Source
	for _, path := range paths {
		files, err := expandPath(path)
		if err != nil {
			return nil, fmt.Errorf("%s", strings.TrimSuffix(plainError(path, err), "."))
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("%s", strings.TrimSuffix(plainError(file, err), "."))
			}
			out = append(out, Source{Path: file, Bytes: data})
		}
	}
	return out, nil
}

// Quote is a text as HCL spells it.
func Quote(text string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes())
}
