// Package history follows one figure of each cell over many nights: where its
// level changed, and what of the recipe and the server changed with it.
//
// A night is a results folder; runs outside of one are taken together by the UTC
// day they began on. A point is the median of the night's runs of a cell. Points
// with failed requests, or that the client limited, are shown and not used.
//
// A level changes where Pettitt's test says so: of all ways to part the points
// in two, in their order, the one with the largest |U|, the Mann-Whitney
// statistic of the two parts; its p-value is the share of random orders of the
// same points with one as large (10,000 orders, from a fixed seed). Each part is
// searched again. Where the work itself changed, such as the prompts or the
// output policy, points before and after are never held against each other.
//
// It may import sweep/artifact, sweep/compare and sweep/metrics.
package history
