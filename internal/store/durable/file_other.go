//go:build !linux

package durable

import (
	"errors"
	"io"
	"os"
)

// openDirect opens a file for ordinary reads: direct I/O differs too much between
// these systems.
func openDirect(path string) (f *os.File, direct bool, err error) {
	f, err = os.Open(path)
	return f, false, err
}

func dropCache(*os.File, int64, int64) {}

func readOnce(f *os.File, p []byte, off int64) (int, error) {
	n, err := f.ReadAt(p, off)
	if errors.Is(err, io.EOF) {
		err = nil // the caller knows the end
	}
	return n, err
}

// stat returns the size and the modification time of a file.
func stat(f *os.File) (size, mod int64, err error) {
	st, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	return st.Size(), st.ModTime().UnixNano(), nil
}
