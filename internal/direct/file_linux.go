package direct

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// open opens a file past the cache if its file system can do that.
func open(path string) (f *os.File, direct bool, err error) {
	f, err = os.OpenFile(path, os.O_RDONLY|unix.O_DIRECT, 0)
	if errors.Is(err, unix.EINVAL) { // tmpfs and others
		f, err = os.Open(path)
		return f, false, err
	}
	return f, err == nil, err
}

// forget asks the system to drop a range of a file from its cache; n 0 is all.
func forget(f *os.File, off, n int64) {
	_ = unix.Fadvise(int(f.Fd()), off, n, unix.FADV_DONTNEED)
}

// readOnce is one read, which may be short. A file system that takes O_DIRECT
// and then refuses to read so is read as usual from then on.
func readOnce(f *os.File, p []byte, off int64) (int, error) {
	for tries := 0; ; {
		n, err := unix.Pread(int(f.Fd()), p, off)
		if err == unix.EINVAL && tries == 0 {
			tries++
			if flags, e := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); e == nil && flags&unix.O_DIRECT != 0 {
				_, _ = unix.FcntlInt(f.Fd(), unix.F_SETFL, flags&^unix.O_DIRECT) // the next read says if it did not work
			}
			continue
		}
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// stat returns the size of a file and when it was last written to. It allocates
// nothing: it may be called for every pass over the file.
func stat(f *os.File) (size, mod int64, err error) {
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	return st.Size, st.Mtim.Nano(), err
}
