package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"atenia/internal/fault"
)

// Align is the required alignment of offsets, lengths and addresses.
const Align = 4096

// stepBytes is the size of one system call: large enough for a disk's full
// speed, small enough that a cancelled read ends soon.
const stepBytes = 1 << 20

// An ExtentError says why an extent cannot be read into a buffer.
type ExtentError struct {
	Name  string
	Off   int64
	Bytes int
	Why   string
}

func (e *ExtentError) Error() string {
	return fmt.Sprintf("%s: %d bytes at offset %d: %s", e.Name, e.Bytes, e.Off, e.Why)
}

// A DirectFile is open for reading. It is safe for concurrent use.
type DirectFile struct {
	f      *os.File
	direct bool
	size   int64
	mod    int64 // Unix time in nanoseconds
}

// OpenDirect opens a regular file. What the page cache has of it stays there, unless
// reads go through it: see [DirectFile.Drop].
func OpenDirect(path string) (*DirectFile, error) {
	f, direct, err := openDirect(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s: want a regular file, got %v", path, st.Mode().Type())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	d := &DirectFile{f, direct, st.Size(), st.ModTime().UnixNano()}
	if !direct {
		d.Drop()
	}
	return d, nil
}

// Drop drops the file's pages from the page cache, where the system supports that:
// reads of others wait for the disk afterwards.
func (f *DirectFile) Drop() { dropCache(f.f, 0, 0) }

// Name returns the path that the file was opened by.
func (f *DirectFile) Name() string { return f.f.Name() }

// Direct reports whether reads bypass the page cache.
func (f *DirectFile) Direct() bool { return f.direct }

// Size returns the size of the file when it was opened.
func (f *DirectFile) Size() int64 { return f.size }

// Close closes the file.
func (f *DirectFile) Close() error { return f.f.Close() }

// Same returns a [*fault.ChangedError] if the size or the time of the
// file has changed since it was opened.
func (f *DirectFile) Same() error {
	size, mod, err := stat(f.f)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	if size != f.size || mod != f.mod {
		e := &fault.ChangedError{File: f.Name(), Was: f.size, Now: size, Streamed: true}
		if size < f.size {
			e.Offset = size
		}
		return e
	}
	return nil
}

// span returns the size of the buffer for reading an extent.
func span(off int64, n int) int {
	if n <= 0 {
		return 0
	}
	return int((off+int64(n)+Align-1)&^(Align-1) - off&^(Align-1))
}

// Read reads n bytes at an offset and returns them as a slice of dst, which must
// start at a multiple of [Align] and have at least [span] bytes. When ctx ends
// it returns after the current system call.
func (f *DirectFile) Read(ctx context.Context, dst []byte, off int64, n int) ([]byte, error) {
	if err := f.check(dst, off, n); err != nil {
		return nil, err
	}
	if n == 0 {
		return dst[:0:0], nil
	}
	skip := int(off & (Align - 1))
	window := dst[:span(off, n)]
	start := off - int64(skip)
	for at := 0; at < skip+n; at += stepBytes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		step := window[at:min(at+stepBytes, len(window))]
		if _, err := f.ReadAt(step, start+int64(at)); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read %s: %d bytes at offset %d: %w", f.Name(), n, off, err)
		}
	}
	return window[skip:][:n:n], nil
}

func (f *DirectFile) check(dst []byte, off int64, n int) error {
	why := ""
	switch {
	case n < 0 || off < 0 || off > f.size || int64(n) > f.size-off:
		why = fmt.Sprintf("the file has %d", f.size)
	case len(dst) < span(off, n):
		why = fmt.Sprintf("the buffer has %d bytes, want %d", len(dst), span(off, n))
	case uintptr(unsafe.Pointer(unsafe.SliceData(dst)))%Align != 0 && n > 0:
		why = fmt.Sprintf("the buffer does not start at a multiple of %d", Align)
	default:
		return nil
	}
	return &ExtentError{f.Name(), off, n, why}
}

// ReadAt implements [io.ReaderAt] for offsets, lengths and addresses that are
// multiples of [Align].
func (f *DirectFile) ReadAt(p []byte, off int64) (n int, err error) {
	// A direct read must not continue at the unaligned end of the file, so the end
	// is computed beforehand.
	want := int(min(int64(len(p)), max(0, f.size-off)))
	for n < want {
		at := n &^ (Align - 1) // a short read may end anywhere
		k, err := readOnce(f.f, p[at:], off+int64(at))
		if err == nil && at+k <= n {
			err = io.ErrUnexpectedEOF // truncated since
		}
		if err != nil {
			return n, err
		}
		n = at + k
	}
	if !f.direct && n > 0 {
		dropCache(f.f, off, int64(n))
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
