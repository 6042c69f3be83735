package durable

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"atenia/internal/fault"
	"atenia/internal/machine/ledger"
)

// testFile writes random bytes to a file and opens it.
func testFile(t *testing.T, dir string, size int) (*DirectFile, []byte) {
	t.Helper()
	data := make([]byte, size)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(data)
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenDirect(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, data
}

func buffer(t *testing.T, n int) []byte {
	t.Helper()
	b, err := ledger.NewBlock(ledger.Process, ledger.Scratch, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Release)
	return b.Bytes
}

func TestExtents(t *testing.T) {
	dirs := map[string]string{"disk": t.TempDir()}
	if dir, err := os.MkdirTemp("/dev/shm", "direct"); err == nil { // mostly without O_DIRECT
		t.Cleanup(func() { os.RemoveAll(dir) })
		dirs["memory"] = dir
	}
	for name, dir := range dirs {
		t.Run(name, func(t *testing.T) {
			f, data := testFile(t, dir, 3*stepBytes+1234)
			t.Logf("direct: %v", f.Direct())
			buf := buffer(t, 4*stepBytes)
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range 200 {
				off := rng.IntN(len(data) + 1)
				n := rng.IntN(len(data) - off + 1)
				switch i % 4 {
				case 0:
					n = min(n, 10)
				case 1:
					off &^= Align - 1
					n = min(Align, len(data)-off)
				case 2:
					n = len(data) - off
				}
				got, err := f.Read(t.Context(), buf, int64(off), n)
				if err != nil || !bytes.Equal(got, data[off:off+n]) {
					t.Fatalf("%d bytes at %d: %d bytes, %v", n, off, len(got), err)
				}
			}
			if err := f.Same(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	f, data := testFile(t, t.TempDir(), 10_000)
	buf := buffer(t, 20_000)
	for _, c := range []struct {
		dst []byte
		off int64
		n   int
	}{{buf, -1, 1}, {buf, 0, 10_001}, {buf, 10_001, 0}, {buf, 1, -1}, {buf[:4095], 0, 10}, {buf[:4096], 4095, 2}, {buf[1:], 0, 10}} {
		if _, err := f.Read(t.Context(), c.dst, c.off, c.n); err == nil {
			t.Errorf("%d bytes at %d into %d: no error", c.n, c.off, len(c.dst))
		} else if _, ok := errors.AsType[*ExtentError](err); !ok {
			t.Errorf("%d bytes at %d: %v", c.n, c.off, err)
		}
	}
	if got, err := f.Read(t.Context(), nil, 10_000, 0); err != nil || len(got) != 0 {
		t.Errorf("nothing at the end: %d bytes, %v", len(got), err)
	}
	if _, err := OpenDirect(t.TempDir()); err == nil {
		t.Error("opened a folder")
	}
	if _, err := OpenDirect("no such file"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Read(ctx, buf, 0, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := os.WriteFile(f.Name(), data[:5000], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Same(); !errors.Is(err, fault.ErrChanged) {
		t.Errorf("cut short: %v", err)
	}
	if _, err := f.Read(t.Context(), buf, 0, 10_000); err == nil {
		t.Error("read what is no longer there")
	}
}

func TestQueue(t *testing.T) {
	q := NewQueue(3)
	var running, most, done atomic.Int32
	err := q.Do(t.Context(), 50, func(context.Context, int) error {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		runtime.Gosched()
		running.Add(-1)
		done.Add(1)
		return nil
	})
	if err != nil || done.Load() != 50 || most.Load() > 3 {
		t.Errorf("%d done, %d at once, %v", done.Load(), most.Load(), err)
	}
	broken := errors.New("broken")
	done.Store(0)
	err = q.Do(t.Context(), 1000, func(ctx context.Context, i int) error {
		done.Add(1)
		switch {
		case i == 5:
			return broken
		case i > 5:
			<-ctx.Done() // or a late fifth task would see the others done
		}
		return nil
	})
	if !errors.Is(err, broken) || done.Load() > 5+3+1 {
		t.Errorf("%v after %d tasks", err, done.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = q.Do(ctx, 1000, func(ctx context.Context, i int) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func BenchmarkRead(b *testing.B) {
	path := os.Getenv("ATENIA_DIRECT_FILE")
	if path == "" {
		b.Skip("ATENIA_DIRECT_FILE names no large file to read")
	}
	f, err := OpenDirect(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	const size, depth = 4 << 20, 4
	mem, err := ledger.NewBlock(ledger.Process, ledger.Scratch, size*depth)
	if err != nil {
		b.Fatal(err)
	}
	defer mem.Release()
	q := NewQueue(depth)
	b.SetBytes(size * depth)
	off := int64(0)
	for b.Loop() {
		if off+size*depth > f.Size() {
			off = 0
		}
		if err := q.Do(b.Context(), depth, func(ctx context.Context, i int) error {
			_, err := f.Read(ctx, mem.Bytes[i*size:][:size], off+int64(i)*size, size)
			return err
		}); err != nil {
			b.Fatal(err)
		}
		off += size * depth
	}
}
