package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// replicas are two artifacts of synchronised replicas, with changes to the
// second, written to a folder.
func replicas(t *testing.T, change func(tree map[string]any)) (folder string, docs []*Document) {
	t.Helper()
	data, err := os.ReadFile("testdata/example.json")
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	for i := range 2 {
		value, err := parse(data)
		if err != nil {
			t.Fatal(err)
		}
		tree := value.(map[string]any)
		tree["base_url"] = fmt.Sprintf("http://127.0.0.1:%d/v1", 8000+i)
		if i == 1 && change != nil {
			change(tree)
		}
		out, err := Encode(tree)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, fmt.Sprintf("r%d.json", i+1))
		if err := os.WriteFile(path, out, 0o600); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, readFile(path))
	}
	return folder, docs
}

func TestCombine(t *testing.T) {
	folder, docs := replicas(t, func(tree map[string]any) { // half a second later, as long
		tree["started_at_unix_ns"] = json.Number("1789665664743641356")
		tree["finished_at_unix_ns"] = json.Number("1789665666243641356")
		tree["finished_at"] = "2026-09-17T17:21:06Z"
	})
	a, err := Combine(docs, folder)
	if err != nil {
		t.Fatal(err)
	}
	if a.Requests != 8 || a.Concurrency != 4 || len(a.RequestTimings) != 8 || a.RequestTimings[5].RequestIndex != 5 || a.RequestTimings[5].Replica != 2 || a.RequestTimings[5].ReplicaRequestIndex != 1 {
		t.Errorf("%+v", a)
	}
	if a.Timeline.Alignment != "exact" || a.WallClockMS != 2000 || a.Timeline.StartSkewMS != 500.0 || a.Timeline.FinishSkewMS != 500.0 {
		t.Errorf("%+v", a.Timeline)
	}
	tokens, _ := a.Metrics.Float("output_tokens")
	throughput, _ := a.Metrics.Float("throughput_tok_s")
	one, _ := docs[0].Metric("output_tokens")
	if tokens != 2**one || math.Abs(throughput-tokens/2) > 1e-9 || a.Metrics["throughput_estimate_kind"] != "exact" {
		t.Errorf("%v tokens at %v tok/s", tokens, throughput)
	}
	// The same bytes each time; read back it is a document whose figures it has.
	first, err := Encode(a)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Combine(docs, folder)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Encode(again)
	if err != nil || !bytes.Equal(first, second) {
		t.Error("two runs differ", err)
	}
	path := filepath.Join(folder, "both.json")
	if err := os.WriteFile(path, first, 0o600); err != nil {
		t.Fatal(err)
	}
	d := readFile(path)
	if v, _ := d.Metric("throughput_tok_s"); d.Kind != KindAggregate || v == nil || *v != throughput || len(d.Members) != 2 {
		t.Errorf("%s %v", d.Kind, v)
	}
	if r := Verify(d); len(r.Faults) > 0 {
		t.Error(r.Faults)
	}
	if err := os.WriteFile(docs[1].Path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := Verify(d); r.Verdict() == "accepted" {
		t.Error("a replica is gone, and the aggregate is accepted")
	}
}

// Without one clock the labels decide, and the wall time has bounds.
func TestCombineByWholeSeconds(t *testing.T) {
	folder, docs := replicas(t, func(tree map[string]any) { tree["clock_domain_id"] = nil })
	a, err := Combine(docs, folder)
	if err != nil {
		t.Fatal(err)
	}
	// Both from :04 to :05, 1500 ms long: at most two seconds.
	if a.Timeline.Alignment != "legacy-whole-second" || a.WallLower != 1500 || a.WallUpper != 2000 || a.Timeline.Limitation == nil {
		t.Errorf("%+v", a.Timeline)
	}
	tokens, _ := a.Metrics.Float("output_tokens")
	lower, _ := a.Metrics.Float("throughput_tok_s_lower_bound")
	upper, _ := a.Metrics.Float("throughput_tok_s_upper_bound")
	headline, _ := a.Metrics.Float("throughput_tok_s")
	if lower != tokens/2 || upper != tokens/1.5 || headline != lower || a.Metrics["throughput_estimate_kind"] != "conservative-lower-bound" {
		t.Errorf("%v to %v", lower, upper)
	}
}

func TestWhatCannotBeCombined(t *testing.T) {
	row := func(tree map[string]any) map[string]any { return tree["request_timings"].([]any)[1].(map[string]any) }
	for name, c := range map[string]struct {
		change func(map[string]any)
		says   string
	}{
		"a failure":          {func(x map[string]any) { x["failed"], x["completed"] = json.Number("1"), json.Number("3") }, "3 of its 4 requests completed"},
		"not eligible":       {func(x map[string]any) { x["performance_eligible"] = false }, "performance_eligible is false"},
		"another engine":     {func(x map[string]any) { x["engine"] = "sglang" }, `engine is "sglang", and "vllm-0.32.0"`},
		"another seed":       {func(x map[string]any) { x["context_seed"] = json.Number("8") }, "context_seed is 8, and 7"},
		"other flags":        {func(x map[string]any) { x["serve_flags"].(map[string]any)["thinking_mode"] = "enabled" }, "serve_flags is"},
		"another print":      {func(x map[string]any) { x["configuration_fingerprint"] = "sha256:" + strings.Repeat("0", 64) }, "configuration_fingerprint is sha256:000"},
		"no print":           {func(x map[string]any) { x["configuration_fingerprint"] = nil }, "is not sha256"},
		"another model":      {func(x map[string]any) { x["model"] = "other" }, `model "other"`},
		"the same run":       {func(x map[string]any) { x["base_url"], x["wall_clock_ms"] = "http://127.0.0.1:8000/v1", 1500.5 }, "it is the same run"},
		"the same file":      {func(x map[string]any) { x["base_url"] = "http://127.0.0.1:8000/v1" }, "it is the same artifact"},
		"not at one time":    {func(x map[string]any) { shift(x, 3) }, "did not run at one time"},
		"no clock, not then": {func(x map[string]any) { shift(x, 3); x["clock_domain_id"] = nil }, "must begin and end in the same seconds"},
		"tokens by chunks":   {func(x map[string]any) { row(x)["output_token_source"] = "content_chunks" }, "request 1: its tokens come from content_chunks"},
		"no tokens":          {func(x map[string]any) { row(x)["output_tokens"] = nil }, "request 1: its tokens are not counted"},
		"tokens do not sum":  {func(x map[string]any) { row(x)["output_tokens"] = json.Number("9") }, "metrics.output_tokens is 32, its rows make 33"},
		"an index twice":     {func(x map[string]any) { row(x)["request_index"] = json.Number("0") }, "request indexes are not 0 to 3"},
		"times out of order": {func(x map[string]any) { row(x)["ttft_ms"] = 1e6 }, "request 1: its times are not in order"},
		"a canary failed":    {func(x map[string]any) { row(x)["request_canary"].(map[string]any)["passed"] = false }, "request 1: its canary did not pass"},
		"no canary":          {func(x map[string]any) { row(x)["request_canary"] = nil }, "request 1: it lacks its canary"},
		"words do not agree": {func(x map[string]any) {
			row(x)["controlled_output"].(map[string]any)["observed_extra_words"] = json.Number("2")
		}, "request 1: its controlled output does not agree"},
		"no words":      {func(x map[string]any) { row(x)["controlled_output"] = nil }, "request 1: its controlled output is there or not"},
		"another shape": {func(x map[string]any) { x["schema"] = "x/v1" }, "it is no artifact"},
	} {
		folder, docs := replicas(t, c.change)
		_, err := Combine(docs, folder)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	folder, docs := replicas(t, nil)
	if _, err := Combine(docs[:1], folder); err == nil {
		t.Error("one artifact is an aggregate")
	}
	if _, err := Combine(docs, t.TempDir()); err == nil || !strings.Contains(err.Error(), "lies in the aggregate's folder") {
		t.Error(err)
	}
}

// shift moves a run by whole seconds.
func shift(tree map[string]any, seconds int64) {
	for _, name := range []string{"started_at", "finished_at"} {
		n, err := tree[name+"_unix_ns"].(json.Number).Int64()
		if err != nil {
			panic(err)
		}
		n += seconds * 1e9
		tree[name+"_unix_ns"] = json.Number(fmt.Sprint(n))
		label := strings.TrimSuffix(tree[name].(string), "Z")
		var s int64
		if _, err := fmt.Sscan(label[len(label)-2:], &s); err != nil {
			panic(err)
		}
		tree[name] = fmt.Sprintf("%s%02dZ", label[:len(label)-2], s+seconds)
	}
}
