// Package sweep turns a recipe into cells and cells into artifacts.
//
// NewPlan expands every sweep of a recipe into an ordered matrix of cells,
// each a plain value with an id and a digest; nothing is sent. A Runner runs
// the cells of a plan one after the other: it opens the endpoint a cell needs,
// keeps as many requests in flight as the cell's concurrency says (a closed
// loop), and writes one artifact a cell, then the manifest. An artifact is on
// disk, whole, before the manifest names it. What the recipe's rules say of a
// cell decides which are run after it (rules.go). An engine with a launch is
// started and ended here (launch.go). While it measures, the client
// is watched too (watch.go, gather.go).
//
// It may import recipe, client, client/prompt, client/simengine (one kind of
// engine), sweep/artifact and sweep/metrics. It knows no flags, no terminal
// and no environment: they are handed in.
package sweep
