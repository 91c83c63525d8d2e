package recipe

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// maxReplicas bounds the servers that are driven side by side.
const maxReplicas = 64

// replicas are servers of one configuration that are driven together: a list
// of addresses, or for the embedded engine their number.
func (l *loader) replicas(f *fields, t *Tier) {
	t.Embedded = 1
	g, ok := f.known["replicas"]
	if !ok {
		return
	}
	if g.value.Type() == cty.Number {
		if t.Embedded = f.whole("replicas", 1, maxReplicas, 1); t.BaseURL != "" && !f.bad {
			f.fail(g.at, "Wrong replicas", "A number of replicas is for the embedded engine; servers that run already are named: replicas = [\"http://127.0.0.1:8001/v1\"] beside base_url.")
		}
		return
	}
	for _, v := range f.elements("replicas", g) {
		if v.value.Type() != cty.String {
			f.fail(v.at, "Wrong type", "replicas is a list of addresses such as base_url, or a number for the embedded engine, not %s.", described(v.value))
			return
		}
		address := f.address("replicas", v)
		if address != "" && (address == t.BaseURL || slices.Contains(t.Replicas, address)) {
			f.fail(v.at, "Replica given twice", "%s is there already: base_url is the first replica, and replicas are the others.", address)
		}
		t.Replicas = append(t.Replicas, address)
	}
	if t.BaseURL == "" && !f.bad {
		f.fail(g.at, "Replicas without base_url", "base_url is the first replica; replicas are the others.")
	}
	if len(t.Replicas) >= maxReplicas {
		f.fail(g.at, "Too many replicas", "At most %d servers are driven side by side.", maxReplicas)
	}
}
