package sweep

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

func TestFilesAreCountedBeforeTheFirstRequest(t *testing.T) {
	if err := checkFiles(256, 288); err != nil {
		t.Errorf("just enough: %v", err)
	}
	err := checkFiles(512, 256)
	if err == nil || !strings.Contains(err.Error(), "512 connections") || !strings.Contains(err.Error(), "ulimit -n 544") {
		t.Errorf("%v", err)
	}
}

func TestProxyOfTheEnvironment(t *testing.T) {
	env := map[string]string{"HTTP_PROXY": "http://u:p@proxy:3128", "https_proxy": "proxy2:3128", "NO_PROXY": "quiet.example"}
	getenv := func(name string) string { return env[name] }
	for base, want := range map[string]string{
		"http://engine.example/v1": "proxy:3128", "https://engine.example/v1": "proxy2:3128",
		"http://quiet.example/v1": "", "http://127.0.0.1:8000/v1": "", "http://[::1]:8000/v1": "",
	} {
		proxy, err := proxyOf(base, getenv)
		if err != nil || proxy == nil != (want == "") || proxy != nil && proxy.Host != want {
			t.Errorf("%s: %v, %v", base, proxy, err)
		}
	}
	env["HTTP_PROXY"] = "http://u:secret-CANARY@[oops"
	if _, err := proxyOf("http://engine.example/v1", getenv); err == nil || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("a broken proxy: %v", err)
	}
}

// A tier's TLS, headers and their secrets reach the server and no file.
func TestATierWithTLSAndHeaders(t *testing.T) {
	const secret = "azure-CANARY-1"
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Api-Key") != secret || r.Header.Get("X-Route") != "a" {
			http.Error(w, "no key, and not "+r.Header.Get("Api-Key"), http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodGet {
			io.WriteString(w, `{"data":[{"id":"m"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}],\"usage\":{\"completion_tokens\":1,\"prompt_tokens\":9}}\n\ndata: [DONE]\n\n")
	}))
	defer s.Close()
	folder := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(folder, "ca.pem"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "r.sweep.hcl")
	text := strings.Replace(atAddress(s.URL+"/v1", ""), `gpu      = "NVIDIA H200"`, `
  headers    = { "X-Route" = "a" }
  header_env = { "Api-Key" = "AZURE" }
  tls { ca_file = "ca.pem" }`, 1)
	text = strings.Replace(text, `{ words = 4, policy = "strict", max_tokens = 64 }`, `{ max_tokens = 64, canaries = false }`, 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, diags := recipe.Load([]string{file}, recipe.Options{Metrics: artifact.MetricNames()})
	if diags.HasErrors() {
		t.Fatal(diags.List())
	}
	plan, _, err := NewPlan(loaded)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := runner(t, dir, atAddress("http://127.0.0.1:1/v1", ""))
	r.Plan = plan
	if err := r.Check(); err == nil || !strings.Contains(err.Error(), "AZURE, named by header_env for Api-Key, is not set") {
		t.Errorf("without the variable: %v", err)
	}
	r.Getenv = func(name string) string { return map[string]string{"AZURE": secret}[name] }
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	if report := run(t, r); !report.OK() {
		t.Errorf("%+v %v", report, all(t, dir)[0].FailureList())
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) {
			t.Errorf("the secret is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, "ca.pem")); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err == nil || !strings.Contains(err.Error(), "ca.pem") {
		t.Errorf("without the CA file: %v", err)
	}
}
