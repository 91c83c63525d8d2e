package recipe

import (
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Recipe is everything the sources say, decoded and with every reference
// resolved. It holds plain values only; what depends on a cell is kept behind
// small functions.
type Recipe struct {
	Sources   []Source
	Variables []Variable
	Sweeps    []*Sweep // source order

	loader *loader // for expressions
}

// Variable is one declared variable and where its value came from.
type Variable struct {
	Name        string
	Description string
	Value       string // HCL text; "(sensitive)" when Sensitive
	Origin      string // "default", a file's name, "--var-file NAME", "ANVILSWEEP_VAR_name" or "--var"
	Sensitive   bool
}

// Place is where something is declared.
type Place struct {
	File string
	Line int

	at hcl.Range
}

// Model is what is served.
type Model struct {
	At            Place
	Name          string // block label, or the id for the inline form
	ID            string // the name sent in requests
	Revision      string
	Quantization  string
	ContextWindow int // tokens; 0: asked of /v1/models

	value cty.Value // as expressions see it
}

// Engine is the program that serves the model.
type Engine struct {
	At      Place
	Name    string // block label
	Kind    string // one of Kinds
	Version string
	Image   string
	Flags   map[string]any    // plain JSON values; numbers are json.Number
	Labels  map[string]string // notes for people, not identity
	Own     Endpoint          // what the engine says of its address itself

	Launch   *Launch // nil: it is running already
	Ready    Ready
	Metrics  *Metrics // nil: not asked
	Identity string   // IdentityDemand or IdentityRecord

	value   cty.Value
	percell *percell[Engine] // nil: the same in every cell

	reached sync.Mutex
	at      map[*Tier]*Tier // tiers at the engine's own address
}

// Launch is how an engine is started.
type Launch struct {
	Command []string // program and arguments, no shell
	Env     map[string]string
	Dir     string

	Restarts int // how often it is started again after a crash; 3 when not said
}

// Metrics is the engine's page of Prometheus text, read during each cell.
type Metrics struct {
	Path     string // "/metrics" when not said
	Interval time.Duration
	Names    map[string]string // figure → metric, where the engine's own names are not known
	Also     []string          // metrics taken as they come
}

// What becomes of a cell whose server is another than the recipe's.
const (
	IdentityDemand = "demand" // it fails, nothing is sent
	IdentityRecord = "record" // it is run and flagged, under what the server says
)

// Power is where readings of the GPUs' power, clocks and temperature come from:
// a command that prints them, or a DCGM exporter.
type Power struct {
	Command  []string
	Exporter string // URL
	GPUs     []int  // of the exporter or the command; empty: all it has
	Interval time.Duration
}

// Ready is how to tell that an engine is up.
type Ready struct {
	Path    string        // asked until it answers 200; "/health" when not said
	Timeout time.Duration // 15m when not said
}

// Tier is the hardware an engine runs on and the endpoint that reaches it.
type Tier struct {
	At           Place
	Name         string // block label
	GPU          string
	Count        int      // GPUs; 1 when not said
	MemoryGiB    float64  // per GPU; 0 when not said
	PricePerHour *float64 // for the whole tier, in Currency
	Currency     string   // "USD" when not said
	Endpoint              // of a cell: the engine's own settings win
	ClockDomain  string
	Profile      string   // profile of the embedded engine; engines of kind sim only
	Power        *Power   // nil: not read
	Replicas     []string // base URLs of further servers of the same configuration
	Embedded     int      // embedded engines side by side; 1 when not said

	value   cty.Value
	percell *percell[Tier]
}

// Endpoint is where a server is and how it is reached.
type Endpoint struct {
	BaseURL    string   // absolute http(s) URL ending in the version, "http://127.0.0.1:8000/v1"; empty for a sim engine
	APIKeyEnv  string   // name of the environment variable, never the key
	Headers    []Header // sent with every request, sorted by name
	TLS        *TLS     // nil: the system's trust
	UnixSocket string   // path of a socket to connect to instead of BaseURL's host
}

// over is the endpoint with what another one leaves open.
func (e Endpoint) over(under Endpoint) Endpoint {
	if e.BaseURL != "" {
		under.BaseURL, under.UnixSocket, under.TLS = e.BaseURL, e.UnixSocket, e.TLS
	}
	if e.TLS != nil {
		under.TLS = e.TLS
	}
	if e.UnixSocket != "" {
		under.UnixSocket = e.UnixSocket
	}
	if e.APIKeyEnv != "" {
		under.APIKeyEnv = e.APIKeyEnv
	}
	if e.Headers != nil {
		under.Headers = e.Headers
	}
	return under
}

// Header is sent with every request. Its value is written in the recipe, or
// stands in an environment variable.
type Header struct{ Name, Value, Env string }

// TLS says whom an https endpoint is trusted to be.
type TLS struct {
	CAFile     string // PEM; beside the recipe unless absolute
	ServerName string
	Insecure   bool // any certificate is accepted
}

// Context is one nominal prompt size with the rules its prompts follow.
type Context struct {
	At                 Place
	Name               string // block label, empty for the inline form
	Tokens             int    // nominal; 0 means sampled from the measured distribution
	Cache              string // CacheUnique or CacheShared
	SharedPrefixTokens int    // 0 in unique mode
	Sizing             string // SizingChars or SizingTokens
}

// Prompt cache modes of a Context.
const (
	CacheUnique = "unique"
	CacheShared = "shared"
)

// Ways to size the prompts of a Context.
const (
	SizingChars  = "chars"  // three characters a token, the artifact format's rule
	SizingTokens = "tokens" // the server's own count
)

// Rung is one step of a concurrency ladder.
type Rung struct {
	At     Place
	Name   string // block label, empty for the inline form
	Value  int    // requests in flight
	Warmup int    // requests sent before the measured ones, not measured

	Stops  []Rule // each ends the climb above the rung at which it holds
	Search *Rule  // nil: every rung is run; else the highest that meets it is looked for

	requests     func(Point) (int, Diagnostics)
	requestsText string    // as written; empty: the default
	arrivals     *arrivals // nil: a closed loop
	exprs        []*kept   // all that the block keeps
}

// Output is what a response must look like and how it is sampled.
type Output struct {
	At              Place
	Name            string // block label, empty for the inline form
	Words           int    // 0: the short-summary workload
	Policy          string // PolicyObserve or PolicyStrict
	Canaries        bool
	MaxTokens       int
	MinTokens       *int
	IgnoreEOS       *bool
	Temperature     *float64 // nil: 0.0 is sent
	TopP            *float64 // nil: not sent
	Thinking        string   // "default", "enabled" or "disabled"
	ReasoningEffort string   // empty: not sent

	value   cty.Value
	percell *percell[Output]
}

// Output policies.
const (
	PolicyObserve = "observe"
	PolicyStrict  = "strict"
)

// Point is one position in a sweep's matrix: what a kept expression sees as `cell`.
type Point struct {
	Model       *Model
	Engine      *Engine
	Tier        *Tier
	Context     *Context
	Concurrency *Rung
	Output      *Output
	Extra       []*Named // values of the sweep's own axes, in their order
	Repeat      int      // 1-based

	seen *seen
}

// Named is one value of an axis that the sweep declares itself.
type Named struct {
	At    Place
	Axis  string
	Text  string // as shown
	Plain any    // plain JSON value

	value cty.Value
}

// Value is one value of an axis; Place puts it into a point.
type Value interface {
	Place(*Point)
	String() string // as shown in plans and errors: "h200", "8192", "4"
}

// Axis is one dimension of a sweep's matrix.
type Axis struct {
	Name   string  // model, engine, tier, context, concurrency, output, the sweep's own, or several joined by "+"
	Values []Value // source order, duplicates already dropped with a warning
}

// Pair is an axis of several that move together.
type Pair struct{ Parts []Value }

// Include adds points to the matrix that its axes do not cross to.
type Include struct {
	At     Place
	Reason string
	Axes   []Axis // all of them; those that the block leaves out are the sweep's own
}

// Exclude is one rule that takes points out of the matrix.
type Exclude struct {
	At     Place
	Reason string // the block's label
	When   func(Point) (bool, Diagnostics)
}

// Sweep is one matrix to run.
type Sweep struct {
	Name        string
	Description string
	File        string // the source that declares it, as in Source.Path
	Axes        []Axis // source order
	Excludes    []Exclude
	Includes    []Include
	Order       []string // axes from the slowest to the fastest, "repeat" among them; empty: source order
	Gates       []Rule   // each must hold wherever it applies
	Budget      Budget
	CellBudget  Budget // of each cell
	Abort       Abort
	Cooldown    time.Duration // between two cells that are run
	Matched     []Matched
	OnFailure   string   // OnFailureContinue when not said
	After       []string // sweeps that must have gone well before
	Repeat      int      // 1 when not said
	Seed        *int64   // nil: derived from each cell's digest
	MaxCells    int      // cap on the matrix before expansion; DefaultMaxCells when not said
	Timeout     Timeout
	Fresh       bool // a connection of its own for every request
}

// DefaultMaxCells is the largest matrix a sweep may have unless it says otherwise.
const DefaultMaxCells = 10_000

// Timeout bounds the phases of one request. Zero means no limit.
type Timeout struct {
	Connect     time.Duration // until the connection is open; default 10s
	FirstByte   time.Duration // from the request written to the first byte of the response; default 15m
	FirstOutput time.Duration // from the request written to the first output; default 15m
	Idle        time.Duration // between two reads of the response; default 15m
	Total       time.Duration // the whole request; default none
}
