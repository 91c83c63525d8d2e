package sweep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"anvilsweep/client"
	"anvilsweep/client/simengine"
	"anvilsweep/recipe"
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

	models   []client.ModelInfo
	noModels *client.Failure // why there is no list, where the server is up
	probed   bool
	down     *client.Failure
	downSeen time.Time
}

// embedded reports whether the point is run on the engine inside the process.
func embedded(p recipe.Point) bool { return p.Engine.Kind == "sim" && p.Tier.BaseURL == "" }

// endpoints keeps the client of each address, and at most one embedded engine.
type endpoints struct {
	open   map[string]*endpoint
	getenv func(string) string
}

func (e *endpoints) get(c *Cell) (*endpoint, error) {
	p := c.Point
	key := fmt.Sprintf("%s|%s|%v", p.Tier.BaseURL, p.Tier.APIKeyEnv, c.Timeout)
	if embedded(p) {
		key = fmt.Sprintf("sim|%s|%s|%s|%v", p.Tier.Name, p.Tier.Profile, p.Model.ID, c.Timeout)
	}
	if found, ok := e.open[key]; ok {
		return found, nil
	}
	ep := &endpoint{key: key, baseURL: p.Tier.BaseURL, patience: probeLimit}
	if embedded(p) {
		if err := e.closeEmbedded(); err != nil {
			return nil, err
		}
		if err := ep.start(p); err != nil {
			return nil, err
		}
	}
	var apiKey string
	if p.Tier.APIKeyEnv != "" {
		apiKey = e.getenv(p.Tier.APIKeyEnv)
	}
	cl, err := client.New(client.Config{BaseURL: ep.baseURL, APIKey: apiKey, Timeout: client.Timeout(c.Timeout), UserAgent: "anvilsweep"})
	if err != nil {
		return nil, errors.Join(err, ep.close())
	}
	ep.client = cl
	e.open[key] = ep
	return ep, nil
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
	return ep.engine != nil || entry != nil && entry.OwnedBy == simengine.OwnedBy
}

func (ep *endpoint) close() error {
	if ep.engine != nil {
		return ep.engine.Close()
	}
	return nil
}

func (e *endpoints) closeEmbedded() error {
	for key, ep := range e.open {
		if ep.engine != nil {
			delete(e.open, key)
			if err := ep.close(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *endpoints) close() error {
	var errs []error
	for _, ep := range e.open {
		errs = append(errs, ep.close())
	}
	e.open = nil
	return errors.Join(errs...)
}
