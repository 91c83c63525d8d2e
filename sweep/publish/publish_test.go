package publish

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anvilsweep/sweep/artifact"
)

func TestWhatIsTakenOut(t *testing.T) {
	for in, want := range map[string]string{
		"http://10.0.0.5:8000/v1":                                       "http://host-1.invalid",
		"https://user:pw@llm.corp.example/v1?key=abc":                   "https://host-1.invalid",
		"http://[fe80::1%25eth0]:8000/v1":                               "http://host-1.invalid",
		`Post "http://gpu-box:8000/v1/chat": dial tcp 10.1.2.3:8000: x`: `Post "http://host-1.invalid": dial tcp host-2: x`,
		"dial tcp [::1]:8080: connection refused":                       "dial tcp host-1: connection refused",
		"lookup gpu-box.lan on 10.0.0.2:53: no such host":               "lookup host-2 on host-1: no such host",
		"localhost:8000 refused":                                        "host-1 refused",
		"open /home/ada/models/x.gguf: no such file":                    "open (path): no such file",
		`open C:\Users\ada\x.gguf`:                                      "open (path)",
		"see ../../secret/plan.txt":                                     "see ../../secret/plan.txt",
		"--model=/models/llama/8b":                                      "--model=(path)",
		"~/notes/a.txt":                                                 "(path)",
		"Authorization: Bearer abcdef0123456789":                        "Authorization: (key)",
		"key sk-CANARY0123 was refused":                                 "key (key) was refused",
		`{"api_key":"hunter22"}`:                                        `{"api_key":"(key)"}`,
		"hf_abcdefghijklmnop":                                           "(key)",
		"password = hunter22":                                           "password = (key)",
		"eyJhbGciOiJIUzI1.eyJzdWIiOiIx.abc":                             "(key)",
		"mail ada@example.org":                                          "mail (mail)",
		"unix:///run/user/1000/llm.sock":                                "(url)",
		// What must stay.
		"anvil-serving.benchmark/v1":            "anvil-serving.benchmark/v1",
		"org/model-8b":                          "org/model-8b",
		"examples/recipes/quickstart.sweep.hcl": "examples/recipes/quickstart.sweep.hcl",
		"../../sweep.json":                      "../../sweep.json",
		"2026-09-01T22:00:00Z":                  "2026-09-01T22:00:00Z",
		"vllm 0.12.0 at 12:30:05":               "vllm 0.12.0 at 12:30:05",
		"6 of 256 requests failed":              "6 of 256 requests failed",
		"1.5 ms; 3/4 done":                      "1.5 ms; 3/4 done",
		"max_tokens: 128":                       "max_tokens: 128",
		"tokens/s":                              "tokens/s",
		"sha256:aabbccdd":                       "sha256:aabbccdd",
		"api_key_env = \"OPENAI_API_KEY\"":      "api_key_env = \"OPENAI_API_KEY\"",
	} {
		s := newScrubber(nil)
		s.learn(in)
		if got := s.clean(in); got != want {
			t.Errorf("%q\nbecame %q\nwant   %q", in, got, want)
		}
	}
}

// A host has one pseudonym wherever it stands, and a name that is also the
// engine's is no host.
func TestHostsStayApart(t *testing.T) {
	s := newScrubber([]string{"Project X"})
	s.learn("http://gpu-box:8000 http://vllm:8000 http://gpu-box-2:8000")
	s.keep["vllm"] = true
	if got := s.clean("http://gpu-box:8000/v1 http://gpu-box-2:8000/v1 http://gpu-box:8000/v1 gpu-box gpu-box-2 vllm project x"); got !=
		"http://host-1.invalid http://host-2.invalid http://host-1.invalid host-4 host-3 vllm removed" {
		t.Errorf("%q", got)
	}
}

// The corpus, published: no address, path or key of it is left, every file reads
// as what it was, and its figures are the same.
func TestTheCorpusPublished(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "shared", "corpus", "v1")
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("the corpus is not here: %v", err)
	}
	out := filepath.Join(t.TempDir(), "copy")
	if _, err := Copy(folder, out, Options{Limit: 1000}); err == nil || !strings.Contains(err.Error(), "over the limit") {
		t.Errorf("%v", err)
	}
	r, err := Copy(folder, out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	before, err := artifact.Collect([]string{folder})
	if err != nil {
		t.Fatal(err)
	}
	after := map[string]*artifact.Document{}
	docs, err := artifact.Collect([]string{out})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		after[filepath.Base(d.Path)] = d
	}
	artifacts := 0
	for _, d := range before {
		if d.Kind == artifact.KindOther {
			continue
		}
		artifacts++
		a := after[filepath.Base(d.Path)]
		if a == nil || a.Kind != d.Kind || a.Generation != d.Generation || a.Requests != d.Requests {
			t.Fatalf("%s is not what it was", d.Path)
		}
		for _, name := range artifact.FigureNames() {
			v, _ := d.Metric(name)
			w, _ := a.Metric(name)
			if (v == nil) != (w == nil) || v != nil && *v != *w {
				t.Errorf("%s: %s was %v, is %v", d.Path, name, v, w)
			}
		}
		data, err := os.ReadFile(a.Path)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"127.0.0.1", "localhost", "192.168.", "/home/", "/Users/", "https://api", "C:\\\\"} {
			if strings.Contains(string(data), bad) {
				t.Errorf("%s still has %s", a.Path, bad)
			}
		}
	}
	if artifacts != r.Files {
		t.Errorf("%d files of %d", r.Files, artifacts)
	}
}

// A cell's id may look like a host, and is none: neither in a file's name nor in
// what the manifest calls it.
func TestIDsAreNoHosts(t *testing.T) {
	s := newScrubber(nil)
	s.names(map[string]any{"cells": []any{map[string]any{"id": "openai.local.ctx1024.c1.summary-5db23ced"}}})
	for _, same := range []string{"openai.local.ctx1024.c1.summary-5db23ced", "cells/capacity/openai.local.ctx1024.c1.summary-5db23ced.attempt2.json", "cell openai.local.ctx1024.c1 failed"} {
		if got := s.clean(same); got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
	if got := s.clean("gpu.local refused"); got != "host-1 refused" {
		t.Errorf("%q", got)
	}
}

func TestNothingIsLeftOfACopyThatFails(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "x.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	out := filepath.Join(parent, "copy")
	if _, err := Copy(folder, out, Options{}); err == nil || !strings.Contains(err.Error(), "no artifact") {
		t.Errorf("%v", err)
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Copy(folder, out, Options{}); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("%v", err)
	}
	if entries, _ := os.ReadDir(parent); len(entries) != 1 {
		t.Errorf("%v is left", entries)
	}
}

// Cleaning what is clean changes nothing, and no key survives, wherever it
// stands.
func FuzzClean(f *testing.F) {
	f.Add("dial tcp ", ":8000: refused")
	f.Add("\"", "\"")
	f.Add("http://h/", "?x=1")
	f.Fuzz(func(t *testing.T, before, after string) {
		s := newScrubber(nil)
		once := s.clean(before + " sk-CANARY0123456789 " + after)
		if strings.Contains(once, "CANARY0123456789") {
			t.Errorf("the key is left in %q", once)
		}
		if twice := s.clean(once); twice != once {
			t.Errorf("%q becomes %q", once, twice)
		}
	})
}
