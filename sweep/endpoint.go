package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"anvilsweep/client"
	"anvilsweep/client/simengine"
	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// downFor is how long an endpoint that could not be reached is taken as down
// without being asked again: its cells fail at once, others are not held up.
const downFor = 30 * time.Second

// probeLimit is how long a server may take to list its models: a list is worth
// less than the night.
const probeLimit = 30 * time.Second

// endpoint is one server that cells are run against, opened when the first
// cell needs it.
type endpoint struct {
	key      string
	baseURL  string
	client   *client.Client
	patience time.Duration     // for the model list
	engine   *simengine.Engine // nil unless embedded
	proxy    *url.URL          // nil: none in between
	sizes    map[string]sizing // of prompts counted in tokens, by their kind

	models   []client.ModelInfo
	noModels *client.Failure // why there is no list, where the server is up
	probed   bool

	identified bool
	reported   artifact.Reported
	simulation bool // its identity page says that it is the embedded engine

	down     *client.Failure
	downSeen time.Time
}

// embedded reports whether the point is run on the engine inside the process.
func embedded(p recipe.Point) bool { return p.Engine.Kind == "sim" && p.Tier.BaseURL == "" }

// endpoints keeps the client of each address, and at most one embedded engine.
type endpoints struct {
	open    map[string][]*endpoint
	getenv  func(string) string
	logs    string                     // folder for the logs of engines that are started
	running *process                   // the engine that the run started; nil: none
	crashes map[string]int             // by launch: how often it crashed after it was up
	broken  map[string]*client.Failure // launches that failed: a crash at the start is not tried again by each cell
}

// get opens what a cell is measured on: an endpoint for each replica.
func (e *endpoints) get(c *Cell) ([]*endpoint, error) {
	p := c.Point
	key := fmt.Sprintf("%v|%v|%s|%v|%v|%s|%v|%v", p.Tier.BaseURL, p.Tier.Replicas, p.Tier.APIKeyEnv, p.Tier.Headers, p.Tier.TLS, p.Tier.UnixSocket, c.Fresh, c.Timeout)
	if embedded(p) {
		key = fmt.Sprintf("sim|%s|%s|%s|%d|%v|%v", p.Tier.Name, p.Tier.Profile, p.Model.ID, p.Tier.Embedded, c.Fresh, c.Timeout)
	}
	if found, ok := e.open[key]; ok {
		return found, nil
	}
	if embedded(p) {
		if err := e.closeEmbedded(); err != nil {
			return nil, err
		}
	}
	var eps []*endpoint
	for i := range Replicas(p) {
		ep, err := e.dial(c, key, i)
		if err != nil {
			for _, opened := range eps {
				err = errors.Join(err, opened.close())
			}
			return nil, err
		}
		eps = append(eps, ep)
	}
	e.open[key] = eps
	return eps, nil
}

// dial makes the client of one replica, the first of which is at base_url.
func (e *endpoints) dial(c *Cell, key string, replica int) (*endpoint, error) {
	p := c.Point
	ep := &endpoint{key: key, baseURL: p.Tier.BaseURL, patience: probeLimit}
	if replica > 0 && !embedded(p) {
		ep.baseURL = p.Tier.Replicas[replica-1]
	}
	if embedded(p) {
		if err := ep.start(p); err != nil {
			return nil, err
		}
	}
	cfg, err := e.config(ep, c)
	if err != nil {
		return nil, errors.Join(err, ep.close())
	}
	if ep.client, err = client.New(cfg); err != nil {
		return nil, errors.Join(err, ep.close())
	}
	return ep, nil
}

// config is how the cell's endpoint is reached. The embedded engine is never
// behind a proxy.
func (e *endpoints) config(ep *endpoint, c *Cell) (client.Config, error) {
	t := c.Point.Tier
	cfg := client.Config{BaseURL: ep.baseURL, Timeout: client.Timeout(c.Timeout), Fresh: c.Fresh, UserAgent: "anvilsweep", Socket: t.UnixSocket}
	if t.APIKeyEnv != "" {
		cfg.APIKey = e.getenv(t.APIKeyEnv)
	}
	for _, h := range t.Headers {
		header := client.Header{Name: h.Name, Value: h.Value}
		if h.Env != "" {
			header.Value, header.Secret = e.getenv(h.Env), true
		}
		cfg.Headers = append(cfg.Headers, header)
	}
	if t.TLS != nil {
		cfg.TLS = client.TLS{ServerName: t.TLS.ServerName, Insecure: t.TLS.Insecure}
		if t.TLS.CAFile != "" {
			var err error
			if cfg.TLS.CA, err = os.ReadFile(t.TLS.CAFile); err != nil {
				return cfg, fmt.Errorf("tier %q: ca_file: %w", t.Name, err)
			}
		}
	}
	if ep.engine != nil || t.UnixSocket != "" {
		return cfg, nil
	}
	var err error
	cfg.Proxy, err = proxyOf(ep.baseURL, e.getenv)
	ep.proxy = cfg.Proxy
	return cfg, err
}

// proxyOf is the proxy that the environment names for an address, by the
// conventions of other programs: none for this machine itself.
func proxyOf(base string, getenv func(string) string) (*url.URL, error) {
	either := func(name string) string { return cmp.Or(getenv(name), getenv(strings.ToLower(name))) }
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("base_url is not a URL") // which recipe and client say better
	}
	proxies := httpproxy.Config{HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY")}
	// httpproxy passes over what is no URL, and requests would go out directly.
	for _, text := range []string{proxies.HTTPProxy, proxies.HTTPSProxy} {
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		if _, err := url.Parse(text); err != nil {
			return nil, errors.New("HTTP_PROXY or HTTPS_PROXY is not a URL") // which may hold a password
		}
	}
	return proxies.ProxyFunc()(u)
}

func (ep *endpoint) start(p recipe.Point) error {
	profile, err := simengine.ProfileByName(p.Tier.Profile)
	if err != nil {
		return err
	}
	if p.Model.ContextWindow > 0 {
		profile.MaxModelLen = p.Model.ContextWindow
	}
	ep.engine = simengine.New(simengine.Options{Profile: profile, Models: []string{p.Model.ID}})
	if err := ep.engine.Listen("127.0.0.1:0"); err != nil {
		return fmt.Errorf("embedded engine: %w", err)
	}
	ep.baseURL = ep.engine.BaseURL()
	return nil
}

// probe asks /models once. A server that answers anything is up, with or
// without a model list; one that cannot be reached is down, and asked again
// only after a while.
func (ep *endpoint) probe(ctx context.Context) *client.Failure {
	if ep.probed {
		return nil
	}
	if ep.down != nil && time.Since(ep.downSeen) < downFor {
		return ep.down
	}
	ctx, cancel := context.WithTimeoutCause(ctx, ep.patience, fmt.Errorf("no model list within %s", ep.patience))
	defer cancel()
	models, failure := ep.client.Models(ctx)
	if failure != nil && unreachable(failure.Kind) {
		ep.down, ep.downSeen = failure, time.Now()
		return failure
	}
	ep.down, ep.probed, ep.models, ep.noModels = nil, true, models, failure
	return nil
}

func unreachable(kind client.Kind) bool {
	switch kind {
	case client.KindDial, client.KindDNS, client.KindTLS, client.KindProxy, client.KindTimeoutConnect:
		return true
	}
	return false
}

// entry is the model's own entry in the list, else the first.
func (ep *endpoint) entry(id string) *client.ModelInfo {
	for i := range ep.models {
		if ep.models[i].ID == id {
			return &ep.models[i]
		}
	}
	if len(ep.models) > 0 {
		return &ep.models[0]
	}
	return nil
}

// simulated reports whether the server behind the address is the embedded
// engine, wherever it runs; its artifacts must say so.
func (ep *endpoint) simulated(id string) bool {
	entry := ep.entry(id)
	return ep.engine != nil || ep.simulation || entry != nil && entry.OwnedBy == simengine.OwnedBy
}

// launch makes sure that the engine which a cell wants started runs and is up.
// One runs at a time: another launch ends it first. A failure is the cell's.
func (e *endpoints) launch(ctx context.Context, ep *endpoint, p recipe.Point, say func(string, string)) *client.Failure {
	if p.Engine.Launch == nil || embedded(p) {
		return nil
	}
	key := launchKey(p)
	if failure := e.broken[key]; failure != nil {
		return failure
	}
	if pr := e.running; pr != nil && pr.key == key {
		if !pr.over() {
			return nil
		}
		if e.crashes[key]++; e.crashes[key] > p.Engine.Launch.Restarts {
			why := pr.crashed(fmt.Sprintf("it crashed %d times, and restarts is %d", e.crashes[key], p.Engine.Launch.Restarts))
			e.stopRunning()
			return e.breaks(key, why)
		}
	}
	e.stopRunning()
	if failure := ep.client.Ready(ctx, p.Engine.Ready.Path); failure == nil {
		return &client.Failure{Kind: client.KindDial, Message: fmt.Sprintf("engine %s is to be started, and something answers at %s already; stop it, or take launch out", p.Engine.Name, ep.baseURL)}
	}
	say("starting engine "+p.Engine.Name, strings.Join(p.Engine.Launch.Command, " "))
	pr, err := startProcess(p, e.logs)
	if err == nil {
		e.running = pr
		err = pr.wait(ctx, ep.client, p)
	}
	if err == nil {
		ep.forget()
		return nil
	}
	e.stopRunning()
	if ctx.Err() != nil {
		return &client.Failure{Kind: client.KindCancelled, Message: "stopped while engine " + p.Engine.Name + " was starting"}
	}
	return e.breaks(key, err)
}

// breaks gives a launch up: cells that need it fail at once.
func (e *endpoints) breaks(key string, why error) *client.Failure {
	if e.broken == nil {
		e.broken = map[string]*client.Failure{}
	}
	e.broken[key] = &client.Failure{Kind: client.KindDial, Message: why.Error()}
	return e.broken[key]
}

// crashed says how the engine that the run started has ended, if it has.
func (e *endpoints) crashed() error {
	if pr := e.running; pr != nil && pr.over() {
		return pr.crashed("it ended while a cell was measured")
	}
	return nil
}

func (e *endpoints) stopRunning() {
	if e.running != nil {
		e.running.stop()
		e.running = nil
	}
}

// forget drops what is known of a server that is another one now.
func (ep *endpoint) forget() {
	ep.models, ep.noModels, ep.probed, ep.down, ep.sizes = nil, nil, false, nil, nil
	ep.identified, ep.reported, ep.simulation = false, artifact.Reported{}, false
}

func (ep *endpoint) close() error {
	if ep.engine != nil {
		return ep.engine.Close()
	}
	return nil
}

func (e *endpoints) closeEmbedded() error {
	var errs []error
	for key, eps := range e.open {
		if eps[0].engine == nil {
			continue
		}
		delete(e.open, key)
		for _, ep := range eps {
			errs = append(errs, ep.close())
		}
	}
	return errors.Join(errs...)
}

func (e *endpoints) close() error {
	var errs []error
	for _, eps := range e.open {
		for _, ep := range eps {
			errs = append(errs, ep.close())
		}
	}
	e.open = nil
	e.stopRunning()
	return errors.Join(errs...)
}
