package cli

import (
	"bytes"
	"context"
	_ "embed" // the recipe is written from it
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra"

	"anvilsweep/client"
	"anvilsweep/recipe"
)

//go:embed init.sweep.hcl.tmpl
var initPage string

// initFacts are what a first recipe is written from; empty where not known.
type initFacts struct {
	Model, Quantization, BaseURL string
	Window                       int
	APIKeyEnv                    string
	Found                        []string // where each was read
}

func newInit(env Env) *cobra.Command {
	var from, keyEnv, out string
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first recipe beside a model",
		Long: `Write a commented recipe into a folder, by default this one. What can be read is
filled in: the model's name, window and quantization from the folder's
config.json, and with --from the name and window that a running server lists.
Nothing that is there is overwritten.`,
		Example: `  anvilsweep init models/Qwen3-8B
  anvilsweep init --from http://127.0.0.1:8000/v1`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			facts := initFacts{BaseURL: "http://127.0.0.1:8000/v1", APIKeyEnv: keyEnv}
			if err := facts.readConfig(dir); err != nil {
				return usage(err)
			}
			if from != "" {
				if err := facts.ask(env, from); err != nil {
					return usage(err)
				}
			}
			path := filepath.Join(dir, out)
			text, err := facts.recipe(path)
			if err != nil {
				return failed(err)
			}
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return usage(fmt.Errorf("%s is there already, and init overwrites nothing; name another file with --out", path))
			}
			if err != nil {
				return usage(err)
			}
			if _, err := f.Write(text); err != nil {
				return failed(errors.Join(err, f.Close(), os.Remove(path)))
			}
			if err := f.Close(); err != nil {
				return failed(err)
			}
			fmt.Fprintf(env.Stdout, "Wrote %s.\n", path)
			for _, found := range facts.Found {
				fmt.Fprintf(env.Stdout, "  %s\n", found)
			}
			fmt.Fprintf(env.Stdout, "Look at it, then: anvilsweep plan %s\n", path)
			return nil
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "ask the server at this base `URL` for its model")
	cmd.Flags().StringVar(&keyEnv, "api-key-env", "", "`name` of the environment variable that holds the server's key")
	cmd.Flags().StringVar(&out, "out", "capacity.sweep.hcl", "`name` of the file in the folder")
	return cmd
}

// readConfig takes what a model's config.json says. A folder without one is no
// fault.
func (f *initFacts) readConfig(dir string) error {
	path := filepath.Join(dir, "config.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("%s is no folder", dir)
		}
		return nil
	}
	if err != nil {
		return err
	}
	var c struct {
		Name   string `json:"_name_or_path"`
		Window int    `json:"max_position_embeddings"`
		Text   struct {
			Window int `json:"max_position_embeddings"`
		} `json:"text_config"`
		Quantization struct {
			Method string `json:"quant_method"`
		} `json:"quantization_config"`
		Type string `json:"torch_dtype"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("%s is no model's configuration: %w", path, err)
	}
	if f.Model = c.Name; f.Model == "" || strings.HasPrefix(f.Model, "/") || strings.HasPrefix(f.Model, ".") {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		f.Model = filepath.Base(abs)
		f.note("model %s: the folder's name", f.Model)
	} else {
		f.note("model %s: %s", f.Model, path)
	}
	if f.Window = max(c.Window, c.Text.Window); f.Window > 0 {
		f.note("window %d: %s", f.Window, path)
	}
	if f.Quantization = c.Quantization.Method; f.Quantization == "" {
		f.Quantization = map[string]string{"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}[c.Type]
	}
	if f.Quantization != "" {
		f.note("quantization %s: %s", f.Quantization, path)
	}
	return nil
}

func (f *initFacts) note(format string, args ...any) {
	f.Found = append(f.Found, fmt.Sprintf(format, args...))
}

// ask takes what a running server says of itself; it knows best.
func (f *initFacts) ask(env Env, base string) error {
	cfg := client.Config{BaseURL: base, UserAgent: "anvilsweep", Timeout: client.Timeout{Connect: 10 * time.Second, FirstByte: 30 * time.Second, Idle: 30 * time.Second}}
	if f.APIKeyEnv != "" {
		if cfg.APIKey = env.Getenv(f.APIKeyEnv); cfg.APIKey == "" {
			return fmt.Errorf("the environment variable %s, named by --api-key-env, is not set", f.APIKeyEnv)
		}
	}
	c, err := client.New(cfg)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	models, failure := c.Models(context.Background())
	if failure != nil {
		return fmt.Errorf("--from %s: %w", base, failure)
	}
	f.BaseURL = strings.TrimRight(base, "/")
	f.Model = models[0].ID
	f.note("model %s: %s/models", f.Model, f.BaseURL)
	if n := models[0].MaxModelLen; n != nil {
		f.Window = *n
		f.note("window %d: %s/models", f.Window, f.BaseURL)
	}
	return nil
}

// recipe writes the facts into the page. What comes out is formatted and has
// been read back: a name from elsewhere must not make another recipe of it.
func (f *initFacts) recipe(path string) ([]byte, error) {
	page, err := template.New("init").Funcs(template.FuncMap{"text": recipe.Quote}).Parse(initPage)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := page.Execute(&b, f); err != nil {
		return nil, err
	}
	out, diags := recipe.Format(recipe.Source{Path: path, Bytes: b.Bytes()})
	if diags.HasErrors() {
		return nil, fmt.Errorf("what was read does not make a recipe: %s", diags.List()[0].Detail)
	}
	return out, nil
}
