package file

import "unsafe"

// Release frees the memory of bytes that are no longer needed, a tensor's view
// or a part of it: the whole pages that they cover. The system may keep the
// pages in the page cache, as the first to evict under memory pressure; with
// evict they are dropped at once. Bytes outside mapped files are ignored.
// Released bytes remain readable: they are read from disk again.
func (d *Description) Release(b []byte, evict bool) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for i := range d.Parts {
		p := &d.Parts[i]
		start := uintptr(unsafe.Pointer(unsafe.SliceData(p.data)))
		if p.unmap == nil || at < start || at+uintptr(len(b)) > start+uintptr(len(p.data)) {
			continue
		}
		if whole := wholePages(b); len(whole) > 0 {
			release(whole, evict)
		}
		return
	}
}
