package recipe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// someMetrics are what rules may name in these tests.
var someMetrics = []string{"throughput_tok_s", "ttft_p95_ms", "ttft_p99_ms"}

func load(t *testing.T, text string, vars ...Setting) (*Recipe, Diagnostics) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.sweep.hcl")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Load([]string{path}, Options{Vars: vars, Metrics: someMetrics})
}

func mustLoad(t *testing.T, paths ...string) *Recipe {
	t.Helper()
	r, diags := Load(paths, Options{Metrics: someMetrics})
	if diags.HasErrors() {
		t.Fatal(written(t, diags))
	}
	return r
}

func written(t *testing.T, d Diagnostics) string {
	t.Helper()
	var b bytes.Buffer
	if err := d.WriteText(&b, 100, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var expectation = regexp.MustCompile(`# ERROR: (.*)$`)

// Each file of testdata/invalid says on the faulty line what must be said of
// it; nothing else may be said.
func TestInvalidRecipes(t *testing.T) {
	files, err := filepath.Glob("testdata/invalid/*.sweep.hcl")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := map[int]string{}
			for i, line := range strings.Split(string(data), "\n") {
				if m := expectation.FindStringSubmatch(line); m != nil {
					want[i+1] = m[1]
				}
			}
			_, diags := Load([]string{file}, Options{Metrics: someMetrics})
			for _, d := range diags.List() {
				text := d.Summary + ": " + d.Detail
				if d.Severity != "error" || want[d.Line] == "" || !strings.Contains(text, want[d.Line]) {
					t.Errorf("line %d: unexpected %s: %s", d.Line, d.Severity, text)
					continue
				}
				delete(want, d.Line)
			}
			for line, text := range want {
				t.Errorf("line %d: nobody said %q:\n%s", line, text, written(t, diags))
			}
		})
	}
}

func TestSmallestRecipe(t *testing.T) {
	r := mustLoad(t, "testdata/valid/smallest.sweep.hcl")
	s := r.Sweeps[0]
	var names []string
	for _, a := range s.Axes {
		names = append(names, a.Name)
	}
	if got := strings.Join(names, " "); got != "model engine tier context concurrency output" {
		t.Errorf("axes %s", got)
	}
	if got := fmt.Sprint(s.Axes[4].Values); got != "[1 2 4 8 16 32]" {
		t.Errorf("ladder %s", got)
	}
	var p Point
	for _, a := range s.Axes {
		a.Values[0].Place(&p)
	}
	if p.Model.ID != "Qwen/Qwen3-8B" || p.Engine.Kind != "vllm" || p.Engine.Version != "0.32.0" || p.Tier.Count != 1 || p.Tier.Currency != "USD" ||
		p.Context.Cache != CacheUnique || !p.Output.Canaries || p.Output.Thinking != "default" || p.Output.Policy != "strict" {
		t.Errorf("defaults: %+v %+v %+v %+v", p.Model, p.Engine, p.Tier, p.Output)
	}
	if s.Repeat != 1 || s.Seed != nil || s.MaxCells != DefaultMaxCells || s.Timeout.Connect != 10*time.Second || s.Timeout.Idle != 15*time.Minute || s.Timeout.Total != 0 {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct{ concurrency, want int }{{1, 8}, {2, 8}, {16, 64}} {
		p.Concurrency.Value = c.concurrency
		if n, _ := p.Concurrency.Requests(p); n != c.want {
			t.Errorf("requests at %d: %d, want %d", c.concurrency, n, c.want)
		}
	}
}

// The recipe of the language page, and what a launch command is in a cell.
func TestTheLanguagePagesRecipe(t *testing.T) {
	r := mustLoad(t, "testdata/valid/language.sweep.hcl")
	nightly := r.Sweeps[1]
	if len(nightly.Gates) != 2 || len(nightly.After) != 1 || nightly.Repeat != 3 || len(nightly.Axes) != 7 {
		t.Errorf("%+v", nightly)
	}
	var p Point
	for _, a := range nightly.Axes {
		a.Values[len(a.Values)-1].Place(&p)
	}
	nightly.Axes[1].Values[0].Place(&p) // vllm
	p.Repeat = 1
	p, diags := p.Resolve()
	if diags.HasErrors() {
		t.Fatal(written(t, diags))
	}
	if got := strings.Join(p.Engine.Launch.Command, " "); got != "vllm serve Qwen/Qwen3-8B --max-num-seqs 256" || p.Engine.Launch.Env["HF_HUB_OFFLINE"] != "1" || p.Engine.Metrics.Path != "/metrics" {
		t.Errorf("%q %+v", got, p.Engine)
	}
	if stops := p.Concurrency.Stops; len(stops) != 2 || stops[1].Text != "result.throughput_tok_s < 1.03 * previous.throughput_tok_s" {
		t.Errorf("%+v", stops)
	}
}

func TestHowATierIsReached(t *testing.T) {
	s := mustLoad(t, "testdata/valid/reach.sweep.hcl").Sweeps[0]
	var tiers []*Tier
	var sizes []string
	for _, a := range s.Axes {
		for _, v := range a.Values {
			switch v := v.(type) {
			case *Tier:
				tiers = append(tiers, v)
			case *Context:
				sizes = append(sizes, v.Sizing)
			}
		}
	}
	gateway := tiers[0]
	if want := []Header{{Name: "Api-Key", Env: "GATEWAY_KEY"}, {Name: "X-Route", Value: "a"}, {Name: "X-Tier", Value: "b"}}; !reflect.DeepEqual(gateway.Headers, want) {
		t.Errorf("headers %+v", gateway.Headers)
	}
	if got := *gateway.TLS; got != (TLS{CAFile: filepath.Join("testdata", "valid", "ca.pem"), ServerName: "inner.example"}) {
		t.Errorf("tls %+v", got)
	}
	if tiers[1].UnixSocket != "/run/vllm.sock" || tiers[1].TLS != nil || tiers[1].Headers != nil {
		t.Errorf("%+v", tiers[1])
	}
	if !s.Fresh || s.Timeout.FirstOutput != 90*time.Second || strings.Join(sizes, " ") != "tokens chars" {
		t.Errorf("fresh %v, %+v, sizing %v", s.Fresh, s.Timeout, sizes)
	}
}

func TestGrownRecipe(t *testing.T) {
	r, diags := Load([]string{"testdata/valid/grown.sweep.hcl"}, Options{})
	if diags.HasErrors() {
		t.Fatal(written(t, diags))
	}
	// 2 stands in the list and in the ladder.
	if diags.Warnings() != 1 || !strings.Contains(written(t, diags), "repeat") {
		t.Errorf("warnings:\n%s", written(t, diags))
	}
	s := r.Sweeps[0]
	axes := map[string]string{}
	var order []string
	for _, a := range s.Axes {
		order = append(order, a.Name)
		axes[a.Name] = fmt.Sprint(a.Values)
	}
	if got := strings.Join(order, " "); got != "concurrency model engine tier context output" {
		t.Errorf("axes are in source order: %s", got)
	}
	for name, want := range map[string]string{
		"concurrency": "[2 1 4 8 16 32 48]", "engine": "[vllm tuned]", "tier": "[h200 l40s]",
		"context": "[1024 8000 32768 131072 sampled 512]", "output": "[exact64 summary]",
	} {
		if axes[name] != want {
			t.Errorf("%s: %s, want %s", name, axes[name], want)
		}
	}
	p := pointOf(s)
	if p.Model.ContextWindow != 131072 || p.Tier.BaseURL != "http://127.0.0.1:8000/v1" || *p.Tier.PricePerHour != 3.99 || p.Context.SharedPrefixTokens != 2000 {
		t.Errorf("%+v %+v %+v", p.Model, p.Tier, p.Context)
	}
	flags := map[string]any{"tensor_parallel_size": json.Number("1"), "max_model_len": json.Number("131072"), "big": json.Number("12345678901234567890"), "half": json.Number("0.5"), "names": []any{"a", nil, true}}
	if !reflect.DeepEqual(p.Engine.Flags, flags) {
		t.Errorf("flags %#v", p.Engine.Flags)
	}
	o := p.Output
	if *o.MinTokens != 4 || *o.IgnoreEOS || *o.Temperature != 0 || *o.TopP != 0.9 || o.ReasoningEffort != "max" {
		t.Errorf("%+v", o)
	}
	if s.Repeat != 3 || *s.Seed != -7 || s.MaxCells != 20000 || s.Timeout != (Timeout{Connect: 2 * time.Second, FirstByte: time.Minute, FirstOutput: 15 * time.Minute, Idle: 30 * time.Second}) {
		t.Errorf("%+v", s)
	}
	l40s := p
	s.Axes[3].Values[1].Place(&l40s)
	for _, c := range []struct {
		context, concurrency int
		want                 bool
	}{{32768, 16, false}, {32768, 17, true}, {131072, 4, false}, {131072, 5, true}} {
		l40s.Context = &Context{Tokens: c.context, Cache: CacheShared}
		l40s.Concurrency = &Rung{Value: c.concurrency}
		if got, diags := s.Excludes[0].When(l40s); got != c.want || diags.HasErrors() {
			t.Errorf("%+v: excluded %v", c, got)
		}
	}
	for _, v := range r.Variables {
		if v.Name == "secret" && v.Value != "(sensitive)" || v.Name == "host" && (v.Value != `"127.0.0.1"` || v.Origin != "default") {
			t.Errorf("%+v", v)
		}
	}
}

func pointOf(s *Sweep) Point {
	p := Point{Repeat: 1}
	for _, a := range s.Axes {
		a.Values[0].Place(&p)
	}
	if p.Concurrency.Value == 2 && len(s.Axes[0].Values) > 1 {
		s.Axes[0].Values[1].Place(&p)
	}
	return p
}

func TestJSONSyntax(t *testing.T) {
	r := mustLoad(t, "testdata/valid/json.sweep.hcl.json")
	s := r.Sweeps[0]
	if s.Axes[0].Name != "tier" || fmt.Sprint(s.Axes[3].Values) != "[1024 2048]" {
		t.Errorf("%v", s.Axes)
	}
	p := pointOf(s)
	p.Concurrency = s.Axes[4].Values[1].(*Rung)
	if n, diags := p.Concurrency.Requests(p); n != 4 || diags.HasErrors() || p.Tier.GPU != "X" {
		t.Errorf("%d requests, %+v", n, p.Tier)
	}
	p.Context = s.Axes[3].Values[1].(*Context)
	if hit, diags := s.Excludes[0].When(p); !hit || diags.HasErrors() {
		t.Error("the exclude rule does not hold")
	}
}

// The same files give the same recipe and the same words, every time.
func TestLoadingIsDeterministic(t *testing.T) {
	files, err := filepath.Glob("testdata/invalid/*.sweep.hcl")
	if err != nil {
		t.Fatal(err)
	}
	_, first := Load(files, Options{})
	want := written(t, first)
	for range 30 {
		if _, again := Load(files, Options{}); written(t, again) != want {
			t.Fatal("the same faults came out in another way")
		}
	}
	r := mustLoad(t, "testdata/valid/grown.sweep.hcl")
	for range 30 {
		again := mustLoad(t, "testdata/valid/grown.sweep.hcl")
		if fmt.Sprint(again.Sweeps[0].Axes) != fmt.Sprint(r.Sweeps[0].Axes) || !reflect.DeepEqual(again.Variables, r.Variables) {
			t.Fatal("the same recipe came out in another way")
		}
	}
}

const frame = `
engine "sim" {}
tier "t" { profile = "instant" }
sweep "s" {
  model       = "m"
  engine      = engine.sim
  tier        = tier.t
  context     = %s
  concurrency = 1
  output      = { max_tokens = 64 }
}
`

func TestVariablesFromTheCommandLine(t *testing.T) {
	text := `
variable "typed" {
  type    = list(number)
  default = null
}
variable "free" { default = "x" }
variable "object" {
  type = object({ a = number, b = optional(string, "bee") })
  default = { a = 1 }
}
variable "secret" {
  type = number
  default = 1
  sensitive = true
}
` + fmt.Sprintf(frame, "var.typed == null ? [256] : var.typed")
	r, diags := load(t, text, Setting{"typed", "[512, 1024]"}, Setting{"free", "a=b, [not HCL]"}, Setting{"object", "{ a = 2 }"}, Setting{"free", "last wins"})
	if diags.HasErrors() {
		t.Fatal(written(t, diags))
	}
	if got := fmt.Sprint(r.Sweeps[0].Axes[3].Values); got != "[512 1024]" {
		t.Errorf("context %s", got)
	}
	shown := map[string]string{}
	for _, v := range r.Variables {
		shown[v.Name] = v.Value + " " + v.Origin
	}
	if shown["free"] != `"last wins" --var` || !strings.Contains(shown["object"], `"bee"`) || shown["secret"] != "(sensitive) default" {
		t.Errorf("%v", shown)
	}
	for _, c := range []struct {
		set  Setting
		want string
	}{
		{Setting{"typed", "[1,"}, "<--var typed> line 1"},
		{Setting{"typed", `["many"]`}, "must be list(number)"},
		{Setting{"typed", "local.x"}, "no variable named"},
		{Setting{"typd", "1"}, `Did you mean "typed"?`},
		{Setting{"typed", strings.Repeat("(", 100_000)}, "nested too deeply"},
	} {
		_, diags := load(t, text, c.set)
		if !diags.HasErrors() || !strings.Contains(written(t, diags), c.want) {
			t.Errorf("--var %.20s=%.20s: %s", c.set.Name, c.set.Value, written(t, diags))
		}
	}
	_, diags = load(t, text, Setting{"secret", `"hunter2`})
	if out := written(t, diags); !diags.HasErrors() || strings.Contains(out, "hunter2") {
		t.Errorf("a sensitive value is shown: %s", out)
	}
}

// Null is "not given" for an attribute that may be left out.
func TestNullIsNotGiven(t *testing.T) {
	r, diags := load(t, strings.Replace(fmt.Sprintf(frame, "512"), "concurrency = 1", "concurrency = 1\n  timeout {\n    idle = false ? \"5s\" : null\n  }\n  repeat = null\n  seed = null", 1))
	if diags.HasErrors() {
		t.Fatal(written(t, diags))
	}
	if s := r.Sweeps[0]; s.Timeout.Idle != 15*time.Minute || s.Repeat != 1 || s.Seed != nil {
		t.Errorf("%+v", s)
	}
}

func TestHostileSources(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := fmt.Sprintf(frame, "512")
	for name, c := range map[string]struct{ text, want string }{
		"parentheses":      {"locals {\n a = " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000) + "\n}" + good, "nested too deeply"},
		"brackets in JSON": {strings.Repeat("[", 100_000), "nested too deeply"},
		"prefix operators": {"locals {\n a = " + strings.Repeat("!", 100_000) + "true\n}" + good, "nested too deeply"},
		"ternaries":        {"locals {\n a = " + strings.Repeat("true ? 1 : ", 50_000) + "1\n}" + good, "nested too deeply"},
		"too large":        {"# " + strings.Repeat("x", 1<<20) + "\n" + good, "too large"},
		"not UTF-8":        {"locals {\n a = \"\xff\"\n}" + good, "not UTF-8"},
		"NUL bytes":        {"\x00\x00" + good, "Invalid"},
		"open heredoc":     {"locals {\n a = <<EOT\n" + good, "heredoc"},
		"huge range":       {strings.Replace(good, "512", "range(1000000000)", 1), "range"},
		"huge number":      {strings.Replace(good, "512", "1e999999", 1), "Error"},
		"huge power":       {strings.Replace(good, "512", "pow(10, 100000)", 1), "Error"},
	} {
		suffix := ".sweep.hcl"
		if strings.Contains(name, "JSON") {
			suffix += ".json"
		}
		_, diags := Load([]string{write(strings.ReplaceAll(name, " ", "-")+suffix, c.text)}, Options{})
		if out := written(t, diags); !diags.HasErrors() || !strings.Contains(out, c.want) || strings.Contains(out, "<nil>") {
			t.Errorf("%s: %.300s", name, out)
		}
	}
	for name, text := range map[string]string{
		"long sum":        strings.Replace(good, "512", "512"+strings.Repeat(" + 0", 100_000), 1),
		"CRLF":            strings.ReplaceAll(good, "\n", "\r\n"),
		"byte order mark": "\xef\xbb\xbf" + good,
	} {
		if _, diags := Load([]string{write("ok-"+strings.ReplaceAll(name, " ", "-")+".sweep.hcl", text)}, Options{}); diags.HasErrors() {
			t.Errorf("%s: %.300s", name, written(t, diags))
		}
	}
}

func TestWhatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "none.sweep.hcl"), "no such file"},
		{dir, "has no *.sweep.hcl"},
	} {
		_, diags := Load([]string{c.path}, Options{})
		out := written(t, diags)
		if !diags.HasErrors() || !strings.Contains(out, c.want) || strings.Contains(out, "<nil>") || strings.Contains(out, "open ") {
			t.Errorf("%s: %s", c.path, out)
		}
	}
	_, diags := load(t, "engine \"sim\" {}\n")
	if !strings.Contains(written(t, diags), "nothing to run") {
		t.Error(written(t, diags))
	}
}

func TestSeveralFilesAreOneRecipe(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	a, b := filepath.Join(dir, "a.sweep.hcl"), filepath.Join(dir, "tiers.sweep.hcl")
	for path, text := range map[string]string{
		a:                               "sweep \"s\" {\n  model = \"m\"\n  engine = engine.sim\n  tier = tier.t\n  context = 512\n  concurrency = 1\n  output = { max_tokens = 64 }\n}\n",
		b:                               "engine \"sim\" {}\ntier \"t\" {\n  profile = \"instant\"\n}\n",
		filepath.Join(dir, "notes.hcl"): "this is not read",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := mustLoad(t, dir, a) // a given twice is read once
	if len(r.Sources) != 2 || len(r.Sweeps) != 1 {
		t.Fatalf("%d sources", len(r.Sources))
	}
	// As `sha256sum a.sweep.hcl tiers.sweep.hcl | sha256sum` prints it.
	want := "sha256:" + hexSum([]byte(hexSum(r.Sources[0].Bytes)+"  a.sweep.hcl\n"+hexSum(r.Sources[1].Bytes)+"  tiers.sweep.hcl\n"))
	if r.Digest() != want {
		t.Errorf("digest %s, want %s", r.Digest(), want)
	}
	if got := r.Ref(r.Sweeps[0]); got != "a.sweep.hcl#s@"+want {
		t.Errorf("ref %s", got)
	}
	single := mustLoad(t, "testdata/valid/smallest.sweep.hcl")
	if single.Digest() != "sha256:"+hexSum(single.Sources[0].Bytes) {
		t.Error("one source has its own digest")
	}
	if err := os.WriteFile(filepath.Join(dir, "c.sweep.hcl"), []byte("tier \"t\" {\n  profile = \"small\"\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, diags := Load([]string{dir}, Options{})
	if out := written(t, diags); !strings.Contains(out, "c.sweep.hcl line 1") || !strings.Contains(out, "tiers.sweep.hcl line 2") {
		t.Errorf("a block declared in two files names both places: %s", out)
	}
}

func TestSensitiveValuesStayHidden(t *testing.T) {
	r := mustLoad(t, "testdata/valid/grown.sweep.hcl")
	copied, changed := r.Redacted(r.Sources[0])
	if !changed || bytes.Contains(copied, []byte("hush-hush")) || !bytes.Contains(copied, []byte("(sensitive)")) || !bytes.Contains(copied, []byte("127.0.0.1")) {
		t.Errorf("changed %v:\n%s", changed, copied)
	}
	plain := mustLoad(t, "testdata/valid/smallest.sweep.hcl")
	if copied, changed := plain.Redacted(plain.Sources[0]); changed || !bytes.Equal(copied, plain.Sources[0].Bytes) {
		t.Error("a recipe without secrets is copied as it is")
	}
	_, diags := load(t, "variable \"k\" {\n  default = \"hunter2\"\n  sensitive = true\n}\n"+fmt.Sprintf(frame, "var.k * 2"))
	for _, line := range strings.Split(written(t, diags), "\n") {
		if strings.Contains(line, "hunter2") {
			t.Errorf("shown: %s", line)
		}
	}
	// A key where its variable's name belongs is not shown either.
	_, diags = load(t, "tier \"u\" {\n  api_key_env = \"sk-abc-123\"\n}\ntier \"v\" {\n  base_url = \"http://u:hunter2@10.0.0.1/v1\"\n}\n"+fmt.Sprintf(frame, "512"))
	out := written(t, diags)
	if diags.Errors() != 2 || strings.Contains(out, "sk-abc") || strings.Contains(out, "hunter2") || !strings.Contains(out, "line 2") {
		t.Errorf("%s", out)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "x.sweep.hcl.json")
	if err := os.WriteFile(path, []byte(`{"variable":{"k":{"default":"hunter2","sensitive":true}},"engine":{"sim":{}},"tier":{"t":{"profile":"small"}},"sweep":{"s":{"model":"m","engine":"${engine.sim}","tier":"${tier.t}","context":512,"concurrency":1,"output":{"max_tokens":64}}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	j := mustLoad(t, path)
	if copied, changed := j.Redacted(j.Sources[0]); !changed || bytes.Contains(copied, []byte("hunter2")) {
		t.Errorf("%s", copied)
	}
}

func TestDiagnosticsShowTheValuesThatLedThere(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(frame, "512"), "concurrency = 1", "concurrency = concurrency.c", 1) +
		"concurrency \"c\" {\n  ladder = [8]\n  requests = cell.concurrency * 10000\n}\n"
	_, diags := load(t, text)
	out := written(t, diags)
	if !strings.Contains(out, "with cell.concurrency as 8") || !strings.Contains(out, "requests = cell.concurrency * 10000") {
		t.Errorf("%s", out)
	}
	if list := diags.List(); len(list) != 1 || list[0].Column == 0 || list[0].EndColumn <= list[0].Column {
		t.Errorf("%+v", list)
	}
}

func TestUniqueWithoutCanariesIsWarned(t *testing.T) {
	_, diags := load(t, strings.Replace(fmt.Sprintf(frame, "512"), "max_tokens = 64", "max_tokens = 64, canaries = false", 1))
	if diags.HasErrors() || diags.Warnings() != 1 || !strings.Contains(written(t, diags), "canaries = true") {
		t.Errorf("%s", written(t, diags))
	}
}

func TestPortablePaths(t *testing.T) {
	r := &Recipe{}
	if got := r.Portable("testdata/valid/smallest.sweep.hcl"); strings.HasPrefix(got, "/") || !strings.HasSuffix(got, "testdata/valid/smallest.sweep.hcl") {
		t.Errorf("%s", got)
	}
	if got := r.Portable(filepath.Join(t.TempDir(), "x", "r.sweep.hcl")); got != "r.sweep.hcl" {
		t.Errorf("outside of everything: %s", got)
	}
}

func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/valid/*.hcl", "testdata/invalid/*.hcl"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "fuzz.sweep.hcl")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		r, diags := Load([]string{path}, Options{})
		if out := written(t, diags); strings.Contains(out, "<nil>") {
			t.Fatal(out)
		}
		if !diags.HasErrors() {
			for _, s := range r.Sweeps {
				p := Point{Repeat: 1}
				for _, a := range s.Axes {
					a.Values[0].Place(&p)
				}
				p.Concurrency.Requests(p)
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		Load([]string{"testdata/valid/grown.sweep.hcl"}, Options{})
	}
}

func BenchmarkKeptExpression(b *testing.B) {
	r, _ := Load([]string{"testdata/valid/grown.sweep.hcl"}, Options{})
	s := r.Sweeps[0]
	p := pointOf(s)
	b.ReportAllocs()
	for b.Loop() {
		if _, diags := s.Excludes[0].When(p); diags.HasErrors() {
			b.Fatal("excluded with an error")
		}
	}
}
