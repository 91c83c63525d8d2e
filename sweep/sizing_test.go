package sweep

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anvilsweep/client/simengine"
	"anvilsweep/sweep/artifact"
)

func simWith(t *testing.T, opts simengine.Options) *simengine.Engine {
	t.Helper()
	if opts.Profile.Name == "" {
		var err error
		if opts.Profile, err = simengine.ProfileByName("instant"); err != nil {
			t.Fatal(err)
		}
	}
	e := simengine.New(opts)
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

// sized is a recipe whose prompts are sized by tokens.
func sized(url, context, output string) string {
	return fmt.Sprintf(`
model "m" { 
  id             = "m"
  context_window = 9000
}
engine "vllm" {}
tier "t" { base_url = %q }
context "c" {
  sizing = "tokens"
  %s
}
concurrency "one" {
  ladder   = 3
  requests = 9
}
sweep "s" {
  model       = model.m
  engine      = engine.vllm
  tier        = tier.t
  context     = context.c
  concurrency = concurrency.one
  output      = %s
}
`, url, context, output)
}

func all(t *testing.T, dir string) []*artifact.Document {
	t.Helper()
	docs, err := artifact.Collect([]string{filepath.Join(dir, "cells")})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func TestPromptsSizedByTokens(t *testing.T) {
	for _, c := range []struct {
		name            string
		opts            simengine.Options
		context, output string
		by              string
		template        int
	}{
		{"by the tokenizer", simengine.Options{Template: 23}, `grid = [128, 512, 4096, 7912]`, `{ words = 4, policy = "strict", max_tokens = 64 }`, "tokenize", 23},
		{"by usage", simengine.Options{Template: 23, NoTokenizer: true}, `grid = [128, 512, 4096, 7912]`, `{ words = 4, policy = "strict", max_tokens = 64 }`, "usage", -1},
		{"a shared prefix", simengine.Options{Template: 9}, "grid = [1024, 6000]\n cache = \"shared\"\n shared_prefix_tokens = 700", `{ max_tokens = 64, canaries = false }`, "tokenize", 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := simWith(t, c.opts)
			dir := t.TempDir()
			if report := run(t, runner(t, dir, sized(e.BaseURL(), c.context, c.output))); !report.OK() {
				t.Fatalf("%+v", report)
			}
			for _, d := range all(t, dir) {
				size := d.Sweep.PromptSize
				planned := float64(size.Planned) / 9
				if planned > 9000-64-1024 {
					t.Errorf("%v tokens are above what the window leaves", planned)
				}
				if size.Sizing != "tokens" || size.CountedBy == nil || *size.CountedBy != c.by || size.Counted < 1 || size.Counted > 40 {
					t.Errorf("%+v", size)
				}
				if c.template >= 0 != (size.Overhead != nil) || c.template >= 0 && *size.Overhead != c.template {
					t.Errorf("template tokens %v, want %d", size.Overhead, c.template)
				}
				for _, row := range d.Rows {
					if off := math.Abs(float64(*row.PromptTokens) - planned); off > max(planned/100, 8) {
						t.Errorf("%d tokens for %v planned", *row.PromptTokens, planned)
					}
				}
				if len(d.Sweep.Flags) > 0 && d.Sweep.Flags[0].Name == artifact.FlagPromptSize {
					t.Errorf("%+v", d.Sweep.Flags)
				}
			}
		})
	}
}

func TestTokensThatNobodyCounts(t *testing.T) {
	e := simWith(t, simengine.Options{NoTokenizer: true, Fault: func(int, string) string { return "no_usage" }})
	dir := t.TempDir()
	report := run(t, runner(t, dir, sized(e.BaseURL(), "grid = 512", "{ max_tokens = 64 }")))
	if report.States[artifact.StateFailed] != 1 {
		t.Fatalf("%+v", report)
	}
	if message := all(t, dir)[0].FailureList()[0]["error_message"]; !strings.Contains(fmt.Sprint(message), `use sizing = "chars"`) {
		t.Errorf("%v", message)
	}
}

// Two runs of a recipe against one server share no prompt, so none is answered
// from its cache; with a fixed seed they do, which is measured and flagged.
func TestASecondRunMeetsNoCache(t *testing.T) {
	e := simWith(t, simengine.Options{})
	hits := func(extra string) (float64, []artifact.Flag) {
		dir := t.TempDir()
		if report := run(t, runner(t, dir, atAddress(e.BaseURL(), extra))); !report.OK() {
			t.Fatalf("%+v", report)
		}
		d := all(t, dir)[0]
		for _, f := range d.Sweep.Flags {
			if f.Name == artifact.FlagCacheHits {
				return *d.Sweep.CacheHitRate, d.Sweep.Flags
			}
		}
		return *d.Sweep.CacheHitRate, nil
	}
	for range 2 {
		if rate, flags := hits(""); rate != 0 || flags != nil {
			t.Errorf("hit rate %v, flags %v", rate, flags)
		}
	}
	hits("seed = 5")
	if rate, flags := hits("seed = 5"); rate < 0.5 || flags == nil {
		t.Errorf("hit rate %v of the same prompts, flags %v", rate, flags)
	}
}

func TestTheRawTraceHoldsEveryArrival(t *testing.T) {
	e := simWith(t, simengine.Options{Fault: func(n int, _ string) string {
		if n == 3 {
			return "cut"
		}
		return ""
	}})
	dir := t.TempDir()
	r := runner(t, dir, atAddress(e.BaseURL(), ""))
	r.Trace = true
	run(t, r)
	for _, d := range all(t, dir) {
		if d.Sweep.Trace == nil || *d.Sweep.Trace != filepath.Base(strings.TrimSuffix(d.Path, ".json"))+traceSuffix {
			t.Fatalf("trace %v of %s", d.Sweep.Trace, d.Path)
		}
		f, err := os.Open(filepath.Join(filepath.Dir(d.Path), *d.Sweep.Trace))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		lines, gaps, failed := 0, 0, 0
		for dec := json.NewDecoder(z); ; lines++ {
			var one traced
			if err := dec.Decode(&one); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if len(one.AtNS) != len(one.Output) || len(one.AtNS) == 0 || one.AtNS[len(one.AtNS)-1] > one.EndNS || time.Since(time.Unix(0, one.StartUnixNS)) > time.Hour {
				t.Errorf("%+v", one)
			}
			if !one.OK {
				failed++
				if *one.FailureKind != "stream_truncated" {
					t.Errorf("%v", *one.FailureKind)
				}
				continue
			}
			gaps += len(one.AtNS) - 1
		}
		if lines != 6 || failed != d.Failed || gaps != d.Sweep.InterChunk.Samples {
			t.Errorf("%d lines, %d failed, %d gaps of %d", lines, failed, gaps, d.Sweep.InterChunk.Samples)
		}
		w := d.Sweep.Client
		if w.Arrivals != "kernel" && w.Arrivals != "read" || w.HandleLag == nil || w.Turnaround == nil || w.StartSkewMS == nil || (w.ReadLag != nil) != (w.Arrivals == "kernel") {
			t.Errorf("%+v", w)
		}
	}
}

func TestSeveralTokensAChunk(t *testing.T) {
	e := simWith(t, simengine.Options{Fault: func(int, string) string { return "four_a_chunk" }})
	dir := t.TempDir()
	run(t, runner(t, dir, strings.ReplaceAll(atAddress(e.BaseURL(), ""), "words = 4", "words = 39")))
	for _, d := range all(t, dir) {
		if got := *d.Sweep.TokensPerChunkMean; got != 4 || d.Sweep.InterChunk.Samples != 6*9 {
			t.Errorf("%v tokens a chunk, %d gaps", got, d.Sweep.InterChunk.Samples)
		}
	}
}
