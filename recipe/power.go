package recipe

import (
	"net/url"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// largestGPU is the highest number of a GPU on one machine.
const largestGPU = 1023

// power decodes where GPU readings come from.
func (l *loader) power(f *fields, content *hcl.BodyContent) *Power {
	blocks := content.Blocks.OfType("power")
	if len(blocks) == 0 {
		return nil
	}
	if len(blocks) > 1 {
		f.fail(blocks[1].DefRange, "Declared twice", "A tier has one power block.")
	}
	inner, _ := l.body(blocks[0], l.plainScope(), l.base, powerSchema)
	p := &Power{Exporter: inner.text("exporter"), Interval: inner.interval()}
	_, commanded := inner.known["command"]
	if commanded {
		p.Command = inner.command()
	}
	if commanded == (p.Exporter != "") && !inner.bad {
		inner.fail(blocks[0].DefRange, "Where from", "power needs either command, a program that prints readings, or exporter, the URL of a DCGM exporter.")
	}
	if u, err := url.Parse(p.Exporter); p.Exporter != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil) {
		inner.fail(inner.known["exporter"].at, "Wrong exporter", "exporter is an absolute http or https URL without a user, such as http://127.0.0.1:9400/metrics.")
	}
	if g, ok := inner.known["gpus"]; ok {
		for _, v := range inner.elements("gpus", g) {
			n, err := wholeNumber(v.value)
			if err != nil || n < 0 || n > largestGPU || slices.Contains(p.GPUs, n) {
				inner.fail(v.at, "Wrong GPU", "gpus is a list of different numbers from 0 to %d.", largestGPU)
				break
			}
			p.GPUs = append(p.GPUs, n)
		}
	}
	f.bad = f.bad || inner.bad
	return p
}
