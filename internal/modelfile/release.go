package modelfile

import "unsafe"

// Release gives back the memory of bytes that are not read any more, a view of
// a tensor or a part of one: the whole pages that they cover. The system may
// keep the pages in its cache of the file, as the first to go when memory is
// short; with evict it is asked to drop them at once. Bytes that lie in no
// mapped file are left alone, and released ones can still be read: they come
// in again.
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
