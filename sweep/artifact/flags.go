package artifact

import (
	"fmt"
	"math"
)

const (
	// bent is how much of a figure the client may be before the cell is flagged.
	bent = 0.02
	// busy is the share of its processors above which a client is no bystander.
	busy = 0.9
	// cached is the share of tokens from the cache that unique prompts may have.
	cached = 0.01
	// A prompt sized by tokens is of its size within 1 % or 8 tokens.
	sizePct, sizeTokens = 1.0, 8.0
)

// flags says what makes the cell's figures not what they should be.
func (s *Sweep) flags(a *Artifact) []Flag {
	flags := []Flag{}
	if reason := s.Client.limited(a); reason != "" {
		flags = append(flags, Flag{FlagClientLimited, reason})
	}
	flags = append(flags, s.Identity...)
	flags = append(flags, s.Server.flags(a, s.Arrivals != nil)...)
	if arr := s.Arrivals; arr != nil && arr.NoSlot > 0 {
		flags = append(flags, Flag{FlagNoSlot, fmt.Sprintf("%d of %d arrivals found all %d slots busy and waited; latencies from the start leave their wait out, ttft_from_due_ms and e2e_from_due_ms hold it", arr.NoSlot, a.Requests, arr.Slots)})
	}
	if hit := s.CacheHitRate; a.PromptCacheMode == "unique" && hit != nil && *hit > cached {
		flags = append(flags, Flag{FlagCacheHits, fmt.Sprintf("%.1f %% of the prompt tokens came from the server's cache, though no two prompts share a beginning", 100**hit)})
	}
	if off := s.PromptSize.ErrorPctMean; s.PromptSize.Sizing == "tokens" && off != nil {
		if mean := float64(s.PromptSize.Planned) / float64(max(1, a.Completed)); math.Abs(*off) > sizePct && math.Abs(*off)/100*mean > sizeTokens {
			flags = append(flags, Flag{FlagPromptSize, fmt.Sprintf("prompts are %+.1f %% off the tokens planned", *off)})
		}
	}
	return flags
}

// limited is why the client may have bent the figures by more than 2 %; empty
// where it did not.
//
// Where the kernel tells when bytes came, our own lateness is not in a latency.
// What is left is load: while a worker is between two requests there is one
// less in flight than asked for. Elsewhere a late read makes a late arrival, and
// a timer's lateness stands for it: its mean is held against the mean TTFT, its
// p99 against the p99, and against the generation time, which has it at both
// ends.
func (c *ClientFacts) limited(a *Artifact) string {
	if c.CPUShare != nil && *c.CPUShare > busy {
		return fmt.Sprintf("this process used %.0f %% of its %d processors", 100**c.CPUShare, c.MaxProcs)
	}
	over := func(lag float64, of, name string) string {
		if v, ok := a.Metrics.Float(of); ok && v > 0 && lag > bent*v {
			return fmt.Sprintf("%.2f ms, %.1f %% of the %s of %.2f ms", lag, 100*lag/v, name, v)
		}
		return ""
	}
	if c.SendLag != nil {
		if why := over(c.SendLag.Mean, "ttft_mean_ms", "mean TTFT"); why != "" {
			return "requests of the open loop were sent late by " + why
		}
	}
	if c.Turnaround != nil {
		if why := over(c.Turnaround.Mean, "e2e_mean_ms", "mean E2E"); why != "" {
			return "from one request to the next a worker took " + why + ", so fewer were in flight than asked for"
		}
	}
	if c.Arrivals == "kernel" || c.TimerLag == nil {
		return ""
	}
	for _, why := range []string{
		over(c.TimerLag.Mean, "ttft_mean_ms", "mean TTFT"),
		over(c.TimerLag.P99, "ttft_p99_ms", "p99 TTFT"),
		over(2*c.TimerLag.Mean, "generation_mean_ms", "mean generation time, which TPOT is made of"),
	} {
		if why != "" {
			return "the client woke late by " + why
		}
	}
	return ""
}
