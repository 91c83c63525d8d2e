package summary

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"anvilsweep/sweep/artifact"
)

// BenchmarkReadAndBuild reads a thousand artifacts of ten requests and makes
// their tables.
func BenchmarkReadAndBuild(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		c := cell{model: "m", tier: "t" + strconv.Itoa(i%4), context: 512 << (i % 5), concurrency: 1 + i%50, ttft: 10 + i, requests: 10, cacheMode: "unique"}
		a, err := artifact.Build(c.input())
		if err != nil {
			b.Fatal(err)
		}
		data, err := a.Bytes()
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)+".json"), data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		docs, err := artifact.Collect([]string{dir})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Build(docs, nil); err != nil {
			b.Fatal(err)
		}
	}
}
