package ring

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// PageBytes is what direct reads are aligned to: offsets, addresses, lengths.
const PageBytes = 4096

// A Source is a file that units come from. ReadAt may be called by several
// goroutines; offsets, lengths and addresses are multiples of [PageBytes], and
// the end of the file is [io.EOF] after the bytes before it.
type Source interface {
	io.ReaderAt
	// Same returns an error that matches [ErrChanged] if the file is not what
	// it was when it was opened.
	Same() error
	// Size returns the bytes of the file when it was opened.
	Size() int64
	Name() string // for errors: the path
}

// ErrChanged matches errors about a file that is not what it was before.
var ErrChanged = errors.New("the file changed while it was in use")

// A File is a [Source] on disk, opened for direct reads where the file system
// has them. Elsewhere it is read through the cache, which is then asked to
// forget what was read.
type File struct {
	f      *os.File
	direct bool
	size   int64
	mod    int64 // Unix time in nanoseconds
}

// Open opens a file. What the system's cache holds of it is given up: it would
// take memory beside what is read here.
func Open(path string) (*File, error) {
	f, direct, err := openDirect(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	forget(f, 0, 0)
	return &File{f, direct, st.Size(), st.ModTime().UnixNano()}, nil
}

// Direct reports whether reads bypass the system's cache.
func (f *File) Direct() bool { return f.direct }

// Size returns the bytes of the file when it was opened.
func (f *File) Size() int64 { return f.size }

// Name returns the path.
func (f *File) Name() string { return f.f.Name() }

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// ReadAt implements [io.ReaderAt] for aligned pieces.
func (f *File) ReadAt(p []byte, off int64) (n int, err error) {
	// A direct read must not go on from the odd place where the file ends, so
	// the end is known beforehand.
	want := int(min(int64(len(p)), max(0, f.size-off)))
	for n < want && err == nil {
		var k int
		k, err = readOnce(f.f, p[n:], off+int64(n))
		if k == 0 && err == nil {
			err = io.ErrUnexpectedEOF // it was cut since
		}
		n += k
	}
	if !f.direct && n > 0 {
		forget(f.f, off, int64(n))
	}
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// Same compares size and time with those at the start.
func (f *File) Same() error {
	size, mod, err := stat(f.f)
	if err != nil {
		return fmt.Errorf("%s: %w", f.f.Name(), err)
	}
	if size != f.size || mod != f.mod {
		return fmt.Errorf("%s: %w: %d bytes of %s, want %d of %s; open it again", f.f.Name(), ErrChanged,
			size, time.Unix(0, mod).UTC().Format(time.RFC3339Nano), f.size, time.Unix(0, f.mod).UTC().Format(time.RFC3339Nano))
	}
	return nil
}
