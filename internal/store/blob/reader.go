package blob

import (
	"context"
	"errors"
	"hash/crc32"

	"atenia/internal/store/durable"
)

// align is the alignment of a [reader]'s buffers and the multiple that their
// lengths are rounded up to.
const align = durable.Align

// A reader reads files with direct I/O, bypassing the page cache, several chunks
// at once, into buffers owned by the caller. It is safe for concurrent use; all
// calls share its queue depth.
type reader struct{ q *durable.Queue }

// newReader returns a reader with depth reads in flight; 2 to 4 saturate a disk.
func newReader(depth int) *reader { return &reader{durable.NewQueue(depth)} }

// Read reads and decodes a file. dst must have room for the whole file; if the
// file is not encoded, the result is a slice of dst. Each chunk is verified
// while others are read. Corrupt bytes are [ErrInvalid]. When ctx ends, Read
// returns as soon as the reads in flight complete.
func (r *reader) Read(ctx context.Context, path string, m Meta, dst []byte) ([]byte, error) {
	f, err := durable.OpenDirect(path)
	if err != nil {
		return nil, err
	}
	f.Drop()
	data, err := r.read(ctx, f, m, dst)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return data, nil
}

func (r *reader) read(ctx context.Context, f *durable.DirectFile, m Meta, dst []byte) ([]byte, error) {
	size := f.Size()
	chunks := int((size + chunkBytes - 1) / chunkBytes)
	known := m.Hash != (Hash{})
	switch {
	case m.Codec == None && uint64(size) != m.OriginalBytes:
		return nil, lengthMismatch(m.OriginalBytes, uint64(size))
	case known && chunks != len(m.Chunks):
		return nil, invalid("%s: length mismatch: %d chunks of %d bytes, want %d", f.Name(), chunks, chunkBytes, len(m.Chunks))
	case int64(len(dst)) < size:
		return nil, &durable.ExtentError{Name: f.Name(), Bytes: int(size), Why: "the buffer is too small"}
	}
	err := r.q.Do(ctx, chunks, func(ctx context.Context, i int) error {
		off := int64(i) * chunkBytes
		part, err := f.Read(ctx, dst[off:], off, int(min(size-off, chunkBytes)))
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
