package summary

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"anvilsweep/sweep/artifact"
)

// BenchmarkTenThousand reads ten thousand artifacts of ten requests and makes
// their tables. live-MB is what is held when they are made.
func BenchmarkTenThousand(b *testing.B) {
	dir := b.TempDir()
	for i := range 10_000 {
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
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		docs, err := artifact.Figures([]string{dir}, artifact.Keep{})
		if err != nil {
			b.Fatal(err)
		}
		s, err := Build(docs, Options{})
		if err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "live-MB")
		runtime.KeepAlive(docs)
		runtime.KeepAlive(s)
	}
}
