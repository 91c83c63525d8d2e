package simengine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"anvilsweep/client/prompt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, opts Options) *Engine {
	t.Helper()
	e := New(opts)
	if err := e.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func instant(t *testing.T) Profile {
	t.Helper()
	p, err := ProfileByName("instant")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var web = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func do(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		text = append(text, "\nbroke off: "+err.Error()...)
	}
	return resp.StatusCode, string(text)
}

// event is one data line of a stream with the time it came.
type event struct {
	at   time.Time
	data string
}

type exchange struct {
	events    []event
	text      string
	reasoning int
	finish    string
	usage     map[string]any
	done      bool
}

func ask(t *testing.T, e *Engine, fields map[string]any) *exchange {
	t.Helper()
	body := map[string]any{"model": "m", "messages": []any{map[string]any{"role": "user", "content": "hello"}}, "max_tokens": 64, "stream": true, "stream_options": map[string]any{"include_usage": true}}
	for k, v := range fields {
		body[k] = v
	}
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := web.Post(e.BaseURL()+"/chat/completions", "application/json", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := &exchange{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		r.events = append(r.events, event{time.Now(), data})
		if data == "[DONE]" {
			r.done = true
			continue
		}
		var c struct {
			Choices []struct {
				Delta  map[string]any `json:"delta"`
				Finish *string        `json:"finish_reason"`
			} `json:"choices"`
			Usage map[string]any `json:"usage"`
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			continue
		}
		if c.Usage != nil {
			r.usage = c.Usage
		}
		for _, choice := range c.Choices {
			if s, _ := choice.Delta["content"].(string); s != "" {
				r.text += s
			}
			if s, _ := choice.Delta["reasoning_content"].(string); s != "" {
				r.reasoning++
			}
			if choice.Finish != nil {
				r.finish = *choice.Finish
			}
		}
	}
	return r
}

func content(text string) []any { return []any{map[string]any{"role": "user", "content": text}} }

func build(t *testing.T, w prompt.Workload, index, tokens int) string {
	t.Helper()
	text, err := w.Build(index, tokens, 0)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEndpoints(t *testing.T) {
	e := start(t, Options{Profile: instant(t), Models: []string{"a", "b"}})
	root := strings.TrimSuffix(e.BaseURL(), "/v1")
	for _, c := range []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{"GET", "/health", "", 200, ""},
		{"GET", "/version", "", 200, "simulation"},
		{"GET", "/v1/models", "", 200, `"max_model_len":1048576`},
		{"GET", "/v1/models", "", 200, `"owned_by":"anvilsweep-sim"`},
		{"GET", "/v1/nothing", "", 404, `"error"`},
		{"GET", "/v1/chat/completions", "", 405, "POST"},
		{"POST", "/v1/chat/completions", "{", 400, "not a chat completion"},
		{"POST", "/v1/chat/completions", `{"model":"a","messages":[]}`, 400, "messages"},
		{"POST", "/v1/chat/completions", `{"model":"zz","messages":[{"role":"user","content":"x"}]}`, 404, "`zz` does not exist"},
		{"POST", "/v1/chat/completions", `{"model":"a","messages":[{"role":"user","content":"x"}],"max_tokens":2000000}`, 400, "maximum context length is 1048576"},
		{"POST", "/v1/chat/completions", `{"model":"a","messages":[{"role":"user","content":"x"}],"max_tokens":9223372036854775807,"ignore_eos":true}`, 400, "maximum context length"},
		{"POST", "/v1/chat/completions", `{"model":"a","messages":[{"role":"user","content":"x"}],"max_tokens":0}`, 400, "max_tokens must be at least 1"},
		{"POST", "/v1/chat/completions", `{"model":"a","messages":[{"role":"user","content":"x"}],"max_tokens":4,"min_tokens":5}`, 400, "min_tokens must be from 0 to max_tokens 4"},
		{"POST", "/v1/chat/completions", `{"model":"a","messages":[{"role":"user","content":"x"}],"reasoning_effort":"huge"}`, 400, `no reasoning_effort \"huge\"`},
		{"POST", "/v1/chat/completions", `{"model":"a!stal","messages":[{"role":"user","content":"x"}]}`, 400, `no fault \"stal\"`},
		{"POST", "/v1/chat/completions", `{"model":"a!status:CODE","messages":[{"role":"user","content":"x"}]}`, 400, "no fault"},
		{"POST", "/v1/chat/completions", `{"model":"a!status:200","messages":[{"role":"user","content":"x"}]}`, 400, "no fault"},
		{"POST", "/v1/chat/completions", `{"model":"a!500","messages":[{"role":"user","content":"x"}]}`, 400, "no fault"},
		{"POST", "/v1/chat/completions", `{"model":"a","messages":[{"role":"user","content":"x"}]}`, 200, `"finish_reason":"stop"`},
	} {
		status, text := do(t, c.method, root+c.path, c.body)
		if status != c.status || !strings.Contains(text, c.contains) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, status, text)
		}
	}
}

func TestKeyIsDemanded(t *testing.T) {
	e := start(t, Options{Profile: instant(t), APIKey: "k"})
	if status, _ := do(t, "GET", e.BaseURL()+"/models", ""); status != 401 {
		t.Errorf("status %d without the key", status)
	}
	req, err := http.NewRequest("GET", e.BaseURL()+"/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer k")
	resp, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("status %d with the key", resp.StatusCode)
	}
}

func TestStreamHasTheShapeServersGiveIt(t *testing.T) {
	e := start(t, Options{Profile: instant(t)})
	r := ask(t, e, map[string]any{"messages": content(build(t, prompt.Workload{Seed: 3, Canaries: true, Words: 5, Unique: true}, 2, 400))})
	if r.text != "ANVIL_REQ_3_00002 code code code code code" || r.finish != "stop" || !r.done {
		t.Errorf("%q %s %v", r.text, r.finish, r.done)
	}
	if r.usage["completion_tokens"] != 6. || r.usage["prompt_tokens"] != 300. {
		t.Errorf("usage %v", r.usage)
	}
	if !strings.Contains(r.events[0].data, `"role":"assistant"`) || len(r.events) != 1+6+3 {
		t.Errorf("%d events, first %s", len(r.events), r.events[0].data)
	}
	if r := ask(t, e, map[string]any{"stream_options": map[string]any{}}); r.usage != nil {
		t.Error("usage that nobody asked for")
	}
}

func TestLimitsOfTheAnswer(t *testing.T) {
	e := start(t, Options{Profile: instant(t)})
	words := content(build(t, prompt.Workload{Words: 20}, 0, 200))
	for _, c := range []struct {
		name      string
		fields    map[string]any
		tokens    float64
		finish    string
		reasoning int
	}{
		{"max_tokens cuts", map[string]any{"max_tokens": 7}, 7, "length", 0},
		{"min_tokens goes on", map[string]any{"min_tokens": 30}, 30, "stop", 0},
		{"ignore_eos fills", map[string]any{"ignore_eos": true, "max_tokens": 40}, 40, "length", 0},
		{"effort", map[string]any{"reasoning_effort": "low"}, 28, "stop", 8},
		{"thinking", map[string]any{"chat_template_kwargs": map[string]any{"enable_thinking": true}}, 36, "stop", 16},
		{"thinking off", map[string]any{"chat_template_kwargs": map[string]any{"enable_thinking": false}, "reasoning_effort": "low"}, 20, "stop", 0},
		{"reasoning until the cap", map[string]any{"reasoning_effort": "max", "max_tokens": 10}, 10, "length", 10},
	} {
		c.fields["messages"] = words
		r := ask(t, e, c.fields)
		if r.usage["completion_tokens"] != c.tokens || r.finish != c.finish || r.reasoning != c.reasoning {
			t.Errorf("%s: %v tokens, %s, %d reasoning", c.name, r.usage["completion_tokens"], r.finish, r.reasoning)
		}
	}
}

func TestTheSameSeedGivesTheSameText(t *testing.T) {
	a := start(t, Options{Profile: instant(t), Seed: 1})
	b := start(t, Options{Profile: instant(t), Seed: 1})
	c := start(t, Options{Profile: instant(t), Seed: 2})
	one, two, three := ask(t, a, nil), ask(t, b, nil), ask(t, c, nil)
	if one.text != two.text || one.text == "" {
		t.Errorf("%q and %q", one.text, two.text)
	}
	if one.text == three.text {
		t.Error("another seed gave the same text")
	}
}

func TestPrefixCacheHitsAreReported(t *testing.T) {
	e := start(t, Options{Profile: instant(t)})
	cached := func(w prompt.Workload, index int) float64 {
		r := ask(t, e, map[string]any{"messages": content(build(t, w, index, 4000))})
		return r.usage["prompt_tokens_details"].(map[string]any)["cached_tokens"].(float64)
	}
	shared := prompt.Workload{SharedPrefixTokens: 2000}
	if first := cached(shared, 0); first != 0 {
		t.Errorf("a cold cache hit %v tokens", first)
	}
	// 2000 nominal tokens are 6000 characters, 1500 of the engine's tokens.
	if second := cached(shared, 1); second < 1400 || second > 1500 {
		t.Errorf("the shared prefix hit %v tokens", second)
	}
	unique := prompt.Workload{Unique: true, Canaries: true, Seed: 1}
	if a, b := cached(unique, 0), cached(unique, 1); a != 0 || b != 0 {
		t.Errorf("unique prompts hit %v and %v tokens", a, b)
	}
	if again := cached(unique, 0); again < 2900 {
		t.Errorf("the same prompt again hit %v of 3000 tokens", again)
	}
}

func TestCacheForgetsTheOldest(t *testing.T) {
	c := newPrefixCache(Profile{PrefixBlock: 1, CacheTokens: 3})
	c.add([]uint64{1, 2, 3})
	c.hit([]uint64{1})
	c.add([]uint64{4})
	if c.hit([]uint64{3}) != 0 || c.hit([]uint64{1}) != 1 || c.hit([]uint64{4}) != 1 {
		t.Error("the block that was not used longest is the one to go")
	}
}

func TestCacheKeepsTheBeginningOfAPromptItCannotHold(t *testing.T) {
	c := newPrefixCache(Profile{PrefixBlock: 16, CacheTokens: 48})
	prompt := []uint64{1, 2, 3, 4, 5}
	c.add(prompt)
	if hit := c.hit(prompt); hit != 48 {
		t.Errorf("%d of 48 tokens held are of use", hit)
	}
	c.add([]uint64{6})
	if hit := c.hit(prompt); hit != 32 {
		t.Errorf("%d tokens hit after one block had to go", hit)
	}
}

// With one slot the second request starts when the first has ended; with two
// they overlap.
func TestQueueing(t *testing.T) {
	p := Profile{MaxModelLen: 8192, MaxSeqs: 1, PrefillChunk: 1024, DecodeStep: 5 * time.Millisecond, PrefixBlock: 16, CacheTokens: 1024}
	overlap := func(seqs int) bool {
		p.MaxSeqs = seqs
		e := start(t, Options{Profile: p})
		replies := make([]*exchange, 2)
		var wg sync.WaitGroup
		for i := range replies {
			wg.Go(func() { replies[i] = ask(t, e, map[string]any{"ignore_eos": true, "max_tokens": 60}) })
		}
		wg.Wait()
		a, b := replies[0], replies[1]
		first := func(r *exchange) time.Time { return r.events[0].at }
		last := func(r *exchange) time.Time { return r.events[len(r.events)-1].at }
		if first(a).After(first(b)) {
			a, b = b, a
		}
		half := first(a).Add(last(a).Sub(first(a)) / 2)
		return first(b).Before(half)
	}
	if overlap(1) {
		t.Error("one slot ran two sequences at once")
	}
	if !overlap(2) {
		t.Error("two slots did not run two sequences at once")
	}
}

// The step's length is arithmetic; the clock is not asked.
func TestStepLength(t *testing.T) {
	s := newScheduler(Profile{MaxSeqs: 3, PrefillTokS: 1000, PrefillChunk: 100, DecodeStep: 10 * time.Millisecond, DecodePerSeq: time.Millisecond, PrefixBlock: 16, CacheTokens: 1024}, 0)
	for _, n := range []int{30, 120, 50, 5} {
		s.add(newSequence(n, nil, 0, 2))
	}
	s.admit()
	if len(s.running) != 3 || len(s.waiting) != 1 {
		t.Fatalf("%d run, %d wait", len(s.running), len(s.waiting))
	}
	prefilled, decoding := s.plan() // 30, then 70 of 120; only the first is read
	if prefilled != 100 || decoding != 1 || s.length(prefilled, decoding) != 111*time.Millisecond {
		t.Errorf("prefilled %d, decoding %d, %v", prefilled, decoding, s.length(prefilled, decoding))
	}
	s.step()
	prefilled, decoding = s.plan() // the first decodes; 50 and 50 are read
	if prefilled != 100 || decoding != 3 || s.length(prefilled, decoding) != 113*time.Millisecond {
		t.Errorf("prefilled %d, decoding %d, %v", prefilled, decoding, s.length(prefilled, decoding))
	}
	s.step()
	s.admit() // the first has its two tokens and leaves its slot
	if len(s.waiting) != 0 || len(s.running) != 3 {
		t.Errorf("%d run, %d wait", len(s.running), len(s.waiting))
	}
}

func TestAClientThatLeavesFreesItsSlot(t *testing.T) {
	p := Profile{MaxModelLen: 1 << 20, MaxSeqs: 1, PrefillChunk: 1024, DecodeStep: 2 * time.Millisecond, PrefixBlock: 16, CacheTokens: 1024}
	e := start(t, Options{Profile: p})
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "POST", e.BaseURL()+"/chat/completions",
		strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":1000000,"ignore_eos":true,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resp.Body.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	cancel()
	resp.Body.Close()
	done := make(chan *exchange, 1)
	go func() { done <- ask(t, e, nil) }()
	select {
	case r := <-done:
		if !r.done {
			t.Error("the second request was not answered whole")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the slot was never freed")
	}
}

func TestCloseEndsOpenStreams(t *testing.T) {
	p := Profile{MaxModelLen: 1 << 20, MaxSeqs: 4, PrefillChunk: 1024, DecodeStep: time.Millisecond, PrefixBlock: 16, CacheTokens: 1024}
	e := New(Options{Profile: p})
	if err := e.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 { // four run, four wait
		wg.Go(func() {
			resp, err := web.Post(e.BaseURL()+"/chat/completions", "application/json",
				strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":100000,"ignore_eos":true,"stream":true}`))
			if err != nil {
				return // the engine closed before it answered
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		})
	}
	time.Sleep(50 * time.Millisecond)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

func TestListenSaysWhatIsWrong(t *testing.T) {
	e := start(t, Options{Profile: instant(t)})
	other := New(Options{Profile: instant(t)})
	if err := other.Listen(strings.TrimSuffix(strings.TrimPrefix(e.BaseURL(), "http://"), "/v1")); err == nil {
		t.Error("two engines on one port")
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

func TestProfiles(t *testing.T) {
	if _, err := ProfileByName("huge"); err == nil || !strings.Contains(err.Error(), "instant, large, small") {
		t.Errorf("%v", err)
	}
	for i, p := range Profiles() {
		if i > 0 && p.Name <= Profiles()[i-1].Name {
			t.Error("profiles are listed by name")
		}
		if p.MaxSeqs < 1 || p.PrefillChunk < 1 || p.PrefixBlock < 1 || p.CacheTokens < p.PrefixBlock || p.MaxModelLen < 1 {
			t.Errorf("%+v", p)
		}
	}
}

func TestFaults(t *testing.T) {
	e := start(t, Options{Profile: instant(t), Fault: func(n int, model string) string {
		if model == "by-number" {
			return "status:418"
		}
		return ""
	}})
	const body = `{"model":"%s","messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true}}`
	for _, c := range []struct {
		fault    string
		status   int
		contains string
		lacks    string
	}{
		{"status:429", 429, "simulated", ""},
		{"html", 200, "<html>", ""},
		{"json", 200, "overloaded", "data:"},
		{"empty", 200, "", "data"},
		{"garbage", 200, "oops", "\x00"},
		{"error", 200, "the engine died", "finish_reason\":\"stop"},
		{"cut", 200, "data:", "[DONE]"},
		{"reset", 200, "broke off", "[DONE]"},
		{"no_usage", 200, "[DONE]", "completion_tokens"},
		{"no_done", 200, `"finish_reason":"stop"`, "[DONE]"},
	} {
		status, text := do(t, "POST", e.BaseURL()+"/chat/completions", fmt.Sprintf(body, "m!"+c.fault))
		if status != c.status || !strings.Contains(text, c.contains) || c.lacks != "" && strings.Contains(text, c.lacks) {
			t.Errorf("%s: %d %s", c.fault, status, text)
		}
	}
	if status, _ := do(t, "POST", e.BaseURL()+"/chat/completions", fmt.Sprintf(body, "by-number")); status != 418 {
		t.Errorf("status %d by the request's number", status)
	}
	messages := content(build(t, prompt.Workload{Canaries: true, Words: 4, Seed: 9}, 1, 200))
	if r := ask(t, e, map[string]any{"model": "m!wrong_canary", "messages": messages}); strings.HasPrefix(r.text, "ANVIL_REQ_9_00001") {
		t.Errorf("%q", r.text)
	}
	if r := ask(t, e, map[string]any{"model": "m!short_words", "messages": messages}); r.text != "ANVIL_REQ_9_00001 code code code" {
		t.Errorf("%q", r.text)
	}
}

func TestAStallIsSilentUntilTheClientLeaves(t *testing.T) {
	e := start(t, Options{Profile: instant(t)})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", e.BaseURL()+"/chat/completions",
		strings.NewReader(`{"model":"m!stall","messages":[{"role":"user","content":"x"}],"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	contents := 0
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		contents += strings.Count(lines.Text(), `"content":"`)
		if contents == 1+spoilAfter { // the role's and the tokens'
			time.AfterFunc(100*time.Millisecond, cancel)
		}
	}
	if lines.Err() == nil || contents != 1+spoilAfter {
		t.Errorf("%v after %d contents", lines.Err(), contents)
	}
}

func TestManyStreams(t *testing.T) {
	e := start(t, Options{Profile: instant(t)})
	var wg sync.WaitGroup
	for i := range 128 {
		wg.Go(func() {
			w := prompt.Workload{Canaries: true, Words: 10, Seed: int64(i), Unique: true}
			r := ask(t, e, map[string]any{"messages": content(build(t, w, i, 300))})
			if !prompt.CheckCanary(r.text, false, prompt.Marker(w.Seed, i)).Passed || !r.done {
				t.Errorf("stream %d: %q", i, r.text)
			}
		})
	}
	wg.Wait()
}

// get is a page of the engine.
func get(t *testing.T, e *Engine, path string) (int, string) {
	t.Helper()
	resp, err := http.Get(strings.TrimSuffix(e.BaseURL(), "/v1") + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// An engine that loads answers 503 until it has.
func TestLoading(t *testing.T) {
	p, err := ProfileByName("instant")
	if err != nil {
		t.Fatal(err)
	}
	e := New(Options{Profile: p, Loading: 150 * time.Millisecond})
	if err := e.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if status, _ := get(t, e, "/health"); status != http.StatusServiceUnavailable {
		t.Errorf("status %d while it loads", status)
	}
	time.Sleep(200 * time.Millisecond)
	if status, _ := get(t, e, "/health"); status != http.StatusOK {
		t.Errorf("status %d after", status)
	}
}

// A cache that is too small for what runs: the youngest goes back, all end
// whole, and the page tells.
func TestMemory(t *testing.T) {
	s := newScheduler(Profile{Name: "p", MaxSeqs: 8, PrefillChunk: 1 << 20, PrefixBlock: 16, CacheTokens: 1 << 16}, 130)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { s.run(ctx); close(ended) }()
	var seqs []*sequence
	for range 3 {
		seq := newSequence(20, nil, 0, 60)
		seqs = append(seqs, seq)
		s.add(seq)
	}
	for i, seq := range seqs {
		n := 0
		for range seq.tokens {
			n++
		}
		if n != 61 { // the cached count, then each token
			t.Errorf("sequence %d gave %d values, want 61", i, n)
		}
	}
	if now, waiting := s.now(); now.putBack == 0 || waiting != 0 {
		t.Errorf("%+v, %d wait", now, waiting)
	}
	cancel()
	<-ended
}
