package ring

import (
	"io"

	"atenia/internal/direct"
)

// PageBytes is what direct reads are aligned to: offsets, addresses, lengths.
const PageBytes = direct.Align

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
var ErrChanged = direct.ErrChanged

// A File is a [Source] on disk, opened for direct reads where the file system
// has them. Elsewhere it is read through the cache, which is then asked to
// forget what was read.
type File = direct.File

// Open opens a file. What the system's cache holds of it is given up: it would
// take memory beside what is read here.
func Open(path string) (*File, error) { return direct.Open(path) }
