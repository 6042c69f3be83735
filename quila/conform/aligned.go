package conform

import "unsafe"

// alignedThoughts is the part of a buffer that begins on a page.
func alignedThoughts(b []byte, n int) []byte {
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (pageBytes - 1))
	return b[skip : skip+n : skip+n]
}
