package prompt

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Canary says whether a response was the answer to its own request.
type Canary struct {
	Marker              string
	MarkerAtStart       bool // the text begins with the marker and nothing is glued to it
	ObservedMarkerCount int  // how often the own marker stands in the text
	ForeignMarkerCount  int  // markers of other requests: responses were mixed up
	CaptureComplete     bool // the text was not cut
	Passed              bool
}

// Words says whether a response had the length that was asked for.
type Words struct {
	Policy             string
	RequestedWords     int
	ObservedCodeWords  int
	ObservedExtraWords int
	CaptureComplete    bool
	ExactAdherence     *bool // nil where the text was cut and nobody can know
	Passed             bool
}

var markerLike = regexp.MustCompile(`ANVIL_REQ_-?[0-9]+_[0-9]{5}`)

// CheckCanary passes a response that begins with its own marker, as a word of
// its own, and holds no other request's. Nothing is trimmed: a leading line
// end fails, and so does "marker:". A cut text fails, for the missing part
// could hold anything.
func CheckCanary(text string, truncated bool, marker string) Canary {
	c := Canary{Marker: marker, CaptureComplete: !truncated, MarkerAtStart: beginsWith(text, marker)}
	for _, found := range markers(text) {
		if found == marker {
			c.ObservedMarkerCount++
		} else {
			c.ForeignMarkerCount++
		}
	}
	c.Passed = c.MarkerAtStart && c.ForeignMarkerCount == 0 && c.CaptureComplete
	return c
}

func beginsWith(text, marker string) bool {
	rest, ok := strings.CutPrefix(text, marker)
	if !ok {
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || isSpace(r)
}

// markers lists everything in the text that has a marker's shape and ends at a
// word boundary.
func markers(text string) []string {
	var out []string
	for _, at := range markerLike.FindAllStringIndex(text, -1) {
		if next, _ := utf8.DecodeRuneInString(text[at[1]:]); at[1] == len(text) || !isWord(next) {
			out = append(out, text[at[0]:at[1]])
		}
	}
	return out
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// isSpace is Python's str.isspace, which also takes the four separators that
// Go's unicode.IsSpace leaves out.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// CheckWords counts the words after the marker, if the text begins with it;
// marker is empty where canaries are off. The strict policy passes exact
// answers only, observe passes all and records.
func CheckWords(text string, truncated bool, marker string, words int, policy string) Words {
	w := Words{Policy: policy, RequestedWords: words, CaptureComplete: !truncated}
	if marker != "" && strings.HasPrefix(text, marker) {
		text = text[len(marker):]
	}
	for _, word := range strings.FieldsFunc(text, isSpace) {
		if word == "code" {
			w.ObservedCodeWords++
		} else {
			w.ObservedExtraWords++
		}
	}
	if !truncated {
		exact := w.ObservedCodeWords == words && w.ObservedExtraWords == 0
		w.ExactAdherence = &exact
	}
	w.Passed = policy == "observe" || w.ExactAdherence != nil && *w.ExactAdherence
	return w
}
