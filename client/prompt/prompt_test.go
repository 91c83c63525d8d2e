package prompt

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

func TestPromptIsExactlyThreeCharactersAToken(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for range 500 {
		w := Workload{Seed: r.Int63n(1 << 31), Canaries: r.Intn(2) == 0, Words: r.Intn(3) * 40}
		if w.Unique = r.Intn(2) == 0; !w.Unique {
			w.SharedPrefixTokens = r.Intn(9000)
		}
		context := 100 + r.Intn(20000)
		index := r.Intn(10000)
		text, err := w.Build(index, context, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) != 3*context {
			t.Fatalf("%+v: %d characters for %d tokens", w, len(text), context)
		}
		if w.Canaries && !strings.Contains(text[len(text)-300:], Marker(w.Seed, index)) {
			t.Fatalf("%+v: the marker is not in the tail", w)
		}
	}
}

// byRule is the contract's rule as it is written there, slow and plain.
func byRule(w Workload, index, context int) string {
	lines := func(budget, offset int) string {
		var text string
		for b := 0; len(text) < budget; b++ {
			text += fmt.Sprintf("def helper_%d():\n    return compute(%d)  # routine specialist context\n", offset+b, b)
		}
		return text[:budget]
	}
	head := lines(3*w.SharedPrefixTokens, 0)
	if w.Unique {
		head = fmt.Sprintf("# unique benchmark request %d\n", index)
		if w.Canaries {
			head = "# unique benchmark request " + Marker(w.Seed, index) + "\n"
		}
	}
	tail := w.tail(index)
	if budget := 3*context - len(head) - len(tail) - 1; budget > 0 {
		return head + "\n" + lines(budget, index) + tail
	}
	return head[:min(len(head), 3*context-len(tail))] + tail
}

// Every context around the sizes of tail, header and prefix, where room for
// the filler begins, and where only its line end would fit.
func TestSmallPromptsFollowTheRule(t *testing.T) {
	for _, w := range []Workload{
		{Unique: true}, {Unique: true, Canaries: true, Seed: -4}, {Unique: true, Canaries: true, Words: 64},
		{}, {SharedPrefixTokens: 1}, {SharedPrefixTokens: 70, Canaries: true}, {SharedPrefixTokens: 71, Words: 3},
	} {
		for _, index := range []int{0, 7, 10, 123, 9999} {
			for context := 1; context < 260; context++ {
				got, err := w.Build(index, context, 0)
				if small := 3*context <= len(w.tail(index)); small != errors.Is(err, ErrTooSmall) {
					t.Fatalf("%+v index %d context %d: %v", w, index, context, err)
				} else if small {
					continue
				}
				if want := byRule(w, index, context); got != want {
					t.Fatalf("%+v index %d context %d:\n%q\nwant\n%q", w, index, context, got, want)
				}
			}
		}
	}
}

func TestSharedPromptsShareTheirPrefixAndUniqueOnesNothing(t *testing.T) {
	shared := Workload{SharedPrefixTokens: 1000}
	a, _ := shared.Build(1, 2000, 0)
	b, _ := shared.Build(2, 2000, 0)
	if a[:3000] != b[:3000] || a == b {
		t.Error("shared prompts must share exactly the prefix")
	}
	unique := Workload{Unique: true, Canaries: true, Seed: 5}
	c, _ := unique.Build(1, 2000, 0)
	d, _ := unique.Build(2, 2000, 0)
	other, _ := Workload{Unique: true, Canaries: true, Seed: 6}.Build(1, 2000, 0)
	const header = len("# unique benchmark request ANVIL_REQ_5_00001")
	if c[:header] == d[:header] || c[:header] == other[:header] {
		t.Error("unique prompts must differ in their first line, between requests and between seeds")
	}
}

func TestTooSmallAContextIsAnError(t *testing.T) {
	if _, err := (Workload{Canaries: true, Words: 64}).Build(0, 32, 0); !errors.Is(err, ErrTooSmall) {
		t.Fatalf("got %v", err)
	}
}

func TestCap(t *testing.T) {
	if limit, err := Cap(nil, 100); limit != nil || err != nil {
		t.Error("an unknown window has no cap")
	}
	window := 8192
	if limit, err := Cap(&window, 512); err != nil || *limit != 8192-512-1024 {
		t.Errorf("%v %v", limit, err)
	}
	if _, err := Cap(&window, 8000); err == nil || !strings.Contains(err.Error(), "8192") {
		t.Errorf("a window that leaves nothing must be an error that names it: %v", err)
	}
}

func TestSampledContextsFollowTheDistribution(t *testing.T) {
	counts := map[int]int{}
	for _, c := range SampleContexts(42, 20000) {
		counts[c]++
	}
	for tokens, share := range map[int]float64{16000: .218, 32768: .384, 65536: .304, 131072: .089, 262144: .005} {
		got := float64(counts[tokens]) / 20000
		if got < share-.02 || got > share+.02 {
			t.Errorf("context %d: share %.3f, want about %.3f", tokens, got, share)
		}
	}
	if !slices.Equal(SampleContexts(-9, 20), SampleContexts(9, 20)) {
		t.Error("a seed and its negative draw the same, as in Python")
	}
}

func TestCanary(t *testing.T) {
	const m = "ANVIL_REQ_7_00003"
	for _, c := range []struct {
		name, text   string
		truncated    bool
		pass, start  bool
		own, foreign int
	}{
		{"as asked", m + " code code", false, true, true, 1, 0},
		{"alone", m, false, true, true, 1, 0},
		{"line end after it", m + "\nx", false, true, true, 1, 0},
		{"separator U+001C counts as space", m + "\x1cx", false, true, true, 1, 0},
		{"leading line end is not trimmed", "\n" + m + " x", false, false, false, 1, 0},
		{"glued colon", m + ": x", false, false, false, 1, 0},
		{"a longer number is another word", m + "9 x", false, false, false, 0, 0},
		{"a letter of another script continues the word", m + "é", false, false, false, 0, 0},
		{"another request's", m + " ANVIL_REQ_7_00004 x", false, false, true, 1, 1},
		{"another seed's", m + " ANVIL_REQ_-8_00003.", false, false, true, 1, 1},
		{"twice its own", m + " " + m, false, true, true, 2, 0},
		{"cut", m + " code", true, false, true, 1, 0},
		{"empty", "", false, false, false, 0, 0},
	} {
		got := CheckCanary(c.text, c.truncated, m)
		if got.Passed != c.pass || got.MarkerAtStart != c.start || got.ObservedMarkerCount != c.own || got.ForeignMarkerCount != c.foreign {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestWords(t *testing.T) {
	const m = "ANVIL_REQ_7_00003"
	yes, no := true, false
	for _, c := range []struct {
		name, text  string
		truncated   bool
		policy      string
		code, extra int
		exact       *bool
		pass        bool
	}{
		{"as asked", m + " code code", false, "strict", 2, 0, &yes, true},
		{"any white space between", m + "\n code\u00a0code \t", false, "strict", 2, 0, &yes, true},
		{"one short", m + " code", false, "strict", 1, 0, &no, false},
		{"one short, observed", m + " code", false, "observe", 1, 0, &no, true},
		{"another word", m + " code code.", false, "strict", 1, 1, &no, false},
		{"capital letters", m + " Code code code", false, "strict", 2, 1, &no, false},
		{"marker missing", "code code", false, "strict", 2, 0, &yes, true},
		{"marker not first", "so " + m + " code code", false, "strict", 2, 2, &no, false},
		{"cut", m + " code code", true, "strict", 2, 0, nil, false},
		{"cut, observed", m + " code", true, "observe", 1, 0, nil, true},
	} {
		got := CheckWords(c.text, c.truncated, m, 2, c.policy)
		if got.ObservedCodeWords != c.code || got.ObservedExtraWords != c.extra || got.Passed != c.pass ||
			(got.ExactAdherence == nil) != (c.exact == nil) || c.exact != nil && *got.ExactAdherence != *c.exact {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestSetIDTellsKindsApart(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range []Workload{{}, {Unique: true}, {Canaries: true}, {Words: 3}, {SharedPrefixTokens: 9}} {
		if seen[w.SetID()] {
			t.Errorf("%+v shares the id %s", w, w.SetID())
		}
		seen[w.SetID()] = true
	}
	a, b := Workload{Seed: 1}, Workload{Seed: 2}
	if a.SetID() != b.SetID() {
		t.Error("the seed is a field of its own")
	}
}

func BenchmarkBuild(b *testing.B) {
	w := Workload{Unique: true, Canaries: true, Words: 64}
	b.ReportAllocs()
	b.SetBytes(3 * 349525)
	for b.Loop() {
		if _, err := w.Build(7, 349525, 0); err != nil {
			b.Fatal(err)
		}
	}
}
