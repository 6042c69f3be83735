package ring

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A readError says which bytes of which file could not be read. It unwraps to
// the cause.
type readError struct {
	File   string // name of the source
	Offset int64
	Bytes  int
	Err    error
}

func (e *readError) Error() string {
	return fmt.Sprintf("%s: %d bytes at %d: %v", e.File, e.Bytes, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *readError) Unwrap() error { return e.Err }

// ErrCorrupt matches errors about bytes that differ from those of their first
// read.
var ErrCorrupt = errors.New("the bytes are not those of the first read")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fetch reads a piece of a file at an offset into mem, both whole pages, of which
// the first need bytes must be there: the file may end soon after. Its errors are
// [*readError].
func fetch(f Source, mem []byte, offset int64, need int) error {
	n, err := f.ReadAt(mem, offset)
	switch {
	case n >= need:
		return nil
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return &readError{f.Name(), offset, need, ended(f, n)}
	}
	return &readError{f.Name(), offset, need, err}
}

// ended returns why a read of a file ended after n bytes: what became of its size, where the
// source knows it.
func ended(f Source, n int) error {
	if f, ok := f.(interface{ Same() error }); ok {
		if err := f.Same(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w after %d bytes: the file was cut", io.ErrUnexpectedEOF, n)
}

// fetch reads a piece and, with verify, compares it with its first read.
func (p *piece) fetch(files []Source, verify bool) error {
	f := files[p.file]
	if err := fetch(f, p.mem, p.offset, p.need); err != nil || !verify {
		return err
	}
	sum := crc32.Checksum(p.mem[:p.need], castagnoli)
	if p.summed && sum != p.sum {
		return &readError{f.Name(), p.offset, p.need, fmt.Errorf("%w: crc32c %08x, then %08x", ErrCorrupt, p.sum, sum)}
	}
	p.sum, p.summed = sum, true
	return nil
}
