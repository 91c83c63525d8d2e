package recipe

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Kinds are the engines a recipe can name, sorted. openai is any server that
// speaks the API; sim is the embedded engine.
var Kinds = []string{"llamacpp", "ollama", "openai", "sglang", "sim", "trtllm", "vllm"}

var (
	engineSchema = schemaOf("kind version image flags labels identity "+endpointAttributes,
		hcl.BlockHeaderSchema{Type: "tls"},
		hcl.BlockHeaderSchema{Type: "launch"}, hcl.BlockHeaderSchema{Type: "ready"}, hcl.BlockHeaderSchema{Type: "metrics"})
	launchSchema  = schemaOf("command env dir restarts")
	readySchema   = schemaOf("path timeout")
	metricsSchema = schemaOf("path interval names also")
)

func (l *loader) engine(block *hcl.Block) (*Engine, map[string]cty.Value) {
	f, content := l.body(block, l.plainScope(), l.base, engineSchema)
	name := block.Labels[0]
	kind := kindOf(name)
	if _, said := f.known["kind"]; said {
		kind = f.oneOf("kind", Kinds...)
	}
	e := &Engine{
		At:   placeOf(block.DefRange),
		Name: name, Kind: kind, Version: f.text("version"), Image: f.text("image"), Flags: f.object("flags"), Labels: f.texts("labels"),
		Identity: f.oneOf("identity", IdentityDemand, IdentityRecord), Own: l.endpoint(f, content),
	}
	l.serving(f, content, e)
	if f.bad {
		return nil, nil
	}
	shown := map[string]cty.Value{
		"name": cty.StringVal(name), "kind": cty.StringVal(kind), "version": cty.StringVal(e.Version), "image": cty.StringVal(e.Image),
		"flags": cty.EmptyObjectVal,
	}
	if attr := content.Attributes["flags"]; attr != nil {
		if g, ok := f.known["flags"]; ok {
			shown["flags"] = g.value
		}
	}
	return e, shown
}

// kindOf is an engine's kind where it does not say: its name, if that is one.
func kindOf(name string) string {
	if slices.Contains(Kinds, name) {
		return name
	}
	return "openai"
}

// serving decodes how an engine is started and asked.
func (l *loader) serving(f *fields, content *hcl.BodyContent, e *Engine) {
	e.Ready = Ready{Path: "/health", Timeout: 15 * time.Minute}
	seen := map[string]bool{}
	for _, block := range content.Blocks {
		if block.Type == "tls" {
			continue // the endpoint's
		}
		if seen[block.Type] {
			f.fail(block.DefRange, "Declared twice", "An engine has one %s block.", block.Type)
		}
		seen[block.Type] = true
		schema := map[string]*hcl.BodySchema{"launch": launchSchema, "ready": readySchema, "metrics": metricsSchema}[block.Type]
		inner, _ := l.body(block, l.plainScope(), l.base, schema)
		switch block.Type {
		case "launch":
			e.Launch = &Launch{Command: inner.command(), Env: inner.texts("env"), Dir: inner.text("dir"), Restarts: inner.whole("restarts", 0, 1000, defaultRestarts)}
		case "ready":
			if path := inner.path(); path != "" {
				e.Ready.Path = path
			}
			e.Ready.Timeout = inner.duration("timeout", e.Ready.Timeout)
		case "metrics":
			e.Metrics = inner.metrics()
		}
		f.bad = f.bad || inner.bad
	}
}

// defaultRestarts is how often an engine that crashes is started again.
const defaultRestarts = 3

// PageFigures are what is taken from a metrics page, whatever the engine calls
// it.
var PageFigures = []string{"kv_cache_use", "preemptions", "prefix_cache_hits", "prefix_cache_queries", "running", "waiting"}

func (f *fields) metrics() *Metrics {
	m := &Metrics{Path: cmp.Or(f.path(), "/metrics"), Interval: f.interval(), Names: f.texts("names")}
	for name := range m.Names {
		if !slices.Contains(PageFigures, name) {
			f.fail(f.known["names"].at, "Unknown figure", "names has no %q.%s", name, suggestion(name, PageFigures, ""))
		}
	}
	if g, ok := f.known["also"]; ok {
		for _, v := range f.elements("also", g) {
			if v.value.Type() != cty.String {
				f.fail(v.at, "Wrong type", "also is a list of names of metrics, not of %s.", described(v.value))
				break
			}
			m.Also = append(m.Also, v.value.AsString())
		}
	}
	return m
}

const (
	defaultInterval  = time.Second
	shortestInterval = 100 * time.Millisecond
)

// interval is the time between two readings.
func (f *fields) interval() time.Duration {
	d := f.duration("interval", defaultInterval)
	if d < shortestInterval && !f.bad {
		f.fail(f.known["interval"].at, "Wrong interval", "interval is %s or more: readings take the server's time too.", shortestInterval)
	}
	return d
}

// command is a program with its arguments; numbers and yes or no are written
// as texts.
func (f *fields) command() []string {
	g, ok := f.require("command", "the program and its arguments, such as [\"vllm\", \"serve\", cell.model.id]")
	if !ok {
		return nil
	}
	var out []string
	for _, v := range f.elements("command", g) {
		text, err := convert.Convert(v.value, cty.String)
		if err != nil {
			f.fail(v.at, "Wrong type", "command is a list of texts, not of %s.", described(v.value))
			return nil
		}
		out = append(out, text.AsString())
	}
	if len(out) > 0 && out[0] == "" {
		f.fail(g.at, "No program", "The first word of command is the program, and it is empty.")
	}
	return out
}

func (f *fields) path() string {
	text := f.text("path")
	if text != "" && !strings.HasPrefix(text, "/") {
		f.fail(f.known["path"].at, "Wrong path", "path begins with a slash, such as /health.")
	}
	return text
}
