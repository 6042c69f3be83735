//go:build !unix

package kv

import "unsafe"

// A slab is one piece of memory that pages are cut from. It starts at a
// multiple of pageAlign and reads as zero.
type slab struct{ bytes []byte }

func newSlab(n int) (slab, error) {
	b := make([]byte, n+pageAlign)
	at := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % pageAlign
	return slab{b[at:][:n]}, nil
}

// release leaves the slab to the garbage collector.
func (slab) release() {}
