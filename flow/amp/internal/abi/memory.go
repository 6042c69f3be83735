package abi

import (
	"unsafe"

	"atenia/internal/machine/ledger"
)

// A Memory allocates from one block outside Go's heap, aligned to 64 bytes, and
// frees everything at once.
type Memory struct {
	block ledger.Block
	used  int
}

const align = 64

// NewMemory returns a zeroed memory of the given size.
func NewMemory(bytes int) (*Memory, error) {
	b, err := ledger.NewBlock(ledger.Process, ledger.Scratch, bytes)
	return &Memory{block: b}, err
}

// Release frees the block.
func (m *Memory) Release() { m.block.Release() }

// SizeOf returns the size of n values of a type within a memory.
func SizeOf[T any](n int) int {
	var v T
	return (n*int(unsafe.Sizeof(v)) + align - 1) &^ (align - 1)
}

// Make allocates n values of a type without pointers. The memory must have been
// made large enough.
func Make[T any](m *Memory, n int) []T {
	if n == 0 {
		return nil
	}
	b := m.block.Bytes[m.used:]
	m.used += SizeOf[T](n)
	_ = m.block.Bytes[:m.used]
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

// MakeString copies a string with a terminating zero into the memory and
// returns its address.
func MakeString(m *Memory, s string) uintptr {
	b := Make[byte](m, len(s)+1)
	copy(b, s)
	return Address(b)
}

// Address returns the address of a slice's first element, 0 for an empty one. A
// slice on Go's heap must be kept alive while the address is used.
func Address[T any](s []T) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(s))) }

// At returns the value at an address outside Go's heap.
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
