package sweep

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"anvilsweep/client"
	"anvilsweep/client/simengine"
	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// identityPages are where each kind of engine says who it is. The embedded
// engine answers wherever vLLM does.
var identityPages = map[string][]string{
	"vllm":     {"/version"},
	"sglang":   {"/get_server_info", "/server_info"},
	"llamacpp": {"/props"},
	"ollama":   {"/api/version"},
	"trtllm":   {"/version"},
	"sim":      {"/version"},
}

// said is an identity page: of each engine the fields that it has.
type said struct {
	Version   string `json:"version"`
	Build     string `json:"build_info"` // llama.cpp: "b4567-abcdef0"
	ModelPath string `json:"model_path"` // SGLang, llama.cpp
	Engine    string `json:"engine"`
}

// identify asks the server who it is, once.
func (ep *endpoint) identify(ctx context.Context, kind string) {
	if ep.identified {
		return
	}
	ep.identified = true
	pages := identityPages[kind]
	why := "engines of kind " + kind + " have no page that says it"
	for _, page := range pages {
		text, failure := ep.client.Get(ctx, page, "asking who the server is")
		if failure != nil {
			why = page + ": " + failure.Error()
			continue
		}
		var s said
		if err := json.Unmarshal(text, &s); err != nil {
			why = page + ": no JSON object"
			continue
		}
		if s.Version == "" {
			s.Version = s.Build
		}
		ep.reported = artifact.Reported{Source: &page}
		if s.Version != "" {
			ep.reported.Version = &s.Version
		}
		if s.ModelPath != "" {
			ep.reported.Model = &s.ModelPath
		}
		ep.simulation = s.Engine == simengine.OwnedBy
		return
	}
	ep.reported = artifact.Reported{Error: &why}
}

// other says in what the server is not the one that the recipe names. A server
// that lists no models or tells no version is believed; what it told is in the
// artifact.
func (ep *endpoint) other(p recipe.Point) []artifact.Flag {
	if ep.simulated(p.Model.ID) {
		return nil // its artifacts say sim, and claim nothing for the recipe's engine
	}
	var out []artifact.Flag
	differs := func(format string, args ...any) {
		out = append(out, artifact.Flag{Name: artifact.FlagIdentity, Reason: fmt.Sprintf(format, args...)})
	}
	if len(ep.models) > 0 && !ep.lists(p.Model.ID) {
		differs("the recipe's model is %s, and the server lists %s", p.Model.ID, names(ep.models))
	}
	if v := ep.reported.Version; v != nil && p.Engine.Version != "" && !sameVersion(p.Engine.Version, *v) {
		differs("the recipe's version of %s is %s, and the server says %s", p.Engine.Name, p.Engine.Version, *v)
	}
	return out
}

func (ep *endpoint) lists(id string) bool {
	for i := range ep.models {
		if ep.models[i].ID == id {
			return true
		}
	}
	return false
}

func names(models []client.ModelInfo) string {
	const shown = 5
	var out []string
	for i, m := range models {
		if i == shown {
			out = append(out, fmt.Sprintf("and %d others", len(models)-shown))
			break
		}
		out = append(out, m.ID)
	}
	return strings.Join(out, ", ")
}

// sameVersion holds a declared version against a reported one: 0.32 covers
// 0.32.1, and 0.32.1 covers 0.32.1+cu128 and v0.32.1.post1.
func sameVersion(declared, reported string) bool {
	declared, reported = strings.TrimPrefix(declared, "v"), strings.TrimPrefix(reported, "v")
	rest, found := strings.CutPrefix(reported, declared)
	return found && (rest == "" || strings.ContainsAny(rest[:1], ".+-_"))
}

// refused is why nothing is sent to the server: it is not the recipe's, and the
// recipe demands that it be.
func refused(p recipe.Point, other []artifact.Flag) *client.Failure {
	if len(other) == 0 || p.Engine.Identity == recipe.IdentityRecord {
		return nil
	}
	var reasons []string
	for _, o := range other {
		reasons = append(reasons, o.Reason)
	}
	return &client.Failure{Kind: client.KindIdentity, Message: fmt.Sprintf("%s; mend the recipe or the server, or write identity = \"record\" in engine %q to measure it under what it says", strings.Join(reasons, "; "), p.Engine.Name)}
}
