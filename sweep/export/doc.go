// Package export turns artifacts into tables for other programs: CSV, JSON,
// Parquet, and the format of Go's benchmarks, which benchstat reads.
//
// Flow: documents → one record a run, each with its identity and figures → a
// writer. What is not there stays empty, never 0.
//
// It may import artifact, and owns parquet-go.
package export
