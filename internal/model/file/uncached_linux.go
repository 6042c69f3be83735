package file

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Uncached returns how many bytes of a file the page cache does not have, so that who
// reads them waits for the disk: 0 where that cannot be told.
func Uncached(path string) (n int64) {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return 0
	}
	const window = 1 << 30 // a byte a page says whether it is there
	page := int64(os.Getpagesize())
	there := make([]byte, (min(st.Size(), window)+page-1)/page)
	for at := int64(0); at < st.Size(); at += window {
		b, err := unix.Mmap(int(f.Fd()), at, int(min(st.Size()-at, window)), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return 0
		}
		size := uintptr(len(b))
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(b))), size, uintptr(unsafe.Pointer(unsafe.SliceData(there))))
		if err := unix.Munmap(b); err != nil || errno != 0 {
			return 0
		}
		for i := int64(0); i*page < int64(size); i++ {
			if there[i]&1 == 0 {
				n += min(page, int64(size)-i*page)
			}
		}
	}
	return n
}
