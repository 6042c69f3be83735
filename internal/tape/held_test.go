package tape

import (
	"unsafe"

	"atenia/grad"
)

// HeldBytes returns the memory of the tapes and of scratch. What [Options.Alloc]
// has given is not in it.
func (m *Model[F]) HeldBytes() int64 {
	n := int64(m.scratch.top) * int64(unsafe.Sizeof(F(0)))
	for _, b := range m.blocks.list {
		if b.tape != nil {
			n += b.tape.Memory().Reserved
		}
	}
	for _, t := range []*grad.Tape[F]{m.inner, m.blocks.aux} {
		if t != nil {
			n += t.Memory().Reserved
		}
	}
	return n
}
