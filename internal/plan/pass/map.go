package pass

import (
	"math/bits"
	"slices"

	"atenia/internal/plan"
)

// Map gives every register a physical buffer for one [plan.Sizing]. external
// marks registers whose storage the caller owns; they get [plan.NoBuffer].
//
// It is a linear scan over the single-assignment intervals. A buffer is untyped
// bytes, so any dead one may be taken and grows to its largest user; interval
// graphs being perfect, the count never exceeds PeakRegisters. Among the free
// buffers it takes the smallest that fits, else the largest.
//
// Output 0 takes over an input's buffer where the opcode allows it
// ([plan.OpSpec.InPlace]), the input dies there, is read there only once, is
// not the caller's, and its buffer is large enough. No other output ever shares
// a buffer with an input of its instruction.
//
// Sizes saturate at [plan.MaxBufferBytes], which no allocator grants.
func Map(c *plan.CompiledPlan, sizing plan.Sizing, external map[plan.RegisterRef]bool) plan.PhysicalMapping {
	return MapStage(c, sizing, external, nil)
}

// MapStage is [Map] for a stage that other stages hand values to. held has their registers
// and the instructions after which they are released ([plan.Handoff.ReleaseAfter]): their
// buffers are not taken before, even if nothing reads them any more.
func MapStage(c *plan.CompiledPlan, sizing plan.Sizing, external map[plan.RegisterRef]bool, held map[plan.RegisterRef]uint32) plan.PhysicalMapping {
	p := &c.Plan
	m := mapper{c: c, external: external, held: held, need: make([]uint64, len(p.Registers))}
	m.out.ToPhysical = slices.Repeat([]uint16{plan.NoBuffer}, len(p.Registers))
	for r := range p.Registers {
		m.need[r] = bytesOf(&p.Registers[r], sizing)
	}
	for _, r := range p.Inputs {
		m.take(r)
	}
	for i := range p.Instructions {
		m.step(i)
	}
	for _, b := range m.out.Buffers {
		m.out.Bytes = addBytes(m.out.Bytes, b.Size)
	}
	return m.out
}

// bytesOf is the size of a register's buffer, rounded up to whole alignments.
func bytesOf(s *plan.RegSpec, sizing plan.Sizing) uint64 {
	values, block := s.DType.Block()
	carry, n := bits.Mul64(sizing.Rows(s.Rows), uint64(s.Cols))
	over, n := bits.Mul64(n, uint64(block))
	if carry != 0 || over != 0 || values != 1 || n > plan.MaxBufferBytes {
		return plan.MaxBufferBytes
	}
	return (n + plan.BufferAlign - 1) &^ (plan.BufferAlign - 1)
}

func addBytes(a, b uint64) uint64 { return min(a+b, plan.MaxBufferBytes) }

type mapper struct {
	c        *plan.CompiledPlan
	external map[plan.RegisterRef]bool
	held     map[plan.RegisterRef]uint32
	need     []uint64 // register → bytes
	free     []uint16 // buffers that hold nothing
	out      plan.PhysicalMapping
}

func (m *mapper) step(i int) {
	in := &m.c.Plan.Instructions[i]
	outs := in.Out
	if src, ok := m.inPlace(i); ok {
		m.out.ToPhysical[in.Out[0]] = m.out.ToPhysical[src]
		m.out.NaiveBytes = addBytes(m.out.NaiveBytes, m.need[in.Out[0]])
		outs = outs[1:]
	}
	for _, r := range outs {
		m.take(r)
	}
	// Buffers come free only now: outputs and inputs exist together. A buffer
	// that was taken over is freed by its new owner, when that dies.
	for k, r := range in.In {
		if _, held := m.held[r]; !held && m.c.Live.Kills(i, r) && !slices.Contains(in.In[:k], r) && !m.takenOver(in, r) {
			m.release(r)
		}
	}
	for _, r := range m.c.Plan.Inputs {
		if at, held := m.held[r]; held && int(at) == i && !m.takenOver(in, r) {
			m.release(r)
		}
	}
	for _, r := range in.Out {
		if m.c.Live.Kills(i, r) {
			m.release(r)
		}
	}
}

// inPlace returns the input whose buffer output 0 takes over at instruction i.
func (m *mapper) inPlace(i int) (src plan.RegisterRef, ok bool) {
	in := &m.c.Plan.Instructions[i]
	k, ok := plan.Specs.Get(in.Op).InPlace.Input()
	if !ok {
		return 0, false
	}
	src = in.In[k]
	for j, r := range in.In {
		if j != k && r == src {
			return 0, false
		}
	}
	b := m.out.ToPhysical[src]
	fits := b != plan.NoBuffer && m.need[in.Out[0]] <= m.out.Buffers[b].Size
	at, held := m.held[src]
	return src, fits && m.c.Live.Kills(i, src) && (!held || int(at) == i) && !m.external[in.Out[0]]
}

func (m *mapper) takenOver(in *plan.Instruction, r plan.RegisterRef) bool {
	b := m.out.ToPhysical[r]
	return b != plan.NoBuffer && b == m.out.ToPhysical[in.Out[0]]
}

func (m *mapper) release(r plan.RegisterRef) {
	if b := m.out.ToPhysical[r]; b != plan.NoBuffer {
		m.free = append(m.free, b)
	}
}

func (m *mapper) take(r plan.RegisterRef) {
	if m.external[r] {
		return
	}
	need := m.need[r]
	m.out.NaiveBytes = addBytes(m.out.NaiveBytes, need)
	if len(m.free) == 0 {
		m.out.ToPhysical[r] = uint16(len(m.out.Buffers))
		m.out.Buffers = append(m.out.Buffers, plan.BufferSpec{Size: need, Align: plan.BufferAlign})
		return
	}
	best := 0
	for k, b := range m.free {
		if better(m.out.Buffers[b].Size, m.out.Buffers[m.free[best]].Size, need) {
			best = k
		}
	}
	b := m.free[best]
	m.free = slices.Delete(m.free, best, best+1)
	m.out.Buffers[b].Size = max(m.out.Buffers[b].Size, need)
	m.out.ToPhysical[r] = b
}

// better reports whether a free buffer of size a suits need better than one of
// size b: the smallest that fits, else the largest, which grows least.
func better(a, b, need uint64) bool {
	switch {
	case a >= need && b >= need:
		return a < b
	case a < need && b < need:
		return a > b
	}
	return a >= need
}

// Inputs returns the registers of a plan's inputs for [Map]: they have no
// buffer, because kernels read the caller's memory.
func Inputs(c *plan.CompiledPlan) map[plan.RegisterRef]bool {
	m := map[plan.RegisterRef]bool{}
	for _, r := range c.Plan.Inputs {
		m[r] = true
	}
	return m
}
