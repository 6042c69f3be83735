package faultfs

import (
	"io/fs"
	"path/filepath"

	"atenia/internal/store/durable"
)

// A file is an open file whose calls count and fail, too. Its Read does not flip
// bits, because it does not know its offset.
type file struct {
	under durable.File
	fsys  *FS
}

func (f *file) Name() string { return f.under.Name() }

func (f *file) Read(b []byte) (int, error) {
	if err := f.fsys.call("read", f.Name(), false); err != nil {
		return 0, err
	}
	return f.under.Read(b)
}

func (f *file) ReadAt(b []byte, off int64) (int, error) {
	if err := f.fsys.call("read", f.Name(), false); err != nil {
		return 0, err
	}
	n, err := f.under.ReadAt(b, off)
	f.fsys.flip(f.Name(), off, b[:n])
	return n, err
}

func (f *file) Write(b []byte) (int, error) {
	return f.write(b, f.size(), f.under.Write)
}

func (f *file) WriteAt(b []byte, off int64) (int, error) {
	return f.write(b, off, func(b []byte) (int, error) { return f.under.WriteAt(b, off) })
}

// write is one write at an offset, which a fault may cut in half.
func (f *file) write(b []byte, off int64, write func([]byte) (int, error)) (n int, err error) {
	fault := f.fsys.call("write", f.Name(), true)
	if fault != nil && !f.fsys.tears() {
		return 0, fault
	}
	f.fsys.wrote(f.Name(), off)
	if fault != nil {
		n, _ = write(b[:len(b)/2])
		return n, fault
	}
	return write(b)
}

// size returns the offset of a write at the end.
func (f *file) size() int64 {
	st, err := f.under.Stat()
	if err != nil {
		return 0
	}
	return st.Size()
}

func (f *file) Stat() (fs.FileInfo, error) {
	if err := f.fsys.call("stat", f.Name(), false); err != nil {
		return nil, err
	}
	return f.under.Stat()
}

func (f *file) Chmod(mode fs.FileMode) error {
	if err := f.fsys.call("chmod", f.Name(), false); err != nil {
		return err
	}
	return f.under.Chmod(mode)
}

func (f *file) Truncate(size int64) error {
	if err := f.fsys.call("truncate", f.Name(), false); err != nil {
		return err
	}
	f.fsys.wrote(f.Name(), min(size, f.size()))
	return f.under.Truncate(size)
}

// Sync is only simulated: it records for PowerCut what is on disk.
func (f *file) Sync() error {
	f.fsys.synced()
	if err := f.fsys.call("sync", f.Name(), false); err != nil {
		return err
	}
	f.fsys.mu.Lock()
	defer f.fsys.mu.Unlock()
	delete(f.fsys.dirty, filepath.Clean(f.Name()))
	return nil
}

// Close closes the file even if it fails, as the end of a process does.
func (f *file) Close() error {
	fault := f.fsys.call("close", f.Name(), false)
	if err := f.under.Close(); fault == nil {
		return err
	}
	return fault
}
