package plan

// A Sizing turns symbolic row kinds into counts. One allocation set has one
// Sizing: decode is sized by slots, prefill by the tokens of a chunk.
type Sizing struct {
	Tokens    uint64
	Slots     uint64
	Requested uint64
	Patches   uint64
	Merged    uint64
}

// Rows returns the largest number of rows of a kind; 0 for an unknown kind.
func (s Sizing) Rows(k RowKind) uint64 {
	switch k {
	case RowsTokens:
		return s.Tokens
	case RowsSlots:
		return s.Slots
	case RowsRequested:
		return s.Requested
	case RowsPatches:
		return s.Patches
	case RowsMerged:
		return s.Merged
	}
	return 0
}

// A BufferSpec is one physical buffer of a mapping: untyped bytes.
type BufferSpec struct {
	Size  uint64 // bytes, a multiple of Align
	Align uint16
}

// BufferAlign is the alignment of every physical buffer in bytes, a cache line
// and the widest vector register.
const BufferAlign = 64

// MaxBufferBytes is where sizes and their sums saturate.
const MaxBufferBytes = 1 << 62

// A PhysicalMapping says which buffer each register uses. Registers whose lives
// do not overlap share one.
type PhysicalMapping struct {
	ToPhysical []uint16 // register → buffer, NoBuffer where the caller owns the storage
	Buffers    []BufferSpec
	Bytes      uint64 // sum over buffers
	NaiveBytes uint64 // the bytes of one buffer per register
}

// Place gives a register another buffer, whose registers get that of this one: where
// several mappings share buffers, a value that crosses from one to another has the same in
// both.
func (m *PhysicalMapping) Place(r RegisterRef, buffer uint16) {
	for len(m.Buffers) <= int(buffer) {
		m.Buffers = append(m.Buffers, BufferSpec{Align: BufferAlign})
	}
	from := m.ToPhysical[r]
	for i, b := range m.ToPhysical {
		switch b {
		case from:
			m.ToPhysical[i] = buffer
		case buffer:
			m.ToPhysical[i] = from
		}
	}
	m.Buffers[from], m.Buffers[buffer] = m.Buffers[buffer], m.Buffers[from]
}

// NoBuffer is the buffer of a register whose storage the caller owns.
const NoBuffer = ^uint16(0)
