package simengine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// chatRequest is the part of a chat completion request that the engine obeys.
type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	MaxTokens     int  `json:"max_tokens"`
	MinTokens     int  `json:"min_tokens"`
	IgnoreEOS     bool `json:"ignore_eos"`
	Stream        bool `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ReasoningEffort string `json:"reasoning_effort"`
	TemplateKwargs  struct {
		EnableThinking *bool `json:"enable_thinking"`
	} `json:"chat_template_kwargs"`
}

// wrong says what no engine could obey, or nothing.
func (r *chatRequest) wrong() string {
	_, effort := efforts[r.ReasoningEffort]
	switch {
	case len(r.Messages) == 0:
		return "messages must not be empty."
	case r.MaxTokens < 1:
		return fmt.Sprintf("max_tokens must be at least 1, got %d.", r.MaxTokens)
	case r.MinTokens < 0 || r.MinTokens > r.MaxTokens:
		return fmt.Sprintf("min_tokens must be from 0 to max_tokens %d, got %d.", r.MaxTokens, r.MinTokens)
	case r.ReasoningEffort != "" && !effort:
		return fmt.Sprintf("There is no reasoning_effort %q.", r.ReasoningEffort)
	}
	return ""
}

// defaultMaxTokens is used where a request sets none.
const defaultMaxTokens = 256

func (e *Engine) handle(ctx *fasthttp.RequestCtx) {
	if e.opts.APIKey != "" && string(ctx.Request.Header.Peek("Authorization")) != "Bearer "+e.opts.APIKey {
		refuse(ctx, fasthttp.StatusUnauthorized, "invalid_api_key", "Unauthorized: the API key is missing or wrong.")
		return
	}
	switch path := string(ctx.Path()); {
	case time.Now().Before(e.loaded):
		refuse(ctx, fasthttp.StatusServiceUnavailable, "loading", "The engine is loading.")
	case path == "/metrics":
		e.metrics(ctx)
	case path == "/health":
		ctx.SetStatusCode(fasthttp.StatusOK)
	case path == "/version":
		reply(ctx, map[string]any{"version": "simulation", "engine": OwnedBy, "profile": e.opts.Profile.Name})
	case path == "/tokenize" && ctx.IsPost() && !e.opts.NoTokenizer:
		e.tokenize(ctx)
	case path == "/v1/models":
		e.models(ctx)
	case path == "/v1/chat/completions" && ctx.IsPost():
		e.chat(ctx)
	case path == "/v1/chat/completions":
		refuse(ctx, fasthttp.StatusMethodNotAllowed, "method_not_allowed", "Use POST.")
	default:
		refuse(ctx, fasthttp.StatusNotFound, "not_found", "There is no "+path+".")
	}
}

func reply(ctx *fasthttp.RequestCtx, v any) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("simengine: an answer is not JSON: " + err.Error()) // plain values only
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(buf.Bytes())
}

// refuse answers with an error object in OpenAI's form.
func refuse(ctx *fasthttp.RequestCtx, status int, code, message string) {
	reply(ctx, map[string]any{"error": map[string]any{"message": message, "type": code, "code": status}})
	ctx.SetStatusCode(status)
}

// tokenize counts as vLLM does at the same address.
func (e *Engine) tokenize(ctx *fasthttp.RequestCtx) {
	var r struct {
		Prompt string `json:"prompt"`
	}
	if err := json.Unmarshal(ctx.PostBody(), &r); err != nil {
		refuse(ctx, fasthttp.StatusBadRequest, "invalid_request_error", "The body is not a request to tokenize: "+err.Error())
		return
	}
	reply(ctx, map[string]any{"count": tokensOf(r.Prompt), "max_model_len": e.opts.Profile.MaxModelLen})
}

func (e *Engine) models(ctx *fasthttp.RequestCtx) {
	names := e.opts.Models
	if len(names) == 0 {
		names = []string{"sim-" + e.opts.Profile.Name}
	}
	entries := make([]any, len(names))
	for i, name := range names {
		entries[i] = map[string]any{"id": name, "object": "model", "created": 0, "owned_by": OwnedBy, "max_model_len": e.opts.Profile.MaxModelLen}
	}
	reply(ctx, map[string]any{"object": "list", "data": entries})
}

func (e *Engine) chat(ctx *fasthttp.RequestCtx) {
	number := int(e.requests.Add(1))
	r := chatRequest{MaxTokens: defaultMaxTokens}
	if err := json.Unmarshal(ctx.PostBody(), &r); err != nil {
		refuse(ctx, fasthttp.StatusBadRequest, "invalid_request_error", "The body is not a chat completion request: "+err.Error())
		return
	}
	name := ""
	if e.opts.Fault != nil {
		name = e.opts.Fault(number, r.Model)
	}
	model, named, ok := strings.Cut(r.Model, "!")
	if ok {
		name = named
	}
	if len(e.opts.Models) > 0 && !slices.Contains(e.opts.Models, model) {
		refuse(ctx, fasthttp.StatusNotFound, "NotFoundError", fmt.Sprintf("The model `%s` does not exist.", model))
		return
	}
	if wrong := r.wrong(); wrong != "" {
		refuse(ctx, fasthttp.StatusBadRequest, "invalid_request_error", wrong)
		return
	}
	fault, err := findFault(name)
	if err != nil {
		refuse(ctx, fasthttp.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	if fault == nil {
		fault = &Fault{}
	}
	if fault.Name == crashFault {
		ctx.HijackSetNoResponse(true) // the request is never answered
		ctx.Hijack(func(net.Conn) {})
		e.crash()
		return
	}
	if fault.answer != nil {
		fault.answer(ctx)
		return
	}
	var text strings.Builder
	for _, m := range r.Messages {
		text.WriteString(m.Content)
	}
	prompt := text.String()
	tokens := max(1, tokensOf(prompt)+e.opts.Template)
	if window := e.opts.Profile.MaxModelLen; r.MaxTokens > window-tokens {
		refuse(ctx, fasthttp.StatusBadRequest, "context_length_exceeded", fmt.Sprintf(
			"This model's maximum context length is %d tokens. However, you requested %d tokens in the messages and %d in the completion.",
			window, tokens, r.MaxTokens))
		return
	}
	if m := e.opts.Memory; m > 0 && tokens+r.MaxTokens > m {
		refuse(ctx, fasthttp.StatusBadRequest, "context_length_exceeded", fmt.Sprintf("The KV cache holds %d tokens, and the request may need %d.", m, tokens+r.MaxTokens))
		return
	}
	g := generate(&r, prompt, e.opts.Seed, reasoningFor(&r, e.opts.Profile))
	if fault.bend != nil {
		fault.bend(&g)
	}
	seq := newSequence(tokens, blocksOf(prompt, e.opts.Profile.PrefixBlock), g.reasoning, g.reasoning+len(g.tokens))
	e.scheduler.add(seq)
	s := &stream{
		id: fmt.Sprintf("chatcmpl-sim-%d", number), model: r.Model, seq: seq, g: g,
		usage: r.StreamOptions.IncludeUsage, fault: *fault, ended: e.ctx.Done(), conn: ctx.Conn(),
	}
	switch {
	case !r.Stream:
		s.whole(ctx)
	case fault.frame != nil:
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(c net.Conn) {
			// The client may go before the end, which is no failure of ours.
			_ = errors.Join(fault.frame(c, s), s.Close())
		})
	default:
		ctx.SetContentType("text/event-stream")
		ctx.Response.Header.Set("Cache-Control", "no-cache")
		ctx.SetBodyStream(s, -1)
	}
}
