package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"anvilsweep/sweep/metrics"
	"anvilsweep/sweep/publish"
)

// Published says what a copy holds, what was taken out and what stayed behind.
func Published(w io.Writer, r *publish.Result, out string) {
	fmt.Fprintf(w, "%s, %s bytes in %s, named in %s.\n", plural(r.Files, "file"), metrics.Count(r.Bytes), line(out), publish.LedgerName)
	var taken []string
	for _, kind := range slices.Sorted(maps.Keys(r.Taken)) {
		taken = append(taken, fmt.Sprintf("%s %s", metrics.Count(int64(r.Taken[kind])), kind))
	}
	if len(taken) == 0 {
		taken = []string{"nothing"}
	}
	fmt.Fprintf(w, "Taken out: %s; %s.\n", strings.Join(taken, ", "), plural(r.Hosts, "different host"))
	left := grouped{}
	for _, l := range r.LeftOut {
		path, why, _ := strings.Cut(l, ": ")
		left.add(why, path)
	}
	for _, why := range left.order {
		fmt.Fprintf(w, "Stayed behind, %s: %s\n", line(why), line(left.names(why)))
	}
}
