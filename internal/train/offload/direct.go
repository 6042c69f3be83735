package offload

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"atenia/internal/store/durable"
)

// page is the alignment of offsets, lengths and buffers for direct I/O. The
// state bypasses the page cache because a chunk is next needed one step later,
// when everything else has passed through: caching it would only take memory
// from the caller. Files are padded to a whole page.
const page = 4096

// pages rounds up to whole pages.
func pages(n int) int { return (n + page - 1) / page * page }

// paged returns n bytes, a multiple of a page, aligned to a page.
func paged(n int) []byte {
	b := make([]byte, n+page)
	skip := -uintptr(unsafe.Pointer(&b[0])) % page
	return b[skip : skip+uintptr(n) : skip+uintptr(n)]
}

// open opens a file for direct I/O, or through the page cache if the file system
// does not support that.
func open(fsys durable.FS, name string, flag int, mode fs.FileMode) (durable.File, error) {
	if directFlag == 0 {
		return fsys.OpenFile(name, flag, mode)
	}
	f, err := fsys.OpenFile(name, flag|directFlag, mode)
	if errors.Is(err, syscall.EINVAL) {
		f, err = fsys.OpenFile(name, flag, mode)
	}
	return f, err
}

// readFull reads len(b) bytes from the start of a file; b is whole pages.
func readFull(fsys durable.FS, name string, b []byte) error {
	f, err := open(fsys, name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return short(name, err)
	}
	return nil
}
