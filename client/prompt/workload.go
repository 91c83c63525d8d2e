package prompt

import (
	"errors"
	"fmt"
	"strconv"
)

// Constants of the prompt rule.
const (
	// CharsPerToken is the rule's estimate. Code is nearer four characters a
	// token, so a prompt reaches about 75 % of its nominal context.
	CharsPerToken = 3
	// Margin is kept free in the window beside the completion, in tokens.
	Margin = 1024
	// Rule names the format's own way of building prompts.
	Rule = "anvil-chars/v1"
	// TokensRule names the way of prompts whose length is given: numbers are as
	// long in every prompt, so that equal lengths are equal counts of tokens, and
	// the seed is in every prompt that is to be unique.
	TokensRule = "anvil-tokens/v1"
)

// ErrTooSmall is returned where the nominal context does not even hold the
// instruction.
var ErrTooSmall = errors.New("context target is too small for the benchmark prompt envelope")

// Workload is what the prompts of one cell have in common.
type Workload struct {
	Seed               int64 // shows in canary markers; by TokensRule in the header too
	Unique             bool  // a header of its own before each prompt, and no shared prefix
	SharedPrefixTokens int   // nominal tokens all prompts share; 0 in unique mode
	Canaries           bool  // each response must begin with its own marker
	Words              int   // repetitions of "code" to answer with; 0: a one-line summary
	Tokens             bool  // prompts are built by TokensRule
}

// Rule is the name of the rule that the prompts are built by.
func (w Workload) Rule() string {
	if w.Tokens {
		return TokensRule
	}
	return Rule
}

// Marker is the canary of one request.
func Marker(seed int64, index int) string {
	return fmt.Sprintf("ANVIL_REQ_%d_%05d", seed, index)
}

// SetID names the kind of prompts, for readers that compare like with like
// only. It leaves out context, index and seed: they are fields of their own.
func (w Workload) SetID() string {
	mode := "shared"
	if w.Unique {
		mode = "unique"
	}
	canary := "plain"
	if w.Canaries {
		canary = "canary"
	}
	return fmt.Sprintf("%s:%s:%s:words%d:prefix%d", w.Rule(), mode, canary, w.Words, w.SharedPrefixTokens)
}

// Build makes the prompt of one request for a nominal context in tokens. Its
// length is chars; where that is 0, exactly three characters a token, by the
// format's rule one less where the header or prefix leaves room for a line end
// and nothing after it. The error is ErrTooSmall.
func (w Workload) Build(index, contextTokens, chars int) (string, error) {
	tail := w.tail(index)
	total := chars
	if total == 0 {
		total = CharsPerToken * contextTokens
	}
	if total <= len(tail) {
		return "", ErrTooSmall
	}
	out := make([]byte, 0, total+128) // the last filler line may overshoot before it is cut
	if w.Unique {
		out = append(out, "# unique benchmark request "...)
		if w.Canaries || w.Tokens {
			out = append(out, Marker(w.Seed, index)...)
		} else {
			out = strconv.AppendInt(out, int64(index), 10)
		}
		out = append(out, '\n')
	} else {
		// No more of the prefix than the prompt can hold.
		out = w.filler(out, min(total*w.SharedPrefixTokens/contextTokens, total), 0)
	}
	if budget := total - len(out) - len(tail) - 1; budget > 0 {
		out = append(out, '\n')
		out = w.filler(out, budget, index)
	} else {
		out = out[:min(len(out), total-len(tail))]
	}
	return string(append(out, tail...)), nil
}

func (w Workload) tail(index int) string {
	begin, number := "", strconv.Itoa(index)
	if w.Tokens {
		number = fmt.Sprintf("%05d", index)
	}
	if w.Canaries {
		begin = fmt.Sprintf("Begin with the exact marker %s, followed by one space.", Marker(w.Seed, index))
	}
	switch {
	case w.Words > 0:
		if begin != "" {
			begin = " " + begin
		}
		return fmt.Sprintf("\n# request %s:%s Then emit exactly %d repetitions of the lowercase word code, separated by single spaces. Do not add other text and do not stop early.", number, begin, w.Words)
	case w.Canaries:
		return fmt.Sprintf("\n# request %s: %s Summarize the above in one line.", number, begin)
	}
	return fmt.Sprintf("\n# request %s: summarize the above in one line.", number)
}

// filler appends budget characters of routine code, numbered from offset.
func (w Workload) filler(out []byte, budget, offset int) []byte {
	end := len(out) + budget
	for b := 0; len(out) < end; b++ {
		out = append(out, "def helper_"...)
		out = w.number(out, offset+b)
		out = append(out, "():\n    return compute("...)
		out = w.number(out, b)
		out = append(out, ")  # routine specialist context\n"...)
	}
	return out[:end]
}

// number is written in six digits where lengths must not depend on it.
func (w Workload) number(out []byte, n int) []byte {
	if !w.Tokens {
		return strconv.AppendInt(out, int64(n), 10)
	}
	for place := 100_000; place > 0; place /= 10 {
		out = append(out, byte('0'+n/place%10))
	}
	return out
}

// Cap is how many tokens a window leaves for a prompt: nil where the window is
// not known, an error where nothing is left.
func Cap(window *int, maxTokens int) (*int, error) {
	if window == nil {
		return nil, nil
	}
	limit := *window - maxTokens - Margin
	if limit <= 0 {
		return nil, fmt.Errorf("the model's window of %d tokens leaves nothing for a prompt beside max_tokens %d and a margin of %d", *window, maxTokens, Margin)
	}
	return &limit, nil
}
