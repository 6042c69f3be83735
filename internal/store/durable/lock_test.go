package durable_test

import (
	"os"
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

// TestLockOfLink: a link that points nowhere gives way to a file of locks; what it points to
// is not made.
func TestLockOfLink(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "lock"), filepath.Join(dir, "other")
	if err := os.Symlink("other", path); err != nil {
		t.Skip(err)
	}
	release, err := durable.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
		t.Error(st, err)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("the file was made that the link points to")
	}
}

// TestHeld: asking who has a lock does not take it from anyone, makes no file, and says
// that it knows nothing of a file that is not there.
func TestHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	want := func(held, known bool) {
		t.Helper()
		if h, k := durable.Held(path); h != held || k != known {
			t.Errorf("held %t, known %t, want %t, %t", h, k, held, known)
		}
	}
	want(false, false)
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was made")
	}
	release, err := durable.TryLock(path)
	if err != nil {
		t.Skip(err)
	}
	want(true, true)
	if err := release(); err != nil {
		t.Fatal(err)
	}
	want(false, true)
	shared, err := durable.LockShared(path)
	if err != nil {
		t.Fatal(err)
	}
	want(false, true)
	if err := shared(); err != nil {
		t.Fatal(err)
	}
}
