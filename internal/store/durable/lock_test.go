package durable_test

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"atenia/internal/store/durable"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var wg sync.WaitGroup
	var holders, most, counted atomic.Int32 // the race detector knows nothing of this lock
	for range 8 {
		wg.Go(func() {
			for range 50 {
				release, err := durable.Lock(path)
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n > most.Load() {
					most.Store(n)
				}
				counted.Add(1)
				holders.Add(-1)
				if err := release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 || counted.Load() != 400 {
		t.Errorf("%d at once, %d in all", most.Load(), counted.Load())
	}
	if _, err := durable.Lock(filepath.Join(path, "below a file")); err == nil {
		t.Error("locked a file that cannot be made")
	}
}
