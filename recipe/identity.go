package recipe

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// Digest is the digest of the recipe's sources, "sha256:…". Of one source it
// is the file's own, as sha256sum prints it; of several it is the SHA-256 of
// the lines that sha256sum prints for them, sorted by name, the names relative
// to the folder they share.
func (r *Recipe) Digest() string {
	if len(r.Sources) == 1 {
		return "sha256:" + hexSum(r.Sources[0].Bytes)
	}
	lines := make([]string, len(r.Sources))
	base := r.commonFolder()
	for i, src := range r.Sources {
		name, err := filepath.Rel(base, absolute(src.Path))
		if err != nil {
			name = filepath.Base(src.Path)
		}
		lines[i] = filepath.ToSlash(name) + "\n" + hexSum(src.Bytes)
	}
	slices.Sort(lines)
	var all strings.Builder
	for _, line := range lines {
		name, sum, _ := strings.Cut(line, "\n")
		fmt.Fprintf(&all, "%s  %s\n", sum, name)
	}
	return "sha256:" + hexSum([]byte(all.String()))
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}

// commonFolder is the deepest folder that holds every source.
func (r *Recipe) commonFolder() string {
	var base string
	for i, src := range r.Sources {
		folder := filepath.Dir(absolute(src.Path))
		if i == 0 {
			base = folder
		}
		for !within(base, folder) {
			base = filepath.Dir(base)
		}
	}
	return base
}

func within(base, path string) bool {
	rel, err := filepath.Rel(base, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Portable is a source's path as artifacts name it: relative to its
// repository's root, else to the folder the command runs in, else its name
// alone. It has slashes and tells nothing of the machine.
func (r *Recipe) Portable(path string) string {
	abs := absolute(path)
	root := filepath.Dir(abs)
	for {
		if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
			break
		}
		parent := filepath.Dir(root)
		if parent == root {
			root = absolute(".")
			break
		}
		root = parent
	}
	if !within(root, abs) {
		return filepath.Base(abs)
	}
	rel, err := filepath.Rel(root, abs)
	if err != nil {
		return filepath.Base(abs)
	}
	return filepath.ToSlash(rel)
}

// Ref names a sweep in its artifacts: "path.sweep.hcl#sweep@sha256:…".
func (r *Recipe) Ref(s *Sweep) string {
	return fmt.Sprintf("%s#%s@%s", r.Portable(s.File), s.Name, r.Digest())
}

// redacted stands where a sensitive value stood.
const redacted = "(sensitive)"

// Redacted is a source with the defaults of its sensitive variables taken out,
// fit to be copied beside the results.
func (r *Recipe) Redacted(src Source) (content []byte, changed bool) {
	hidden := map[string]bool{}
	for _, v := range r.Variables {
		if v.Sensitive {
			hidden[v.Name] = true
		}
	}
	if len(hidden) == 0 {
		return src.Bytes, false
	}
	if strings.HasSuffix(src.Path, ".json") {
		return redactJSON(src.Bytes, hidden)
	}
	file, diags := hclwrite.ParseConfig(src.Bytes, src.Path, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, true // a source that cannot be read again is not copied
	}
	for _, block := range file.Body().Blocks() {
		if block.Type() == "variable" && len(block.Labels()) == 1 && hidden[block.Labels()[0]] && block.Body().GetAttribute("default") != nil {
			block.Body().SetAttributeValue("default", cty.StringVal(redacted))
			changed = true
		}
	}
	return file.Bytes(), changed
}

func redactJSON(data []byte, hidden map[string]bool) ([]byte, bool) {
	var doc map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&doc) != nil {
		return nil, true
	}
	if doc["variable"] == nil {
		return data, false
	}
	changed := false
	variables, _ := doc["variable"].(map[string]any)
	for name := range hidden {
		if block, ok := variables[name].(map[string]any); ok && block["default"] != nil {
			block["default"] = redacted
			changed = true
		}
	}
	if !changed {
		// Another JSON layout of the same block: copy nothing rather than a
		// secret.
		return nil, true
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, true
	}
	return append(out, '\n'), true
}
