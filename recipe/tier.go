package recipe

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// endpointAttributes are those of a tier and of an engine.
const endpointAttributes = "base_url api_key_env headers header_env unix_socket"

var (
	tierSchema = schemaOf("gpu count memory_gib price_per_hour currency clock_domain profile replicas "+endpointAttributes,
		hcl.BlockHeaderSchema{Type: "tls"}, hcl.BlockHeaderSchema{Type: "power"})
	powerSchema    = schemaOf("command exporter gpus interval")
	tlsSchema      = schemaOf("ca_file server_name insecure")
	variableName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	clockDomain    = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	largestDecimal = 1e12
)

func (l *loader) tier(block *hcl.Block) (*Tier, map[string]cty.Value) {
	f, content := l.body(block, l.plainScope(), l.base, tierSchema)
	t := &Tier{
		At:   placeOf(block.DefRange),
		Name: block.Labels[0], GPU: f.text("gpu"), Count: f.whole("count", 1, 1<<20, 1),
		PricePerHour: f.decimal("price_per_hour", 0, largestDecimal), Currency: "USD",
		ClockDomain: f.text("clock_domain"), Profile: f.text("profile"), Endpoint: l.endpoint(f, content),
	}
	if memory := f.decimal("memory_gib", 0, largestDecimal); memory != nil {
		t.MemoryGiB = *memory
	}
	if currency := f.text("currency"); currency != "" {
		t.Currency = currency
	} else if t.PricePerHour != nil {
		l.diags.warn(f.known["price_per_hour"].at, "A price without a currency", "The price is taken as USD; write currency = \"USD\" to say so.")
	}
	if t.ClockDomain != "" && !clockDomain.MatchString(t.ClockDomain) {
		f.fail(f.known["clock_domain"].at, "Wrong clock domain", "clock_domain is 1 to 64 letters, digits, points, underscores and dashes.")
	}
	t.Power = l.power(f, content)
	l.replicas(f, t)
	if f.bad {
		return nil, nil
	}
	shown := map[string]cty.Value{
		"name": cty.StringVal(t.Name), "gpu": cty.StringVal(t.GPU), "count": cty.NumberIntVal(int64(t.Count)),
		"memory_gib": cty.NumberFloatVal(t.MemoryGiB), "price_per_hour": cty.NullVal(cty.Number),
	}
	if t.PricePerHour != nil {
		shown["price_per_hour"] = cty.NumberFloatVal(*t.PricePerHour)
	}
	return t, shown
}

// endpoint decodes where a server is.
func (l *loader) endpoint(f *fields, content *hcl.BodyContent) Endpoint {
	e := Endpoint{BaseURL: f.baseURL(), APIKeyEnv: f.keyName(), Headers: f.headers(), UnixSocket: f.text("unix_socket")}
	e.TLS = l.tls(f, content, e.BaseURL)
	if e.UnixSocket != "" && e.BaseURL == "" && !f.bad {
		f.fail(f.known["unix_socket"].at, "Socket without base_url", "unix_socket needs a base_url too, for the path and the Host header: http://127.0.0.1/v1.")
	}
	return e
}

// tls decodes the tls block.
func (l *loader) tls(f *fields, content *hcl.BodyContent, baseURL string) *TLS {
	blocks := content.Blocks.OfType("tls")
	if len(blocks) == 0 {
		return nil
	}
	if len(blocks) > 1 {
		f.fail(blocks[1].DefRange, "Declared twice", "There is one tls block at most.")
	}
	inner, _ := l.body(blocks[0], l.plainScope(), l.base, tlsSchema)
	t := &TLS{CAFile: inner.text("ca_file"), ServerName: inner.text("server_name"), Insecure: inner.flag("insecure", false)}
	f.bad = f.bad || inner.bad
	if t.CAFile != "" && !filepath.IsAbs(t.CAFile) {
		t.CAFile = filepath.Join(filepath.Dir(blocks[0].DefRange.Filename), t.CAFile)
	}
	switch {
	case f.bad:
	case !strings.HasPrefix(baseURL, "https:"):
		f.fail(blocks[0].DefRange, "TLS without https", "A tls block needs a base_url that begins with https.")
	case t.Insecure && (t.CAFile != "" || t.ServerName != ""):
		f.fail(blocks[0].DefRange, "Trust and no trust", "insecure accepts any certificate, so ca_file and server_name mean nothing beside it; take one of them out.")
	case t.Insecure:
		l.diags.warn(blocks[0].DefRange, "Any certificate is accepted", "insecure = true: whoever is on the way can read and change requests, the key included. Name the CA with ca_file instead.")
	}
	return t
}

// headers are what a gateway wants to see beside the key. What looks like a
// secret belongs in header_env.
func (f *fields) headers() []Header {
	var out []Header
	add := func(attribute string) {
		values := f.texts(attribute)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			value := values[name]
			h := Header{Name: http.CanonicalHeaderKey(name), Value: value}
			at := f.known[attribute].at
			switch {
			case !headerName.MatchString(name):
				f.fail(at, "Wrong header", "%s: %q is no name of an HTTP header.", attribute, name)
			case slices.Contains(ownHeaders, h.Name):
				f.fail(at, "Wrong header", "%s: %s is set by anvilsweep itself.", attribute, h.Name)
			case slices.ContainsFunc(out, func(o Header) bool { return o.Name == h.Name }):
				f.fail(at, "Header given twice", "%s is given twice in headers and header_env.", h.Name)
			case attribute == "header_env" && !variableName.MatchString(value):
				f.bad = true
				f.l.quietFault(at, "Wrong header_env", "header_env holds names of environment variables, such as MY_API_KEY, and never the value itself.")
			case attribute == "headers" && secretHeader.MatchString(name):
				f.bad = true
				f.l.quietFault(at, "Secret in a recipe", fmt.Sprintf("%s looks like a secret: put it into an environment variable and name that in header_env.", h.Name))
			case attribute == "headers" && strings.ContainsFunc(value, unicode.IsControl):
				f.fail(at, "Wrong header", "headers: the value of %s holds a line break or another control character.", h.Name)
			}
			if attribute == "header_env" {
				h.Value, h.Env = "", value
			}
			out = append(out, h)
		}
	}
	add("headers")
	add("header_env")
	slices.SortFunc(out, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return out
}

var (
	headerName   = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	secretHeader = regexp.MustCompile(`(?i)key|token|secret|password|auth|cookie`)
	ownHeaders   = []string{"Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "Accept", "Accept-Encoding"}
)

// baseURL is the tier's or engine's address.
func (f *fields) baseURL() string {
	g, ok := f.known["base_url"]
	if !ok {
		return ""
	}
	if text := f.text("base_url"); text == "" {
		if !f.bad {
			f.fail(g.at, "Wrong base_url", "base_url is empty; leave it out, or write the address up to and with /v1.")
		}
		return ""
	}
	return f.address("base_url", g)
}

// address is an absolute http or https URL. What readers of the artifact
// refuse is refused here, before anything is measured.
func (f *fields) address(name string, g given) string {
	text := textOf(g.value)
	fault := ""
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		fault = "it must be an absolute http or https URL such as http://127.0.0.1:8000/v1"
	case u.User != nil:
		fault = "it must hold no user name and no password: keys are named by api_key_env"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		fault = "it must have no query and no fragment"
	case strings.EqualFold(u.Hostname(), "localhost"):
		fault = "write 127.0.0.1 or [::1] for localhost: readers of the artifact refuse a name that may be either"
	}
	if fault == "" {
		return strings.TrimRight(text, "/")
	}
	f.bad = true
	if u != nil && u.User != nil || strings.Contains(text, "@") {
		f.l.quietFault(g.at, "Wrong "+name, name+": "+fault+".")
	} else {
		f.l.diags.fault(g.at, "Wrong "+name, name+": "+fault+".")
	}
	return ""
}

// keyName is the name of an environment variable. What is written there
// instead may be the key itself, so the error shows no source.
func (f *fields) keyName() string {
	text := f.text("api_key_env")
	if text == "" || variableName.MatchString(text) {
		return text
	}
	f.bad = true
	f.l.quietFault(f.known["api_key_env"].at, "Wrong api_key_env",
		"api_key_env is the name of an environment variable, such as MY_API_KEY, and never the key itself.")
	return ""
}

// quietFault is a fault whose line may hold a secret: its place is told in
// words, so that no source is shown.
func (l *loader) quietFault(at hcl.Range, summary, detail string) {
	quiet := at
	quiet.Filename = fmt.Sprintf("%s (line %d, not shown)", at.Filename, at.Start.Line)
	l.diags.fault(quiet, summary, detail)
}
