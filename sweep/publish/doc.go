// Package publish makes a copy of results that may leave the house: URLs, host
// names, addresses, ports, absolute paths, keys and mail addresses are taken out
// of every file, sizes and SHA-256 in manifests and aggregates are made to fit
// again, so that the copy verifies, and a ledger names every file with its
// SHA-256.
//
// A host becomes host-1, host-2 and so on, the same one everywhere: which cells
// were measured against one server can still be seen.
//
// It may import sweep/artifact.
package publish
