// Package report makes pages that people open in a browser: of a set of results
// and of their history. A page is one file that needs no network, reads in light
// and dark, by keyboard and by screen reader, and prints. The same documents make
// the same bytes. Everything that comes from artifacts is text: html/template
// escapes it, and charts escape their labels.
//
// Charts are gonum's, drawn as SVG in colours that the page's style sheet sets.
//
// It may import sweep/artifact, sweep/compare, sweep/history, sweep/metrics and
// sweep/summary.
package report
