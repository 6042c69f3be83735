//go:build unix

package kv

import "golang.org/x/sys/unix"

// A slab is one piece of memory that pages are cut from. It starts on a page
// of the system's and reads as zero; the system gives memory to it as it is
// touched.
type slab struct{ bytes []byte }

func newSlab(n int) (slab, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	return slab{b}, err
}

func (s slab) release() {
	// The only error is EINVAL for a slice that Mmap did not return.
	_ = unix.Munmap(s.bytes)
}
