package sweep

import (
	"encoding/json"
	"fmt"

	"anvilsweep/client/prompt"
	"anvilsweep/recipe"
)

// maxSequences are the flags by which engines bound the sequences they run at
// once.
var maxSequences = []string{"max_num_seqs", "max_running_requests", "max_batch_size", "parallel", "n_parallel", "np"}

// advise says what of a cell is surely unwanted, and what cannot be.
func advise(p recipe.Point) recipe.Diagnostics {
	var diags recipe.Diagnostics
	window := p.Model.ContextWindow
	if window > 0 && p.Context.Tokens > 0 {
		limit, err := prompt.Cap(&window, p.Output.MaxTokens)
		switch {
		case err != nil:
			return p.Output.At.Fault("No room for a prompt", capital(err.Error())+".")
		case p.Context.Tokens > window:
			return p.Context.At.Fault("Prompt above the window", fmt.Sprintf(
				"A prompt of %d tokens is above the window of model %s, %d. Take the size out, or exclude it where it does not fit.", p.Context.Tokens, p.Model.Name, window))
		case p.Context.Tokens > *limit:
			diags = p.Context.At.Warn("Prompt cut to the window", fmt.Sprintf(
				"context %d is cut to %d for model %s: its window of %d less max_tokens %d and a margin of %d.", p.Context.Tokens, *limit, p.Model.Name, window, p.Output.MaxTokens, prompt.Margin))
		}
	}
	if most, flag := sequences(p.Engine); most > 0 && p.Concurrency.Value > most && p.Concurrency.Search == nil {
		diags = diags.Append(p.Concurrency.At.Warn("A ladder above what the engine runs", fmt.Sprintf(
			"Engine %s runs %d sequences at once (%s), so the rungs above measure its queue.", p.Engine.Name, most, flag)))
	}
	if o := p.Output; o.Policy == recipe.PolicyStrict && o.MaxTokens < o.Words+answerTokens {
		diags = diags.Append(o.At.Warn("Strict words with little room", fmt.Sprintf(
			"%d words and a marker take more than max_tokens %d, so every strict response would fail; raise max_tokens to %d or more.", o.Words, o.MaxTokens, o.Words+2*answerTokens)))
	}
	return diags
}

func capital(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

// sequences is how many sequences an engine's flags let it run at once.
func sequences(e *recipe.Engine) (int, string) {
	for _, flag := range maxSequences {
		if n, ok := e.Flags[flag].(json.Number); ok {
			if most, err := n.Int64(); err == nil {
				return int(most), flag
			}
		}
	}
	return 0, ""
}
