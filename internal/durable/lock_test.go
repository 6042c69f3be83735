package durable_test

import (
	"path/filepath"
	"sync"
	"testing"

	"atenia/internal/durable"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var wg sync.WaitGroup
	holders, most, counted := 0, 0, 0 // only those with the lock touch them
	for range 8 {
		wg.Go(func() {
			for range 50 {
				release, err := durable.Lock(path)
				if err != nil {
					t.Error(err)
					return
				}
				holders++
				most, counted = max(most, holders), counted+1
				holders--
				if err := release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if most != 1 || counted != 400 {
		t.Errorf("%d at once, %d in all", most, counted)
	}
	if _, err := durable.Lock(filepath.Join(path, "below a file")); err == nil {
		t.Error("locked a file that cannot be made")
	}
}
