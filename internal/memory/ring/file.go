package ring

import (
	"io"

	"atenia/internal/store/durable"
)

// PageBytes is the alignment of direct reads: of offsets, addresses and lengths.
const PageBytes = durable.Align

// A Source is a file that units are read from. ReadAt must be safe for
// concurrent use; offsets, lengths and addresses are multiples of [PageBytes],
// and a read across the end of the file returns the bytes before it and
// [io.EOF].
type Source interface {
	io.ReaderAt
	// Same returns an error that matches [fault.ErrChanged] if the file has changed since
	// it was opened.
	Same() error
	// Size returns the size of the file when it was opened.
	Size() int64
	Name() string // for errors: the path
}

// A File is a [Source] on disk, opened for direct I/O where the file system
// supports it. Elsewhere it is read through the page cache, from which the pages
// are dropped after the read.
type File = durable.DirectFile

// Open opens a file. It drops the file's pages from the page cache, where they
// would take memory a second time.
func Open(path string) (*File, error) {
	f, err := durable.OpenDirect(path)
	if err != nil {
		return nil, err
	}
	f.Drop()
	return f, nil
}
