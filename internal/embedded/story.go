package embedded

import (
	_ "embed" // for the file below
	"sync"
	"unsafe"
)

// A variable of bytes, not a string: the linker aligns data of this size to
// align, and strings to nothing. No page of it is read before it is needed.
//
//go:embed story.gguf
var file []byte

// align is what a GGUF file promises for its tensors, provided that the file
// itself begins so.
const align = 32

// Story returns the embedded GGUF file, aligned so that its tensors can be
// used where they lie. The bytes must not be written.
func Story() []byte { return story() }

var story = sync.OnceValue(func() []byte { return aligned(file) })

// aligned returns b, or a copy if b lies badly. That the linker aligns is not
// promised anywhere.
func aligned(b []byte) []byte {
	off := func(b []byte) int { return int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % align) }
	if off(b) == 0 {
		return b
	}
	room := make([]byte, len(b)+align)
	room = room[off(room):][:len(b):len(b)]
	copy(room, b)
	return room
}
