package embedded

import (
	_ "embed" // for the file below
	"sync"
	"unsafe"
)

// storyFile is a variable of bytes, not a string: the linker aligns byte data of
// this size to align, but not strings. Its pages are not read until needed.
//
//go:embed story.gguf
var storyFile []byte

// align is the alignment of tensors in a GGUF file, relative to its start.
const align = 32

// Story returns the embedded GGUF file, aligned so that its tensors can be used
// in place. The bytes are read-only.
func Story() []byte { return story() }

var story = sync.OnceValue(func() []byte { return aligned(storyFile) })

// aligned returns b, or a copy if b is misaligned, because the linker does not
// guarantee alignment.
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
