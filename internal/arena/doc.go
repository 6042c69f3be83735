// Package arena gets large blocks of memory outside Go's heap.
//
// A [Block] reads as zero, starts on a page, and takes memory from the system
// only as it is touched. Where the system has no more it says so with an
// error, while an allocation on the heap would end the program. On systems
// without mmap a block is ordinary aligned memory.
package arena

import "fmt"

// A MemoryError says that the system would not give a block.
type MemoryError struct {
	Bytes int
	Err   error
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("no memory for %d bytes: %v", e.Bytes, e.Err)
}

// Unwrap returns what the system answered.
func (e *MemoryError) Unwrap() error { return e.Err }
