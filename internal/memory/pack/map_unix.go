//go:build unix

package pack

import (
	"golang.org/x/sys/unix"

	"atenia/internal/fault"
	"atenia/internal/store/durable"
)

// mapFile makes the bytes of a file readable.
func mapFile(path string) (b []byte, unmap func() error, err error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() // the mapping keeps the file
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	n := int(st.Size())
	if n == 0 || int64(n) != st.Size() {
		return nil, func() error { return nil }, nil
	}
	b, err = unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	forget := fault.Watch(b, path)
	return b, func() error {
		forget()
		return unix.Munmap(b)
	}, nil
}
