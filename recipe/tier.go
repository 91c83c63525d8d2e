package recipe

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

var (
	tierSchema     = schemaOf("gpu count memory_gib price_per_hour currency base_url api_key_env clock_domain profile")
	variableName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	clockDomain    = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	largestDecimal = 1e12
)

func (l *loader) tier(block *hcl.Block) (*Tier, map[string]cty.Value) {
	f, _ := l.body(block, l.plainScope(), l.base, tierSchema)
	t := &Tier{
		Name: block.Labels[0], GPU: f.text("gpu"), Count: f.whole("count", 1, 1<<20, 1),
		PricePerHour: f.decimal("price_per_hour", 0, largestDecimal), Currency: "USD",
		BaseURL: f.baseURL(), APIKeyEnv: f.keyName(), ClockDomain: f.text("clock_domain"), Profile: f.text("profile"),
	}
	if memory := f.decimal("memory_gib", 0, largestDecimal); memory != nil {
		t.MemoryGiB = *memory
	}
	if currency := f.text("currency"); currency != "" {
		t.Currency = currency
	}
	if t.ClockDomain != "" && !clockDomain.MatchString(t.ClockDomain) {
		f.fail(f.known["clock_domain"].at, "Wrong clock domain", "clock_domain is 1 to 64 letters, digits, points, underscores and dashes.")
	}
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

// baseURL is an absolute http or https URL. What readers of the artifact
// refuse is refused here, before anything is measured.
func (f *fields) baseURL() string {
	g, ok := f.known["base_url"]
	text := f.text("base_url")
	if !ok || text == "" {
		if ok && !f.bad {
			f.fail(g.at, "Wrong base_url", "base_url is empty; leave it out, or write the address up to and with /v1.")
		}
		return ""
	}
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
		f.l.quietFault(g.at, "Wrong base_url", "base_url: "+fault+".")
	} else {
		f.l.diags.fault(g.at, "Wrong base_url", "base_url: "+fault+".")
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
