package ring

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A ReadError says which bytes of which file could not be read. It unwraps to
// the cause.
type ReadError struct {
	File   string // name of the source
	Offset int64
	Bytes  int
	Err    error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("%s: %d bytes at %d: %v", e.File, e.Bytes, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// ErrCorrupt matches errors about bytes that differ from those of their first
// read.
var ErrCorrupt = errors.New("the bytes are not those of the first read")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fetch reads a piece and, with verify, compares it with its first read.
func (p *piece) fetch(files []Source, verify bool) error {
	f := files[p.file]
	n, err := f.ReadAt(p.mem, p.offset)
	switch {
	case n >= p.need: // the file may end soon after
	case err == nil || errors.Is(err, io.EOF):
		return &ReadError{f.Name(), p.offset, p.need, fmt.Errorf("%w after %d bytes: the file was cut", io.ErrUnexpectedEOF, n)}
	default:
		return &ReadError{f.Name(), p.offset, p.need, err}
	}
	if !verify {
		return nil
	}
	sum := crc32.Checksum(p.mem[:p.need], castagnoli)
	if p.summed && sum != p.sum {
		return &ReadError{f.Name(), p.offset, p.need, fmt.Errorf("%w: crc32c %08x, then %08x", ErrCorrupt, p.sum, sum)}
	}
	p.sum, p.summed = sum, true
	return nil
}
