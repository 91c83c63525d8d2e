package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"

	"anvilsweep/client"
	"anvilsweep/recipe"
	"anvilsweep/sweep/artifact"
)

// sizing is how long the prompts of a cell are so that the server counts the
// tokens planned.
type sizing struct {
	chars     map[int]int // context → characters; empty: by the format's rule
	countedBy string      // "tokenize" or "usage"
	overhead  int         // tokens the chat template adds to a count by tokenize
	counted   int         // prompts counted
}

const (
	// calibrationIndex is where counted prompts are numbered from: apart from
	// measured and warm-up requests, so they share nothing with either.
	calibrationIndex = 95_000
	// calibrations is how often a length is corrected. Filler is even, so the
	// second try is close; the last one is a check.
	calibrations = 6
	// typicalChars a token of code has, about: where the search begins.
	typicalChars = 4.0
)

// near reports whether a count is as planned: within half of what is allowed,
// so that the cell's own prompts, which differ a little, are within it.
func near(count, planned int) bool {
	return math.Abs(float64(count-planned)) <= max(float64(planned)/200, 4)
}

// calibrate finds the length of each context's prompts, once an endpoint for
// each kind of prompt.
func (l *load) calibrate(admit, flight context.Context, contexts []int) error {
	if l.cell.Point.Context.Sizing != recipe.SizingTokens {
		return nil
	}
	kind := fmt.Sprintf("%s %s %d", l.cell.Point.Model.ID, l.workload.SetID(), l.workload.Words)
	known := l.ep.sizes[kind]
	if known.chars == nil {
		known.chars = map[int]int{}
	}
	defer func() {
		if l.ep.sizes == nil {
			l.ep.sizes = map[string]sizing{}
		}
		l.ep.sizes[kind] = known
		l.size = known
	}()
	for _, planned := range contexts {
		if known.chars[planned] > 0 {
			continue
		}
		if admit.Err() != nil {
			return nil // the requests say why they were not sent
		}
		if err := l.fit(flight, &known, planned); err != nil {
			return fmt.Errorf("prompts of %d tokens: %w", planned, err)
		}
	}
	return nil
}

// fit searches the length for one context: each count gives a better estimate
// of the characters a token has.
func (l *load) fit(ctx context.Context, s *sizing, planned int) error {
	chars := int(float64(planned) * typicalChars)
	if ratio := s.ratio(); ratio > 0 {
		chars = int(float64(planned) * ratio)
	}
	for range calibrations {
		count, err := l.count(ctx, s, planned, chars)
		if err != nil {
			return err
		}
		if near(count, planned) {
			s.chars[planned] = chars
			return nil
		}
		chars += int(math.Round(float64(planned-count) * float64(chars) / float64(count)))
	}
	return fmt.Errorf("no length was found that the server counts as planned in %d tries", calibrations)
}

// ratio is the characters a token had in the longest prompt that was fitted.
func (s *sizing) ratio() float64 {
	longest := 0
	for planned := range s.chars {
		longest = max(longest, planned)
	}
	if longest == 0 {
		return 0
	}
	return float64(s.chars[longest]) / float64(longest)
}

// count is the server's number of tokens for a prompt of the given length. The
// first one finds out whether the server has a tokenizer to ask; its count
// leaves the chat template out, which one small request tells.
func (l *load) count(ctx context.Context, s *sizing, planned, chars int) (int, error) {
	text, err := l.workload.Build(calibrationIndex+s.counted, planned, chars)
	if err != nil {
		return 0, err
	}
	s.counted++
	if s.countedBy == "usage" {
		return l.usage(ctx, text)
	}
	n, failure := l.ep.client.Tokenize(ctx, l.cell.Point.Model.ID, text)
	switch {
	case failure == nil && s.countedBy == "":
		short, err := l.workload.Build(calibrationIndex+s.counted, planned, min(chars, 2000))
		if err != nil {
			return 0, err
		}
		s.counted++
		whole, err := l.usage(ctx, short)
		if err != nil {
			return 0, err
		}
		plain, failure := l.ep.client.Tokenize(ctx, l.cell.Point.Model.ID, short)
		if failure != nil {
			return 0, failure
		}
		s.countedBy, s.overhead = "tokenize", whole-plain
	case failure == nil:
	case s.countedBy == "" && (failure.Kind == client.KindHTTPStatus || failure.Kind == client.KindProtocol):
		s.countedBy = "usage"
		return l.usage(ctx, text)
	default:
		return 0, failure
	}
	return n + s.overhead, nil
}

// usage sends a text for as short an answer as possible and reads how the
// server counts it.
func (l *load) usage(ctx context.Context, text string) (int, error) {
	request := l.request(text)
	request.MaxTokens, request.MinTokens, request.IgnoreEOS = 1, nil, nil
	lane := l.ep.client.Lane()
	defer lane.Close()
	o := lane.Do(ctx, request)
	switch {
	case o.Usage != nil && o.Usage.PromptTokens != nil && *o.Usage.PromptTokens > 0:
		return int(*o.Usage.PromptTokens), nil
	case o.Failure != nil:
		return 0, o.Failure
	}
	return 0, errors.New("the server tells no usage and has no /tokenize, so sizing = \"tokens\" cannot be done; use sizing = \"chars\"")
}

// describe is what the artifact says of it.
func (s *sizing) describe(c *recipe.Context) artifact.PromptSize {
	out := artifact.PromptSize{Sizing: c.Sizing, Counted: s.counted}
	if s.countedBy != "" {
		out.CountedBy = &s.countedBy
	}
	if s.countedBy == "tokenize" {
		out.Overhead = &s.overhead
	}
	return out
}
