//go:build linux || darwin

package pool

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"atenia/internal/fault"
)

// A lostReader reads a byte in share 1, for which the caller waits in share 0, so that
// a worker reads it.
type lostReader struct {
	b     []byte
	at    int
	began atomic.Bool
	sink  atomic.Int32
}

func (l *lostReader) Run(worker, _ int) {
	if worker == 0 {
		hold(l.began.Load)
		return
	}
	l.began.Store(true)
	l.sink.Add(int32(l.b[l.at]))
}

// TestLostBytes: a worker reads a byte of a mapped file that was cut. The caller learns
// which, and the pool goes on.
func TestLostBytes(t *testing.T) {
	page := os.Getpagesize()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 4*page), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := syscall.Mmap(int(f.Fd()), 0, 4*page, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(b)
	defer fault.Watch(b, path)()
	if err := os.Truncate(path, int64(page)); err != nil {
		t.Fatal(err)
	}
	p := newPool(t, 2)
	l := &lostReader{b: b}
	for i := range 20 {
		l.at = i % 4 * page
		l.began.Store(false)
		err := fault.Files(func() error {
			p.Do(l)
			return nil
		})
		e, ok := errors.AsType[*fault.ChangedError](err)
		if ok != (l.at > 0) || ok && e.Offset != int64(l.at) {
			t.Fatalf("byte %d: %v", l.at, err)
		}
	}
}
