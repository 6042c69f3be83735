package abi

import (
	"unsafe"

	"atenia/internal/arena"
)

// A Memory hands out pieces of one block outside Go's heap, all aligned to 64
// bytes, and gives them back together.
type Memory struct {
	block arena.Block
	used  int
}

const align = 64

// NewMemory returns a memory of so many bytes, which read as zero.
func NewMemory(bytes int) (*Memory, error) {
	b, err := arena.New(bytes)
	return &Memory{block: b}, err
}

// Release gives the block back.
func (m *Memory) Release() { m.block.Release() }

// SizeOf returns what n values of a type take of a memory.
func SizeOf[T any](n int) int {
	var v T
	return (n*int(unsafe.Sizeof(v)) + align - 1) &^ (align - 1)
}

// Make takes n values of a type without pointers from the memory, which must
// have been made large enough.
func Make[T any](m *Memory, n int) []T {
	if n == 0 {
		return nil
	}
	b := m.block.Bytes[m.used:]
	m.used += SizeOf[T](n)
	_ = m.block.Bytes[:m.used]
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

// MakeString copies a text into the memory, with a zero behind it, and returns
// its address.
func MakeString(m *Memory, s string) uintptr {
	b := Make[byte](m, len(s)+1)
	copy(b, s)
	return Address(b)
}

// Address returns where a slice begins, 0 for one without values. A slice on
// Go's heap must be kept alive while the address is used.
func Address[T any](s []T) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(s))) }

// At returns what lies at an address outside Go's heap.
func At[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// Text returns the C string at an address, at most limit bytes of it.
func Text(address uintptr, limit int) string {
	if address == 0 {
		return ""
	}
	n := 0
	for n < limit && *At[byte](address + uintptr(n)) != 0 {
		n++
	}
	return string(unsafe.Slice(At[byte](address), n))
}
