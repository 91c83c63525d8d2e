package recipe

import "github.com/hashicorp/hcl/v2"

// Abort ends a cell that can no longer be worth its time.
type Abort struct {
	After       int     // responses that are looked at first; 0: never
	ErrorRate   float64 // share of failures at which the cell ends; 1 when not said: all of them
	AtMaxTokens bool    // and where every response ran into max_tokens
}

var abortSchema = schemaOf("after error_rate at_max_tokens")

// defaultAfter is how many failures in a row a cell has before it ends, where
// the recipe does not say.
const defaultAfter = 16

func (l *loader) abort(f *fields, content *hcl.BodyContent) Abort {
	out := Abort{After: defaultAfter, ErrorRate: 1}
	blocks := content.Blocks.OfType("abort")
	if len(blocks) == 0 {
		return out
	}
	if len(blocks) > 1 {
		f.fail(blocks[1].DefRange, "Declared twice", "A sweep has one abort block.")
	}
	inner, _ := l.body(blocks[0], l.plainScope(), l.base, abortSchema)
	out.After = inner.whole("after", 0, maxRequests, defaultAfter)
	out.AtMaxTokens = inner.flag("at_max_tokens", false)
	if rate := inner.decimal("error_rate", 0, 1); rate != nil {
		if out.ErrorRate = *rate; *rate == 0 {
			inner.fail(inner.known["error_rate"].at, "Wrong error_rate", "error_rate is a share above 0, up to 1; after = 0 switches the rule off.")
		}
	}
	f.bad = f.bad || inner.bad
	return out
}
