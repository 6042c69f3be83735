//go:build linux || darwin

package fault

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// mapTemp maps a new file of n bytes.
func mapTemp(t *testing.T, n int) (b []byte, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, n), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err = syscall.Mmap(int(f.Fd()), 0, n, syscall.PROT_READ, syscall.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	forget := Watch(b, path)
	t.Cleanup(func() {
		forget()
		if err := syscall.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	return b, path
}

// TestShrunk: a read behind the end of a file that was cut at a page is an error with
// the byte's offset, in Go, in assembly, in a system call and in a group; a read before
// it is none, and other panics pass.
func TestShrunk(t *testing.T) {
	page := os.Getpagesize()
	n := 8*page + 100
	b, path := mapTemp(t, n)
	if err := os.Truncate(path, int64(3*page)); err != nil {
		t.Fatal(err)
	}
	var sink byte
	read := func(at int) error {
		return Files(func() error {
			sink += b[at]
			return nil
		})
	}
	for _, at := range []int{0, 3*page - 1} {
		if err := read(at); err != nil {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	for _, at := range []int{3 * page, 3*page + 17, 7 * page, n - 1} {
		e, ok := errors.AsType[*ChangedError](read(at))
		if want := (ChangedError{path, int64(at), int64(n), int64(3 * page), false}); !ok || *e != want {
			t.Errorf("byte %d: %v, want %v", at, e, want)
		}
	}
	group := func() error {
		var g Group
		g.Go(func() { sink += b[5*page] })
		g.Wait()
		return nil
	}
	hash := func() error { sum := sha256.Sum256(b[page:]); sink += sum[0]; return nil }
	write := func() error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer r.Close()
		defer w.Close()
		go io.Copy(io.Discard, r)
		_, err = w.Write(b[2*page:])
		return err
	}
	for _, c := range []struct {
		name string
		f    func() error
		at   int
	}{{"group", group, 5 * page}, {"assembly", hash, 3 * page}, {"system call", write, 3 * page}} {
		for name, run := range map[string]func(func() error) error{"Files": Files, "Call": Call} {
			e, ok := errors.AsType[*ChangedError](run(c.f))
			if !ok || e.File != path || e.Offset != int64(c.at) {
				t.Errorf("%s of %s: %v, want byte %d", name, c.name, e, c.at)
			}
		}
	}
	defer func() {
		if v := recover(); v != "mine" {
			t.Errorf("another panic came as %v", v)
		}
	}()
	_ = Files(func() error { panic("mine") })
}

// TestGroup: the panic of a goroutine is its waiter's, and ends no process.
func TestGroup(t *testing.T) {
	err := Call(func() error {
		var g Group
		for i := range 4 {
			g.Go(func() {
				if i == 2 {
					panic("planted")
				}
			})
		}
		g.Wait()
		t.Error("Wait returned")
		return nil
	})
	if p, ok := errors.AsType[*Panic](err); !ok || p.Value != "planted" {
		t.Errorf("%v", err)
	}
}
