package publish

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"anvilsweep/sweep/artifact"
)

// LedgerName is the file that names every other one with its SHA-256, as
// sha256sum reads it.
const LedgerName = "SHA256SUMS"

// Options say what a copy may be.
type Options struct {
	Words []string // to be taken out besides
	Limit int64    // bytes of all files together; 0: no limit
}

// Result is what was made.
type Result struct {
	Files   int
	Bytes   int64
	Taken   map[string]int // what was taken out, by kind
	Hosts   int            // different ones
	LeftOut []string       // files that were not copied, and why
}

// file is one file of the copy.
type file struct {
	rel  string // slashes; of the copy, once it is rewritten
	kind artifact.Kind
	old  string // SHA-256 of the original
	text []byte // of the original, then of the copy
	tree map[string]any
}

// Copy writes the copy of a results folder into out, which must not be there.
// Nothing is left where it fails.
func Copy(dir, out string, o Options) (*Result, error) {
	if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is there already; name a folder that is not", out)
	}
	r := &Result{}
	files, err := r.read(dir, out)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(files, func(f *file) bool { return f.tree != nil }) {
		return nil, fmt.Errorf("there is no artifact in %s", dir)
	}
	s := newScrubber(o.Words)
	for _, f := range files {
		s.names(f.tree)
		if f.tree == nil {
			s.learn(string(f.text))
		}
		s.each(f.tree)
	}
	if err := rewrite(files, s); err != nil {
		return nil, err
	}
	var total int64
	for _, f := range files {
		if int64(len(f.text)) > artifact.FileLimit {
			return nil, fmt.Errorf("%s has %d bytes, over the %d that readers of the format take", f.rel, len(f.text), artifact.FileLimit)
		}
		total += int64(len(f.text))
	}
	if o.Limit > 0 && total > o.Limit {
		return nil, fmt.Errorf("the copy would have %d bytes, over the limit of %d", total, o.Limit)
	}
	r.Files, r.Bytes, r.Taken, r.Hosts = len(files), total, s.Taken, len(s.hosts)
	return r, write(out, files)
}

// read takes in the artifacts, manifests, recipe copies and events of a folder.
func (r *Result) read(dir, out string) ([]*file, error) {
	var files []*file
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(entry.Name(), ".") && path != dir
		if entry.IsDir() {
			if hidden || filepath.Clean(path) == filepath.Clean(out) {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if hidden || !entry.Type().IsRegular() {
			r.LeftOut = append(r.LeftOut, rel+": hidden, or not a regular file")
			return nil
		}
		switch filepath.Ext(rel) {
		case ".json", ".jsonl", ".hcl":
		default:
			r.LeftOut = append(r.LeftOut, rel+": neither artifact, manifest, recipe nor events")
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f := &file{rel: rel, text: data, old: sum(data)}
		if strings.HasSuffix(rel, ".json") {
			d := artifact.Decode(path, data)
			if d.Kind == artifact.KindOther {
				r.LeftOut = append(r.LeftOut, rel+": "+d.Why)
				return nil
			}
			f.kind = d.Kind
			dec := json.NewDecoder(bytes.NewReader(data))
			dec.UseNumber()
			if err := dec.Decode(&f.tree); err != nil {
				return fmt.Errorf("%s: %w", rel, err)
			}
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// rewrite cleans every file and makes links between them fit again: artifacts
// first, then the aggregates that name their sums, then the manifests.
func rewrite(files []*file, s *scrubber) error {
	sums := map[string]string{}  // new by old
	byName := map[string]*file{} // by path in the folder
	order := slices.Clone(files) // what is named before what names it
	rank := func(f *file) int {
		switch f.kind {
		case artifact.KindManifest:
			return 2
		case artifact.KindAggregate:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(order, func(a, b *file) int { return rank(a) - rank(b) })
	for _, f := range order {
		was := f.rel
		f.rel = s.clean(f.rel) // as the manifest's text is: its links go on fitting
		if other := byName[f.rel]; other != nil {
			return fmt.Errorf("%s and another file would both be %s without what is taken out; take out less", was, f.rel)
		}
		byName[f.rel] = f
		if f.tree == nil {
			f.text = []byte(s.clean(string(f.text)))
			sums[f.old] = sum(f.text)
			continue
		}
		tree := s.tree(f.tree).(map[string]any)
		switch f.kind {
		case artifact.KindBenchmark:
			if own, ok := tree["sweep"].(map[string]any); ok && own["trace"] != nil {
				own["trace"] = nil // traces stay in the house
			}
		case artifact.KindAggregate:
			for _, in := range list(tree["replicas"]) {
				if renewed := sums[text(in["sha256"])]; renewed != "" {
					in["sha256"] = renewed
				}
			}
		case artifact.KindManifest:
			relink(tree, f.rel, byName)
		}
		data, err := artifact.Encode(tree)
		if err != nil {
			return fmt.Errorf("%s: %w", f.rel, err)
		}
		if d := artifact.Decode(f.rel, data); d.Kind != f.kind {
			return fmt.Errorf("%s would be no %s any more without what is taken out (%s); take out less", f.rel, f.kind, d.Why)
		}
		f.text = data
		sums[f.old] = sum(data)
	}
	return nil
}

// relink gives a manifest the sizes and sums of the copy's files.
func relink(tree map[string]any, rel string, files map[string]*file) {
	beside := func(path any) *file {
		return files[filepath.ToSlash(filepath.Join(filepath.Dir(filepath.FromSlash(rel)), filepath.FromSlash(text(path))))]
	}
	for _, cell := range list(tree["cells"]) {
		for _, a := range list(cell["artifacts"]) {
			if f := beside(a["path"]); f != nil {
				a["sha256"], a["bytes"] = sum(f.text), json.Number(fmt.Sprint(len(f.text)))
			}
		}
	}
	recipe, _ := tree["recipe"].(map[string]any)
	for _, source := range list(recipe["sources"]) {
		f := beside(source["copy"])
		if f == nil {
			continue
		}
		if renewed := sum(f.text); renewed != text(source["copy_sha256"]) {
			source["copy_sha256"], source["redacted"] = renewed, true
		}
	}
}

func list(v any) []map[string]any {
	var out []map[string]any
	items, _ := v.([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// tree cleans every text of a document, keys too.
func (s *scrubber) tree(v any) any {
	switch v := v.(type) {
	case string:
		return s.clean(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = s.tree(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names) // pseudonyms are given in one order
		for _, name := range names {
			out[s.clean(name)] = s.tree(v[name])
		}
		return out
	}
	return v
}

// each learns from every text of a document.
func (s *scrubber) each(v any) {
	switch v := v.(type) {
	case string:
		s.learn(v)
	case []any:
		for _, item := range v {
			s.each(item)
		}
	case map[string]any:
		for _, item := range v {
			s.each(item)
		}
	}
}

// names learns what is a name of the recipe's and so no host.
func (s *scrubber) names(tree map[string]any) {
	for _, key := range []string{"model", "engine", "tier", "gpu"} {
		if name := text(tree[key]); name != "" {
			s.keep[strings.ToLower(name)] = true
		}
	}
	own, _ := tree["sweep"].(map[string]any)
	s.id(text(own["cell_id"]))
	for _, cell := range list(tree["cells"]) {
		s.id(text(cell["id"]))
	}
	for _, key := range []string{"engine", "model", "tier"} {
		of, _ := own[key].(map[string]any)
		for _, field := range []string{"name", "kind", "id"} {
			if name := text(of[field]); name != "" {
				s.keep[strings.ToLower(name)] = true
			}
		}
	}
}

// id keeps a cell's id, "openai.local.ctx1024.c1", and what it begins with from
// being taken for a host.
func (s *scrubber) id(id string) {
	id = strings.ToLower(id)
	for i := range id {
		if id[i] == '.' {
			s.keep[id[:i]] = true
		}
	}
	s.keep[id] = true
}

// write makes the folder beside where it is to be, then gives it its name.
func write(out string, files []*file) (err error) {
	parent := filepath.Dir(filepath.Clean(out))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(parent, "."+filepath.Base(out)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	var ledger strings.Builder
	slices.SortFunc(files, func(a, b *file) int { return strings.Compare(a.rel, b.rel) })
	for _, f := range files {
		path := filepath.Join(temp, filepath.FromSlash(f.rel))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := artifact.WriteFile(path, f.text); err != nil {
			return err
		}
		fmt.Fprintf(&ledger, "%s  %s\n", sum(f.text), f.rel)
	}
	if err := artifact.WriteFile(filepath.Join(temp, LedgerName), []byte(ledger.String())); err != nil {
		return err
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	return os.Rename(temp, out)
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}
