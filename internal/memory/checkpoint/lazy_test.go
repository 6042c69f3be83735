package checkpoint

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/store/blob"
)

// BenchmarkLazy is the time from a checkpoint on the disk to the bytes of the
// first tensor, of 64 tensors of 1 MiB. With 64 of 16 MiB (1 GiB) set
// ATENIA_BENCH_MIB=16.
func BenchmarkLazy(b *testing.B) {
	mib := 1
	if s := os.Getenv("ATENIA_BENCH_MIB"); s != "" {
		if _, err := fmt.Sscan(s, &mib); err != nil {
			b.Fatal(err)
		}
	}
	root := b.TempDir()
	cache, err := blob.OpenCache(filepath.Join(root, "cache"), blob.Config{})
	if err != nil {
		b.Fatal(err)
	}
	m := memory.New(memory.Config{Cache: cache})
	data := bytes.Repeat([]byte("atenia! "), mib<<17)
	for i := range 64 {
		if _, err := m.RegisterData(fmt.Sprintf("layer.%d", i), data, memory.RAM); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := Save(b.Context(), root, m, 1, SaveOptions{Materialize: true}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m := memory.New(memory.Config{Cache: cache})
		if _, err := Restore(b.Context(), root, m, RestoreOptions{Lazy: true}); err != nil {
			b.Fatal(err)
		}
		if err := EnsureMaterialized(b.Context(), m, "layer.0"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(64*mib), "MiB")
}
