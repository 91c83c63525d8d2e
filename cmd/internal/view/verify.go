package view

import (
	"fmt"
	"io"
	"strings"

	"anvilsweep/sweep/artifact"
	"anvilsweep/sweep/metrics"
)

// detailed is up to how many files each gets its own list of checks.
const detailed = 5

// Verify prints a line a file with its verdict and reasons, then what was
// checked in all.
func Verify(w io.Writer, reports []artifact.Report) {
	for _, r := range reports {
		fmt.Fprintln(w, verdict(r))
		if len(reports) > detailed {
			continue
		}
		for _, c := range r.Checks {
			fmt.Fprintf(w, "  checked %s %s\n", metrics.Count(int64(c.Count)), c.What)
		}
	}
	if len(reports) > detailed {
		fmt.Fprintln(w)
		checks(w, reports)
	}
	artifacts, manifests, journals := 0, 0, 0
	verdicts := map[string]int{}
	for _, r := range reports {
		verdicts[r.Verdict()]++
		switch r.Kind {
		case artifact.KindBenchmark:
			artifacts++
		case artifact.KindManifest:
			manifests++
		case artifact.KindJournal:
			journals++
		}
	}
	parts := []string{}
	for _, v := range []string{"accepted", "accepted with limitations", "refused", "not an artifact"} {
		if verdicts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", verdicts[v], v))
		}
	}
	files := plural(artifacts, "artifact") + ", " + plural(manifests, "manifest")
	if journals > 0 {
		files += ", " + plural(journals, "journal")
	}
	fmt.Fprintf(w, "%s: %s.\n", files, strings.Join(parts, ", "))
}

func verdict(r artifact.Report) string {
	text := r.Path + ": " + r.Verdict()
	if r.Generation != "" {
		text += " (" + r.Generation + ")"
	}
	var reasons []string
	if r.Kind == artifact.KindOther {
		reasons = append(reasons, r.Why)
	}
	const shown = 5
	for i, f := range r.Faults {
		if i == shown {
			reasons = append(reasons, fmt.Sprintf("and %d more", len(r.Faults)-shown))
			break
		}
		reasons = append(reasons, f)
	}
	reasons = append(reasons, r.Limitations...)
	if len(reasons) > 0 {
		text += ": " + strings.Join(reasons, "; ")
	}
	return line(text)
}

// checks sums the checks of all files up, in the order they first came.
func checks(w io.Writer, reports []artifact.Report) {
	var order []string
	sums := map[string]int{}
	for _, r := range reports {
		for _, c := range r.Checks {
			if _, seen := sums[c.What]; !seen {
				order = append(order, c.What)
			}
			sums[c.What] += c.Count
		}
	}
	for _, what := range order {
		fmt.Fprintf(w, "Checked %s %s.\n", metrics.Count(int64(sums[what])), what)
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
