//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package file

import (
	"io"
	"os"
)

// mapBytes reads the whole file, because mapping is not available.
func mapBytes(f *os.File, n int) (data []byte, unmap func() error, err error) {
	data = make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, int64(n)), data); err != nil {
		return nil, nil, err
	}
	return data, func() error { return nil }, nil
}

// advise does nothing.
func advise([]byte, Advice) error { return nil }

// wholePages returns nil: there are no mapped pages.
func wholePages([]byte) []byte { return nil }

func release([]byte, bool) {}
