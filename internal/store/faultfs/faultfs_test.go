package faultfs_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"atenia/internal/store/durable"
	"atenia/internal/store/faultfs"
)

// save makes five calls: open, write, stat, sync, close.
func save(fsys durable.FS, path string, sync bool) error {
	f, err := fsys.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte("12345678"))
	_, err2 := f.Stat()
	err = errors.Join(err, err2)
	if sync {
		err = errors.Join(err, f.Sync())
	}
	return errors.Join(err, f.Close())
}

func TestEach(t *testing.T) {
	for _, c := range []struct {
		fault  faultfs.Fault
		rounds int
		errs   int
		full   bool
	}{{faultfs.Fail, 6, 5, false}, {faultfs.Stop, 6, 5, false}, {faultfs.Torn, 6, 5, false}, {faultfs.Full, 6, 2, true}} {
		rounds, errs := 0, 0
		for n, fsys := range faultfs.Each(c.fault) {
			rounds++
			err := save(fsys, filepath.Join(t.TempDir(), "f"), true)
			if err != nil {
				errs++
			}
			if err != nil && errors.Is(err, syscall.ENOSPC) != c.full {
				t.Errorf("fault %d, call %d: %v", c.fault, n, err)
			}
			if !fsys.Hit() && fsys.Calls() != 5 {
				t.Errorf("%d calls", fsys.Calls())
			}
		}
		if rounds != c.rounds || errs != c.errs {
			t.Errorf("fault %d: %d rounds, %d errors", c.fault, rounds, errs)
		}
	}
}

func TestWhatIsLeft(t *testing.T) {
	size := func(path string) int {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return len(b)
	}
	path := filepath.Join(t.TempDir(), "f")
	if _ = save(faultfs.New(2, faultfs.Torn), path, true); size(path) != 4 {
		t.Errorf("a torn write left %d bytes", size(path))
	}
	for _, sync := range []bool{true, false} {
		fsys, path := faultfs.New(0, faultfs.Stop), filepath.Join(t.TempDir(), "f")
		if err := save(fsys, path, sync); err != nil {
			t.Fatal(err)
		}
		moved := path + "2"
		if err := fsys.Rename(path, moved); err != nil {
			t.Fatal(err)
		}
		fsys.PowerCut()
		if got := size(moved); (got == 8) != sync {
			t.Errorf("synced %v: %d bytes after a power cut", sync, got)
		}
	}
}

func TestFlipBit(t *testing.T) {
	fsys, path := faultfs.New(0, faultfs.Fail), filepath.Join(t.TempDir(), "f")
	if err := save(fsys, path, true); err != nil {
		t.Fatal(err)
	}
	fsys.FlipBit(path, 9)
	b, err := fsys.ReadFile(path)
	if err != nil || !bytes.Equal(b, []byte("10345678")) {
		t.Errorf("read %q, %v", b, err)
	}
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make([]byte, 2)
	if _, err := f.ReadAt(got, 1); err != nil || string(got) != "03" {
		t.Errorf("read %q, %v", got, err)
	}
}
