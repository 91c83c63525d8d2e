package client

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// shortestSecret keeps a secret from taking single letters out of messages: a
// shorter key is a placeholder, and fewer of a key's first letters give nothing
// away.
const shortestSecret = 4

// secret is every key in every spelling a server may send it back in.
type secret struct {
	spellings []string
	replacer  *strings.Replacer
}

func newSecret(keys ...string) secret {
	var s secret
	var pairs []string
	for _, key := range keys {
		if len(key) < shortestSecret {
			continue
		}
		inJSON, ascii := jsonText(key), strconv.QuoteToASCII(key)
		for _, spelling := range []string{
			key, inJSON, strings.ReplaceAll(inJSON, "/", `\/`), htmlSafe(key), ascii[1 : len(ascii)-1],
			url.QueryEscape(key), url.PathEscape(key),
		} {
			s.spellings = append(s.spellings, spelling)
			pairs = append(pairs, spelling, "[key]")
		}
	}
	s.replacer = strings.NewReplacer(pairs...)
	return s
}

// jsonText is a text as JSON spells it, without the quotes around it.
func jsonText(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil {
		return text
	}
	quoted := strings.TrimSuffix(b.String(), "\n")
	return quoted[1 : len(quoted)-1]
}

// htmlSafe is jsonText with <, > and & escaped.
func htmlSafe(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return string(quoted[1 : len(quoted)-1])
}

// hide takes the key out of a whole text.
func (s secret) hide(text string) string { return s.replacer.Replace(text) }

// hideCut takes the key out of a text that was cut at its end, where the
// beginning of a key may be left.
func (s secret) hideCut(text string) string {
	text = s.hide(text)
	cut := len(text)
	for _, spelling := range s.spellings {
		for n := min(len(spelling), len(text)); n >= shortestSecret; n-- {
			if strings.HasSuffix(text, spelling[:n]) {
				cut = min(cut, len(text)-n)
				break
			}
		}
	}
	return text[:cut]
}
