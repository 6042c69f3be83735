package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openDirect opens a file for direct I/O if its file system supports that.
func openDirect(path string) (f *os.File, direct bool, err error) {
	f, err = os.OpenFile(path, os.O_RDONLY|unix.O_DIRECT, 0)
	if errors.Is(err, unix.EINVAL) { // tmpfs and others
		f, err = os.Open(path)
		return f, false, err
	}
	return f, err == nil, err
}

// dropCache drops a range of a file from the page cache; n 0 is all.
func dropCache(f *os.File, off, n int64) {
	_ = unix.Fadvise(int(f.Fd()), off, n, unix.FADV_DONTNEED)
}

// readOnce makes one read, which may be short. If a file system accepts O_DIRECT
// but then refuses to read, the file is read through the page cache from then
// on.
func readOnce(f *os.File, p []byte, off int64) (int, error) {
	for tries := 0; ; {
		n, err := unix.Pread(int(f.Fd()), p, off)
		if err == unix.EINVAL && tries == 0 {
			tries++
			if flags, e := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); e == nil && flags&unix.O_DIRECT != 0 {
				_, _ = unix.FcntlInt(f.Fd(), unix.F_SETFL, flags&^unix.O_DIRECT) // if this fails, so does the next read
			}
			continue
		}
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// stat returns the size and the modification time of a file. It does not
// allocate, because it is called for every pass over the file.
func stat(f *os.File) (size, mod int64, err error) {
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	return st.Size, st.Mtim.Nano(), err
}
