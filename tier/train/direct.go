package train

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"atenia/internal/durable"
)

// page is what offsets, lengths and buffers are multiples of where files are
// read and written past the system's cache. What a step touches is next needed
// a step later, when everything else has been in between; the cache would only
// take the memory that the caller has too little of. Files end at a whole page.
const page = 4096

// pages rounds up to whole pages.
func pages(n int) int { return (n + page - 1) / page * page }

// paged returns n bytes, a multiple of a page, that begin at one.
func paged(n int) []byte {
	b := make([]byte, n+page)
	skip := -uintptr(unsafe.Pointer(&b[0])) % page
	return b[skip : skip+uintptr(n) : skip+uintptr(n)]
}

// open opens a file past the cache, or, where its file system cannot do that,
// through it.
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

// readFull reads the beginning of a file; b is whole pages.
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
