package recipe

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
)

// Source is one recipe file as it was read.
type Source struct {
	Path  string // as given, or joined to the folder given
	Bytes []byte
}

// Limits of a source, held before it is parsed: the parser recurses, and a
// stack that overflows takes the whole process with it.
const (
	sourceLimit = 1 << 20 // bytes
	depthLimit  = 250     // nested brackets or prefix operators
)

// suffixes of the files that a folder's recipe is made of.
var suffixes = []string{".sweep.hcl", ".sweep.hcl.json"}

// readSources reads files and folders into one recipe, each file once.
func (l *loader) readSources(paths []string) {
	seen := map[string]bool{}
	for _, path := range paths {
		files, err := expandPath(path)
		if err != nil {
			l.noPlace("The recipe cannot be read", plainError(path, err))
		}
		for _, file := range files {
			if abs, err := filepath.Abs(file); err == nil && seen[abs] {
				continue
			} else if err == nil {
				seen[abs] = true
			}
			data, err := os.ReadFile(file)
			if err != nil {
				l.noPlace("The recipe cannot be read", plainError(file, err))
				continue
			}
			l.recipe.Sources = append(l.recipe.Sources, Source{Path: file, Bytes: data})
		}
	}
}

func expandPath(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(e.Name(), s) }) {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the folder has no *%s and no *%s file", suffixes[0], suffixes[1])
	}
	return files, nil
}

// plainError leaves out the system call's name; the path comes once.
func plainError(path string, err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Sprintf("%s: %v.", path, err)
}

func (l *loader) noPlace(summary, detail string) {
	l.diags.list = append(l.diags.list, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail})
}

// parse reads one source's syntax, nil where that is not possible.
func (l *loader) parse(src Source) *hcl.File {
	data := bytes.TrimPrefix(src.Bytes, []byte("\xef\xbb\xbf"))
	if len(data) > sourceLimit {
		l.noPlace("The recipe is too large", fmt.Sprintf("%s has %d bytes; a recipe file may have %d.", src.Path, len(data), sourceLimit))
		return nil
	}
	if at := invalidUTF8(data); at >= 0 {
		l.diags.fault(place(src.Path, data, at), "The recipe is not UTF-8", "Save the file as UTF-8.")
		return nil
	}
	if at := tooDeep(data); at >= 0 {
		l.diags.fault(place(src.Path, data, at), "The recipe is nested too deeply", fmt.Sprintf("There are more than %d brackets or operators inside each other here.", depthLimit))
		return nil
	}
	var file *hcl.File
	var diags hcl.Diagnostics
	if strings.HasSuffix(src.Path, ".json") {
		file, diags = json.Parse(data, src.Path)
	} else {
		file, diags = hclsyntax.ParseConfig(data, src.Path, hcl.InitialPos)
	}
	if file != nil {
		l.diags.files[src.Path] = file
	}
	for _, d := range diags {
		if strings.Contains(d.Summary, "template") || strings.Contains(d.Detail, "template") {
			d.Detail += " To write ${ or %{ itself, double its first character: $${ or %%{."
		}
	}
	l.diags.add(diags)
	if diags.HasErrors() {
		return nil
	}
	if body, ok := file.Body.(*hclsyntax.Body); ok {
		l.duplicateKeys(body)
	}
	return file
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// tooDeep finds where brackets nest, or prefix operators follow each other,
// beyond the limit. It counts those in strings and comments too: nobody writes
// that many.
func tooDeep(data []byte) int {
	depth, run := 0, 0
	for i, b := range data {
		switch b {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
		switch b {
		case '!', '-', '?':
			run++
		case ' ', '\t', '\n', '\r':
		default:
			if b != ':' && (b < '0' || b > '9') && (b|0x20 < 'a' || b|0x20 > 'z') {
				run = 0
			}
		}
		if depth > depthLimit || run > depthLimit {
			return i
		}
	}
	return -1
}

func place(file string, data []byte, at int) hcl.Range {
	line := 1 + bytes.Count(data[:at], []byte("\n"))
	column := at - bytes.LastIndexByte(data[:at], '\n')
	start := hcl.Pos{Line: line, Column: column, Byte: at}
	end := hcl.Pos{Line: line, Column: column + 1, Byte: at + 1}
	return hcl.Range{Filename: file, Start: start, End: end}
}

// duplicateKeys finds objects that name a key twice: hcl lets the last one win
// in silence.
func (l *loader) duplicateKeys(body *hclsyntax.Body) {
	diags := hclsyntax.VisitAll(body, func(node hclsyntax.Node) hcl.Diagnostics {
		object, ok := node.(*hclsyntax.ObjectConsExpr)
		if !ok {
			return nil
		}
		first := map[string]bool{}
		for _, item := range object.Items {
			name := hcl.ExprAsKeyword(item.KeyExpr)
			if name == "" {
				v, diags := item.KeyExpr.Value(nil)
				if diags.HasErrors() || v.IsNull() || !v.Type().Equals(stringType) {
					continue
				}
				name = v.AsString()
			}
			if first[name] {
				l.diags.fault(item.KeyExpr.Range(), "Key given twice", fmt.Sprintf("The object names %q twice; remove one of them.", name))
			}
			first[name] = true
		}
		return nil
	})
	l.diags.add(diags)
}
