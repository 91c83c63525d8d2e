package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"anvilsweep/client/simengine"
)

func newSim(env Env) *cobra.Command {
	var listen, profile string
	var models []string
	var seed int64
	var faults bool
	var loading time.Duration
	var memory int
	var slower float64
	names := make([]string, 0, 4)
	for _, p := range simengine.Profiles() {
		names = append(names, p.Name)
	}
	cmd := &cobra.Command{
		Use:   "sim --listen ADDR",
		Short: "Serve the embedded engine, a simulation of an LLM server",
		Long: `Serve the embedded engine at an address: an OpenAI-compatible server with a plain
model of prefill, decode, batching, queueing and prefix cache. It is a simulation
and says so: artifacts made against it have engine and gpu "sim". /metrics is a page of
Prometheus text under vLLM's names. Ctrl-C stops it.

A request for the model "NAME!FAULT" is answered wrongly in a named way, to see what
a client makes of it; --faults lists them.`,
		Example: `  anvilsweep sim --listen 127.0.0.1:8000 --profile large
  anvilsweep sim --listen 127.0.0.1:0 --model Qwen/Qwen3-8B
  anvilsweep sim --listen 127.0.0.1:8001 --profile large --slower 5
  anvilsweep sim --faults`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if faults {
				for _, f := range simengine.Faults() {
					fmt.Fprintf(env.Stdout, "%-18s %s\n", f.Name, f.Does)
				}
				return nil
			}
			p, err := simengine.ProfileByName(profile)
			if err != nil {
				return usage(fmt.Errorf("--profile: %w", err))
			}
			if slower <= -100 {
				return usage(fmt.Errorf("--slower %g: more than everything cannot be saved", slower))
			}
			engine := simengine.New(simengine.Options{
				Profile: p.Slower(slower), Models: models, Seed: seed, Loading: loading, Memory: memory,
				Crash: func() {
					logger(env).Error("simulated crash: the engine ends, as a request asked for")
					env.Exit(exitFailed)
				},
			})
			if err := engine.Listen(listen); err != nil {
				return usage(fmt.Errorf("--listen %s: %w", listen, err))
			}
			fmt.Fprintf(env.Stdout, "%s\n", engine.BaseURL())
			logger(env).Info("embedded engine is serving; Ctrl-C stops it", "base_url", engine.BaseURL(), "profile", p.Name)
			<-env.Signals
			if err := engine.Close(); err != nil {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8000", "`address` to listen on; port 0 takes a free one")
	cmd.Flags().StringVar(&profile, "profile", "small", "how fast it is: "+strings.Join(names, ", "))
	cmd.Flags().StringArrayVar(&models, "model", nil, "model `id` to serve, others get 404; may be given again (default: any)")
	cmd.Flags().BoolVar(&faults, "faults", false, "list the faults that a request can ask for, and serve nothing")
	cmd.Flags().DurationVar(&loading, "loading", 0, "how `long` it answers 503 after it was started, like an engine that loads its weights")
	cmd.Flags().IntVar(&memory, "memory", 0, "`tokens` that its KV cache holds; sequences beyond wait or are preempted (default: no limit)")
	cmd.Flags().Float64Var(&slower, "slower", 0, "`percent` more time for all that it does, to see a regression found; less, where negative")
	cmd.Flags().Int64Var(&seed, "seed", 0, "seed of the generated texts")
	return cmd
}
