package simengine

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// OwnedBy is what /v1/models says of every model: whoever measures this engine
// can tell that it is a simulation.
const OwnedBy = "anvilsweep-sim"

// Profile is how fast an engine is and what it holds.
type Profile struct {
	Name            string
	MaxModelLen     int           // tokens of prompt and completion
	MaxSeqs         int           // sequences that run at once; the others wait
	PrefillTokS     float64       // prompt tokens a second, shared; 0: no time at all
	PrefillChunk    int           // prompt tokens a step
	DecodeStep      time.Duration // fixed part of a step
	DecodePerSeq    time.Duration // added for each sequence that decodes
	PrefixBlock     int           // tokens of a cached block
	CacheTokens     int           // tokens the prefix cache holds
	ReasoningTokens int           // before the answer, where the request does not say
}

// profiles differ plainly: small is a workstation card that queues at eight
// sequences, large a datacentre card of about four times its speed, instant
// takes no time and is for tests.
var profiles = []Profile{
	{Name: "instant", MaxModelLen: 1 << 20, MaxSeqs: 1024, PrefillChunk: 1 << 20, PrefixBlock: 16, CacheTokens: 1 << 20},
	{Name: "large", MaxModelLen: 131072, MaxSeqs: 64, PrefillTokS: 48000, PrefillChunk: 8192,
		DecodeStep: 6 * time.Millisecond, DecodePerSeq: 100 * time.Microsecond, PrefixBlock: 16, CacheTokens: 1 << 20},
	{Name: "small", MaxModelLen: 32768, MaxSeqs: 8, PrefillTokS: 12000, PrefillChunk: 2048,
		DecodeStep: 14 * time.Millisecond, DecodePerSeq: 500 * time.Microsecond, PrefixBlock: 16, CacheTokens: 1 << 18},
}

// Slower is the profile with all that takes time taking so many percent more.
func (p Profile) Slower(percent float64) Profile {
	by := 1 + percent/100
	p.PrefillTokS /= by
	p.DecodeStep = time.Duration(float64(p.DecodeStep) * by)
	p.DecodePerSeq = time.Duration(float64(p.DecodePerSeq) * by)
	return p
}

// Profiles lists the profiles by name.
func Profiles() []Profile { return slices.Clone(profiles) }

// ProfileByName finds a profile; the error lists what there is.
func ProfileByName(name string) (Profile, error) {
	var names []string
	for _, p := range profiles {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Profile{}, fmt.Errorf("no profile %q of the embedded engine; there are %s", name, strings.Join(names, ", "))
}
