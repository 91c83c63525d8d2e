package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Kind is what a file turned out to be.
type Kind string

// Kinds of documents.
const (
	KindBenchmark Kind = "artifact"
	KindManifest  Kind = "manifest"
	KindAggregate Kind = "aggregate"
	KindOther     Kind = "other"
	KindJournal   Kind = "journal" // of a report only: events beside a manifest
)

// Document is a file as it was read, of any generation, in one shape. What a
// generation does not say is empty or nil here and named in Limitations.
type Document struct {
	Path   string
	SHA256 string
	Bytes  int64
	Kind   Kind
	Why    string // what the file is, where it is neither artifact nor manifest

	Manifest *Manifest // of a manifest

	Generation               string // "G0" to "G6", of an artifact
	Protocol                 string
	RunID                    string
	Started                  time.Time // zero where the file does not say
	Model                    string
	Engine, GPU, Tier        string
	BaseURL                  string
	SourceRecipe             string
	ManifestPath             string // relative to the file
	ConfigurationFingerprint string
	Requests                 int
	Completed                int
	Failed                   int
	Concurrency              int
	ContextTokens            *int // nil: sampled
	MaxTokens                int
	ResponseWords            *int
	Policy                   string
	CacheMode                string
	SharedPrefixTokens       *int
	RequestCanaries          *bool
	ThinkingMode             string
	ReasoningEffort          string
	SharedPrefixBurst        bool
	Temperature, TopP        *float64
	WallMS                   *float64
	Rows                     []Row // nil where the generation has none
	Sweep                    *Sweep
	Members                  []string // of an aggregate: the SHA-256 of each replica's artifact

	Limitations []string // what the file cannot tell, or should not have claimed

	Goodput *Goodput // where Figures was given an SLO

	wire     *wire
	computed Metrics  // of the rows, once it was needed
	figures  *figures // in place of wire's metrics where Figures read the file
	rowsLeft bool     // the file has rows that were not kept
	tree     map[string]any
	data     []byte
}

// FileLimit is how large a file Collect reads, as other readers of the format.
const FileLimit = 32 << 20

// Collect reads files and folders, folders recursively for *.json in order of
// their names, hidden files left out. A path that is not there is an error; a
// file that is no artifact is a document that says what it is.
func Collect(paths []string) ([]*Document, error) {
	return collect(paths, readFile)
}

func collect(paths []string, read func(string) *Document) ([]*Document, error) {
	var files []string
	seen := map[string]bool{}
	add := func(path string) {
		if clean := filepath.Clean(path); !seen[clean] {
			seen[clean] = true
			files = append(files, clean)
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			add(path)
			continue
		}
		err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			hidden := strings.HasPrefix(entry.Name(), ".") && file != path
			switch {
			case entry.IsDir() && hidden:
				return fs.SkipDir
			case !entry.IsDir() && !hidden && strings.HasSuffix(entry.Name(), ".json"):
				add(file)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	docs := make([]*Document, len(files))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				docs[i] = read(files[i])
			}
		})
	}
	wg.Wait()
	return docs, nil
}

func readFile(path string) *Document { return readBy(Decode, path) }

func readBy(decode func(string, []byte) *Document, path string) *Document {
	info, err := os.Stat(path)
	if err == nil && info.Size() > FileLimit {
		err = fmt.Errorf("it has %d bytes, more than the %d that readers of the format take", info.Size(), FileLimit)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return &Document{Path: path, Kind: KindOther, Why: "not read: " + err.Error()}
	}
	return decode(path, data)
}

// Beside resolves a path relative to the document's own file.
func (d *Document) Beside(rel string) string {
	return filepath.Join(filepath.Dir(d.Path), filepath.FromSlash(rel))
}

// Decode reads one file. It never fails: a file that is no artifact says so.
func Decode(path string, data []byte) *Document {
	sum := sha256.Sum256(data)
	d := &Document{Path: path, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data)), Kind: KindOther, data: data}
	value, err := parse(data)
	if err != nil {
		d.Why = "not JSON that a reader of the format takes: " + err.Error()
		return d
	}
	tree, ok := value.(map[string]any)
	if !ok {
		d.Why = "JSON, but not an object"
		return d
	}
	d.tree = tree
	switch schema := tree["schema"]; schema {
	case Schema:
		d.readArtifact()
	case AggregateSchema:
		d.readAggregate()
	case ManifestSchema:
		var m Manifest
		if err := json.Unmarshal(data, &m); err != nil {
			d.Why = "a sweep manifest that cannot be read: " + typeError(err)
			return d
		}
		d.Kind, d.Manifest = KindManifest, &m
	default:
		d.Why = describe(tree, schema)
	}
	return d
}

// siblings are formats that look like an artifact and are none.
var siblings = map[string]string{
	"anvil-serving.benchmark-evidence/v1": "evidence about runs, not a run",
	"anvil-serving.fast-tier-bakeoff/v1":  "a comparison of runs, not a run",
	"anvil-serving.eval-plan/v1":          "a plan, not a run",
}

func describe(tree map[string]any, schema any) string {
	if text, ok := schema.(string); ok {
		if what := siblings[text]; what != "" {
			return text + ": " + what
		}
		return fmt.Sprintf("schema %q is not %s", text, Schema)
	}
	for _, name := range keys(tree) {
		if inner, ok := tree[name].(map[string]any); ok && (inner["schema"] == Schema || name == "benchmark_artifact") {
			return fmt.Sprintf("embeds an artifact under %s and is not one itself", name)
		}
	}
	return "has no schema"
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// typeError names the key that has the wrong type.
func typeError(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Sprintf("the key %s holds a %s", wrong.Field, wrong.Value)
	}
	return err.Error()
}

// wire is an artifact of any generation as it stands in the file.
type wire struct {
	MeasurementProtocol      *string           `json:"measurement_protocol"`
	RunID                    *string           `json:"run_id"`
	StartedAt                *string           `json:"started_at"`
	FinishedAt               *string           `json:"finished_at"`
	StartedAtUnixNS          *int64            `json:"started_at_unix_ns"`
	FinishedAtUnixNS         *int64            `json:"finished_at_unix_ns"`
	ConfigurationFingerprint *string           `json:"configuration_fingerprint"`
	WallClockMS              *float64          `json:"wall_clock_ms"`
	BaseURL                  *string           `json:"base_url"`
	Model                    *string           `json:"model"`
	Engine                   *string           `json:"engine"`
	GPU                      *string           `json:"gpu"`
	Tier                     *string           `json:"tier"`
	Manifest                 *string           `json:"manifest"`
	SourceRecipe             *string           `json:"source_recipe"`
	Requests                 *int              `json:"requests"`
	Completed                *int              `json:"completed"`
	Failed                   *int              `json:"failed"`
	ResponsesReceived        *int              `json:"responses_received"`
	Failures                 []map[string]any  `json:"failures"`
	Concurrency              *int              `json:"concurrency"`
	ContextTokens            *int              `json:"context_tokens"`
	ContextDistribution      map[string]int    `json:"context_distribution"`
	MaxTokens                *int              `json:"max_tokens"`
	ResponseWords            *int              `json:"response_words"`
	PromptCacheMode          *string           `json:"prompt_cache_mode"`
	SharedPrefixTokens       *int              `json:"shared_prefix_tokens"`
	RequestCanaries          *bool             `json:"request_canaries"`
	ControlledOutputPolicy   *string           `json:"controlled_output_policy"`
	Sampling                 *Sampling         `json:"sampling"`
	PerformanceEligible      *bool             `json:"performance_eligible"`
	MetricPopulation         *MetricPopulation `json:"metric_population"`
	ServeFlags               *struct {
		SharedPrefixBurst *bool   `json:"shared_prefix_burst"`
		ThinkingMode      *string `json:"thinking_mode"`
		ReasoningEffort   *string `json:"reasoning_effort"`
	} `json:"serve_flags"`
	RequestTimings []Row          `json:"request_timings"`
	Metrics        map[string]any `json:"metrics"`
	Sweep          *Sweep         `json:"sweep"`
}

// readArtifact takes the file apart. Its generation is told by its fields,
// never by date or protocol label.
func (d *Document) readArtifact() {
	var w wire
	if err := json.Unmarshal(d.data, &w); err != nil {
		d.Why = "an artifact that cannot be read: " + typeError(err)
		return
	}
	metrics, ok := d.tree["metrics"].(map[string]any)
	if !ok {
		d.Why = "has the schema of an artifact and no metrics"
		return
	}
	w.Metrics = metrics // numbers as written
	d.wire = &w
	has := func(m map[string]any) func(string) bool {
		return func(name string) bool { _, ok := m[name]; return ok }
	}
	d.Generation = generation(has(d.tree), has(metrics), &w)
	d.readWire()
}

// readWire takes over what the file says.
func (d *Document) readWire() {
	w := d.wire
	d.Kind = KindBenchmark
	d.Protocol, d.RunID = text(w.MeasurementProtocol), text(w.RunID)
	d.Model, d.Engine, d.GPU, d.Tier = text(w.Model), text(w.Engine), text(w.GPU), text(w.Tier)
	d.BaseURL, d.SourceRecipe, d.ManifestPath = text(w.BaseURL), text(w.SourceRecipe), text(w.Manifest)
	d.ConfigurationFingerprint = text(w.ConfigurationFingerprint)
	d.Requests, d.Completed, d.Concurrency, d.MaxTokens = number(w.Requests), number(w.Completed), number(w.Concurrency), number(w.MaxTokens)
	if w.ContextTokens != nil && *w.ContextTokens > 0 {
		d.ContextTokens = w.ContextTokens
	}
	d.ResponseWords, d.SharedPrefixTokens, d.RequestCanaries = w.ResponseWords, w.SharedPrefixTokens, w.RequestCanaries
	d.Policy, d.CacheMode, d.WallMS = text(w.ControlledOutputPolicy), text(w.PromptCacheMode), w.WallClockMS
	d.Rows, d.Sweep = w.RequestTimings, w.Sweep
	if f := w.ServeFlags; f != nil {
		d.ThinkingMode, d.ReasoningEffort = text(f.ThinkingMode), text(f.ReasoningEffort)
		d.SharedPrefixBurst = f.SharedPrefixBurst != nil && *f.SharedPrefixBurst
	}
	if s := w.Sampling; s != nil {
		d.Temperature, d.TopP = s.Temperature.Effective, s.TopP.Effective
	}
	if w.StartedAtUnixNS != nil {
		d.Started = time.Unix(0, *w.StartedAtUnixNS).UTC()
	} else if t, err := time.Parse(time.RFC3339, text(w.StartedAt)); err == nil {
		d.Started = t
	}
	d.limit()
}

func generation(has, hasMetric func(string) bool, w *wire) string {
	switch {
	case has("sampling"):
		return "G6"
	case has("performance_eligible"):
		return "G5"
	case has("prompt_cache_mode"):
		return "G4"
	case hasMetric("time_to_first_output_p50_ms"):
		return "G3"
	case has("request_timings"):
		return "G2"
	case text(w.MeasurementProtocol) == "capacity-v2":
		return "G1"
	}
	return "G0"
}

// limit names what the file cannot tell, and what it should not have claimed.
func (d *Document) limit() {
	say := func(format string, args ...any) { d.Limitations = append(d.Limitations, fmt.Sprintf(format, args...)) }
	w := d.wire
	if w.Requests == nil || w.Completed == nil {
		say("requests and completed are not in the file")
	}
	switch {
	case w.Failed != nil:
		d.Failed = *w.Failed
	case w.Requests != nil && w.Completed != nil:
		d.Failed = *w.Requests - *w.Completed
		say("failed is not in the file; requests less completed is %d", d.Failed)
	}
	if d.Rows == nil && !d.rowsLeft {
		say("no request rows: its figures cannot be recomputed")
	}
	if d.Model == "" {
		say("no model name")
	}
	if d.withholdsThroughput() {
		if _, claimed := d.metric("throughput_tok_s"); claimed {
			say("claims a throughput though %d requests failed; it is withheld", d.Failed)
		}
	}
}

func (d *Document) withholdsThroughput() bool {
	return d.Failed > 0 || d.Completed < d.Requests
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func number(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
