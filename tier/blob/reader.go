package blob

import (
	"context"
	"errors"
	"hash/crc32"

	"atenia/internal/direct"
)

// Align is what buffers of a [Reader] start at multiples of, and what their
// lengths are rounded up to.
const Align = direct.Align

// A Reader reads files past the system's cache, several chunks at once, into
// memory that the caller keeps. It may be used by several goroutines, which
// share its depth.
type Reader struct{ q *direct.Queue }

// NewReader returns a reader with so many reads in flight: 2 to 4 use a disk
// in full.
func NewReader(depth int) *Reader { return &Reader{direct.NewQueue(depth)} }

// Read reads and decodes a file. The buffer has room for the whole file; what
// is not encoded is returned as a part of it. Each chunk is checked while
// others are read. Bytes that are not what the description says are
// [ErrInvalid]. When ctx ends, it returns as soon as the reads in flight do.
func (r *Reader) Read(ctx context.Context, path string, m Meta, dst []byte) ([]byte, error) {
	f, err := direct.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := r.read(ctx, f, m, dst)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return data, nil
}

func (r *Reader) read(ctx context.Context, f *direct.File, m Meta, dst []byte) ([]byte, error) {
	size := f.Size()
	chunks := int((size + ChunkBytes - 1) / ChunkBytes)
	known := m.Hash != (Hash{})
	switch {
	case m.Codec == None && uint64(size) != m.OriginalBytes:
		return nil, lengthMismatch(m.OriginalBytes, uint64(size))
	case known && chunks != len(m.Chunks):
		return nil, invalid("%s: length mismatch: %d chunks of %d bytes, want %d", f.Name(), chunks, ChunkBytes, len(m.Chunks))
	case int64(len(dst)) < size:
		return nil, &direct.ExtentError{Name: f.Name(), Bytes: int(size), Why: "the buffer is too small"}
	}
	err := r.q.Do(ctx, chunks, func(ctx context.Context, i int) error {
		off := int64(i) * ChunkBytes
		part, err := f.Read(ctx, dst[off:], off, int(min(size-off, ChunkBytes)))
		if err != nil || !known {
			return err
		}
		if got := crc32.Checksum(part, castagnoli); got != m.Chunks[i] {
			return invalid("%s: checksum mismatch in %d bytes at offset %d: want %08x, got %08x", f.Name(), len(part), off, m.Chunks[i], got)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return Decode(m.Codec, dst[:size:size], m.OriginalBytes)
}
