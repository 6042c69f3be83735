package durable

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestOpenRegular(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := OpenRegular(name)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	if n, err := f.ReadAt(b, 1); string(b[:n]) != "ext" {
		t.Errorf("%q, %v", b[:n], err)
	}
	f.Close()
	if _, err := OpenRegular(dir); !isKind(err) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := OpenRegular(os.DevNull); !isKind(err) {
		t.Errorf("a device: %v", err)
	}
	if _, err := OpenRegular(filepath.Join(dir, "no")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func isKind(err error) bool {
	_, ok := errors.AsType[*KindError](err)
	return ok
}

func TestReadRegular(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	for _, n := range []int{0, 1, 511, 512, 100_000} {
		want := bytes.Repeat([]byte("x"), n)
		if err := os.WriteFile(name, want, 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadRegular(name, int64(n)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %d, %v", n, len(got), err)
		}
		if n == 0 {
			continue
		}
		_, err := ReadRegular(name, int64(n-1))
		if e, ok := errors.AsType[*SizeError](err); !ok || e.Bytes != int64(n) {
			t.Errorf("%d bytes where %d are allowed: %v", n, n-1, err)
		}
	}
	if err := os.Truncate(name, 1<<40); err != nil { // takes no room
		t.Fatal(err)
	}
	if _, err := ReadRegular(name, 1<<20); err == nil {
		t.Error("a sparse file of a terabyte was read")
	}
}
