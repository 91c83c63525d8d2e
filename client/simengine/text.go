package simengine

import (
	"fmt"
	"hash/fnv"
	"math/rand"
	"regexp"
	"strconv"
	"strings"
)

var (
	askMarker = regexp.MustCompile(`Begin with the exact marker (ANVIL_REQ_-?[0-9]+_[0-9]{5})`)
	askWords  = regexp.MustCompile(`emit exactly ([0-9]+) repetitions of the lowercase word code`)
	wordList  = strings.Fields("these helpers return computed context values for routine specialist work and differ in number only")
)

// instructionTail is how many characters at a prompt's end are searched: the
// instructions stand in the last line of a benchmark prompt.
const instructionTail = 1024

// answer is the tokens of the text that a prompt asks for: one token a word.
func answer(prompt string, seed int64) []string {
	tail := prompt[max(0, len(prompt)-instructionTail):]
	var tokens []string
	if m := askMarker.FindStringSubmatch(tail); m != nil {
		tokens = append(tokens, m[1])
	}
	words := 0
	if m := askWords.FindStringSubmatch(tail); m != nil {
		words, _ = strconv.Atoi(m[1]) // digits only; a number too large saturates and max_tokens cuts it
	}
	add := func(word string) {
		if len(tokens) > 0 {
			word = " " + word
		}
		tokens = append(tokens, word)
	}
	if words > 0 {
		for range min(words, maxWords) {
			add("code")
		}
		return tokens
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d\n%s", seed, prompt)
	r := rand.New(rand.NewSource(int64(h.Sum64())))
	for range 8 + r.Intn(16) {
		add(wordList[r.Intn(len(wordList))])
	}
	return tokens
}

// maxWords bounds an answer in memory; the format asks for no more.
const maxWords = 65536

// generation is what a request will be answered with.
type generation struct {
	reasoning int
	tokens    []string // content
	finish    string
}

// generate applies the request's limits: max_tokens cuts, min_tokens and
// ignore_eos go on past the end of the text. A text that never ends by itself
// finishes by its length, as in the engines this one stands for.
func generate(r *chatRequest, prompt string, seed int64, reasoning int) generation {
	g := generation{reasoning: reasoning, tokens: answer(prompt, seed), finish: "stop"}
	least := r.MinTokens
	if r.IgnoreEOS {
		least, g.finish = r.MaxTokens, "length"
	}
	for len(g.tokens)+g.reasoning < least {
		g.tokens = append(g.tokens, " more")
	}
	if room := r.MaxTokens - g.reasoning; room < len(g.tokens) {
		g.finish = "length"
		g.tokens = g.tokens[:max(0, room)]
		g.reasoning = min(g.reasoning, r.MaxTokens)
	}
	return g
}

// efforts is the reasoning tokens of each reasoning_effort.
var efforts = map[string]int{"none": 0, "minimal": 4, "low": 8, "medium": 16, "high": 32, "max": 64, "xhigh": 64}

// reasoningFor is how many reasoning tokens a request gets: by its effort, by
// thinking switched on or off, else the profile's.
func reasoningFor(r *chatRequest, p Profile) int {
	switch {
	case r.TemplateKwargs.EnableThinking != nil && !*r.TemplateKwargs.EnableThinking:
		return 0
	case r.ReasoningEffort != "":
		return efforts[r.ReasoningEffort]
	case r.TemplateKwargs.EnableThinking != nil:
		return efforts["medium"]
	}
	return p.ReasoningTokens
}
