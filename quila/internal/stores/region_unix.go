//go:build unix

package stores

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"atenia/internal/store/durable"
)

// mapped is a region that is mapped from a file or a device.
type mapped struct {
	b    []byte
	file *os.File
}

// openRegion maps a file of so many bytes, which is made if there is none. A file of
// zeros appears whole or not at all.
func openRegion(path string, size int) (region, error) {
	if path == "" {
		return inRAM(make([]byte, size)), nil
	}
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
		if err = durable.WriteFileAt(nil, path, func(f durable.File) error { return f.Truncate(int64(size)) }); err != nil {
			return nil, err
		}
		st, err = os.Stat(path)
	}
	if err != nil {
		return nil, err
	}
	if st.Mode().IsRegular() && st.Size() != int64(size) {
		return nil, &vectorError{Op: "map", Path: path, Want: size / 4, Got: int(st.Size() / 4), Err: errPersonaShape}
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &mapped{b, f}, nil
}

func (m *mapped) bytes() []byte { return m.b }

// sync writes what has changed. The file's own sync also reaches the disk where the
// mapping's stops at the cache of the drive.
func (m *mapped) sync() error { return errors.Join(unix.Msync(m.b, unix.MS_SYNC), m.file.Sync()) }

func (m *mapped) close() error { return errors.Join(unix.Munmap(m.b), m.file.Close()) }
