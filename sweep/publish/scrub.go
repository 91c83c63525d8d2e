package publish

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Kinds of what is taken out.
const (
	KindURL  = "URLs"
	KindHost = "hosts and addresses"
	KindPath = "paths"
	KindKey  = "keys"
	KindMail = "mail addresses"
	KindWord = "words that were named"
)

// scrubber takes out of texts what should not leave the house.
type scrubber struct {
	hosts map[string]string         // pseudonyms, by host and port
	known map[string]*regexp.Regexp // host names met in URLs, which are hosts wherever they stand
	words []*regexp.Regexp          // named by the caller
	keep  map[string]bool           // names of models, engines, tiers and cells, never taken for hosts
	plain map[string]bool           // texts that were found clean: an artifact says most things often
	Taken map[string]int            // how often, by kind
}

func newScrubber(words []string) *scrubber {
	var removed []*regexp.Regexp
	for _, w := range words {
		if w != "" {
			removed = append(removed, regexp.MustCompile(`(?i)`+regexp.QuoteMeta(w)))
		}
	}
	return &scrubber{hosts: map[string]string{}, known: map[string]*regexp.Regexp{}, keep: map[string]bool{}, plain: map[string]bool{}, words: removed, Taken: map[string]int{}}
}

var (
	urls = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://(?:[^\s"'/<>\\]*@)?(?:\[[^\]\s"'\\]*\])?[^\s"'<>\\)\]}]*`)
	keys = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`),
		regexp.MustCompile(`\b(?:sk|pk|rk)-[A-Za-z0-9_-]{6,}`),
		regexp.MustCompile(`\bhf_[A-Za-z0-9]{6,}|\bgh[pousr]_[A-Za-z0-9]{10,}|\bglpat-[\w-]{10,}|\bAKIA[0-9A-Z]{12,}|\bxox[abprs]-[\w-]{8,}|\bnvapi-[\w-]{8,}`),
		regexp.MustCompile(`\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*`),
	}
	named   = regexp.MustCompile(`(?i)((?:api[_-]?key|access[_-]?key|token|secret|password|authorization|cookie)\\?["']?\s*[=:]\s*\\?["']?)([^\s"'\\,;&]{4,})`)
	mails   = regexp.MustCompile(`\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b`)
	ipv6    = regexp.MustCompile(`\[[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(?:%\w+)?\](?::\d{1,5})?`)
	ipv4    = regexp.MustCompile(`\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?::\d{1,5})?\b`)
	ported  = regexp.MustCompile(`(?i)\b(?:localhost|[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+):\d{2,5}\b`)
	private = regexp.MustCompile(`(?i)\b(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:local|localdomain|lan|internal|intranet|corp|home|arpa)\b|\blocalhost\b`)
	lookups = regexp.MustCompile(`\b(lookup )([A-Za-z0-9.-]+)`)
	paths   = regexp.MustCompile("(^|[\\s\"'`=(\\[{<,:;])(~?/(?:[^\\s\"'`:;,)\\]}>/\\\\]+/)+[^\\s\"'`:;,)\\]}>\\\\]*|/(?:home|root|tmp|mnt|srv|opt|data|models|var|Users)\\b[^\\s\"'`:;,)\\]}>\\\\]*|[A-Za-z]:\\\\[^\\s\"'`;,)\\]}>]*|\\\\\\\\[\\w.-]+\\\\[^\\s\"'`;,)\\]}>]*)")
)

// learn finds the hosts that URLs name.
func (s *scrubber) learn(text string) {
	if !strings.Contains(text, "://") {
		return
	}
	for _, u := range urls.FindAllString(text, -1) {
		if parsed, err := url.Parse(strings.TrimRight(u, ".,;:")); err == nil && parsed.Hostname() != "" {
			name := strings.ToLower(parsed.Hostname())
			s.known[name] = regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(name) + `(?::\d{2,5})?\b`)
		}
	}
}

// clean is a text without what should not leave the house.
func (s *scrubber) clean(text string) string {
	if s.plain[text] {
		return text
	}
	out := s.scrub(text)
	if out == text {
		s.plain[text] = true
	}
	return out
}

func (s *scrubber) scrub(text string) string {
	for _, w := range s.words {
		text = s.replace(text, w, KindWord, func(string) string { return "removed" })
	}
	if !strings.ContainsAny(text, ":/\\@.-_=~ ") {
		return s.knownHosts(text) // most texts of an artifact are one word
	}
	text = s.replace(text, urls, KindURL, s.url)
	for _, k := range keys {
		text = s.replace(text, k, KindKey, func(string) string { return "(key)" })
	}
	text = named.ReplaceAllStringFunc(text, func(m string) string {
		parts := named.FindStringSubmatch(m)
		if parts[2] == "(key)" || strings.HasPrefix(parts[2], "(") {
			return m
		}
		s.Taken[KindKey]++
		return parts[1] + "(key)"
	})
	text = s.replace(text, mails, KindMail, func(string) string { return "(mail)" })
	for _, host := range []*regexp.Regexp{ipv6, ipv4, ported, private} {
		text = s.replace(text, host, KindHost, func(name string) string {
			if s.keep[strings.ToLower(name)] {
				return name
			}
			return s.host(name)
		})
	}
	text = lookups.ReplaceAllStringFunc(text, func(m string) string {
		name := strings.TrimPrefix(m, "lookup ")
		if strings.HasPrefix(name, "host-") {
			return m
		}
		s.Taken[KindHost]++
		return "lookup " + s.host(name)
	})
	text = s.knownHosts(text)
	return paths.ReplaceAllStringFunc(text, func(m string) string {
		parts := paths.FindStringSubmatch(m)
		s.Taken[KindPath]++
		return parts[1] + "(path)"
	})
}

func (s *scrubber) replace(text string, what *regexp.Regexp, kind string, by func(string) string) string {
	return what.ReplaceAllStringFunc(text, func(m string) string {
		out := by(m)
		if out != m {
			s.Taken[kind]++
		}
		return out
	})
}

// url keeps of a URL that it was one, and of which host.
func (s *scrubber) url(text string) string {
	end := text[len(strings.TrimRight(text, ".,;:")):]
	u, err := url.Parse(strings.TrimSuffix(text, end))
	if err != nil || u.Host == "" {
		return "(url)" + end
	}
	if strings.HasSuffix(u.Hostname(), ".invalid") {
		return text // ours already
	}
	return strings.ToLower(u.Scheme) + "://" + s.host(u.Host) + ".invalid" + end
}

// host is the pseudonym of a host, or of a host and port.
func (s *scrubber) host(name string) string {
	name = strings.ToLower(name)
	if host, port, err := net.SplitHostPort(name); err == nil && (port == "80" || port == "443") {
		name = host
	}
	if s.hosts[name] == "" {
		s.hosts[name] = fmt.Sprintf("host-%d", len(s.hosts)+1)
	}
	return s.hosts[name]
}

// knownHosts finds hosts by names that URLs have given away. A name that is
// also a model's, an engine's or a tier's is none.
func (s *scrubber) knownHosts(text string) string {
	var names []string
	for name := range s.known {
		if len(name) > 2 && !s.keep[name] && !strings.HasSuffix(name, ".invalid") {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a) // the longer first: one may hold another
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		if !strings.Contains(strings.ToLower(text), name) {
			continue
		}
		text = s.replace(text, s.known[name], KindHost, s.host)
	}
	return text
}
