package checkpoint_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"atenia/internal/memory"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/store/blob"
)

// A tensor that should be in VRAM is saved and restored on a machine without a
// device, and a warm start advises on it.
func Example() {
	dir, err := os.MkdirTemp("", "checkpoint")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	cache, err := blob.OpenCache(filepath.Join(dir, "cache"), blob.Config{})
	if err != nil {
		log.Fatal(err)
	}
	m := memory.New(memory.Config{Cache: cache})
	if _, err := m.RegisterData("w", []byte("weights"), memory.RAM); err != nil {
		log.Fatal(err)
	}
	want := memory.VRAM
	m.SetHint("w", memory.Hint{Desired: &want, Summary: "run on GPU", HasSummary: true})
	saved, err := checkpoint.Save(ctx, dir, m, 1234, checkpoint.SaveOptions{Materialize: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(saved.Written, "cache entries written")

	m = memory.New(memory.Config{Cache: cache})
	r, err := checkpoint.Restore(ctx, dir, m, checkpoint.RestoreOptions{Lazy: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range r.Reports[0].Drifts {
		fmt.Println(d)
	}
	p := checkpoint.PlanWarmStart(m, r.Manifest.Entries, r.Reports, false, checkpoint.DefaultRules)
	fmt.Println(p.Summary, "-", p.Decisions[0].Reason)
	data, err := m.Bytes("w")
	fmt.Printf("%s %v\n", data, err)
	// Output:
	// 1 cache entries written
	// MissingBackend: Vram is desired and no device computes
	// TierDowngrade: Vram is desired, restored to Ram (BackendMissing)
	// PlanMismatch: planned "run on GPU" and no GPU computes
	// warm_start: keep=0 promote=0 degrade=1 - Tier downgraded from Vram to Ram during restore drift
	// weights <nil>
}
