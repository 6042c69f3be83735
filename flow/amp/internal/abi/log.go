package abi

import (
	"errors"
	"sync/atomic"

	"atenia/internal/machine/library"
)

// A Message is a log message of a node.
type Message struct {
	Level int
	Text  string
}

const (
	slotText  = 240 // bytes of a message that are kept
	slotCount = 256
)

// A slot takes 256 bytes. Its number, counted from one, is written last; it is
// zero while the message is being written.
type slot struct {
	Number uint64
	Level  int32
	Len    uint32
	Text   [slotText]byte
}

// A context is what amp_host_t.ctx points to. The assembly depends on the order
// of its fields.
type context struct {
	AlignedAlloc, Free uintptr
	Head               uint64 // messages begun
	Mask               uint64
	Slots              uintptr
}

// Callbacks is the host as libraries see it. It is never freed, since a library
// may keep the address.
type Callbacks struct {
	ctx   *context
	slots []slot
	host  []Host
	read  uint64 // messages drained
}

// NewCallbacks makes a host. libc is a library with aligned_alloc and free.
func NewCallbacks(libc library.Handle) (*Callbacks, error) {
	alloc, err1 := libc.Symbol("aligned_alloc")
	free, err2 := libc.Symbol("free")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	m, err := NewMemory(SizeOf[context](1) + SizeOf[slot](slotCount) + SizeOf[Host](1))
	if err != nil {
		return nil, err
	}
	ctx, slots, host := Make[context](m, 1), Make[slot](m, slotCount), Make[Host](m, 1)
	ctx[0] = context{AlignedAlloc: alloc, Free: free, Mask: slotCount - 1, Slots: Address(slots)}
	host[0] = Host{StructSize: 48, Major: Major, Minor: Minor, Context: Address(ctx),
		Alloc: hostAllocPC(), Free: hostFreePC(), Log: hostLogPC()}
	return &Callbacks{ctx: &ctx[0], slots: slots, host: host}, nil
}

// Host returns the address of amp_host_t.
func (c *Callbacks) Host() uintptr { return Address(c.host) }

// Drain returns the messages logged since the last call, and how many were
// overwritten before they were read. Only one goroutine may drain.
func (c *Callbacks) Drain() (list []Message, lost int) {
	head := atomic.LoadUint64(&c.ctx.Head)
	if head-c.read > slotCount {
		lost = int(head - c.read - slotCount)
		c.read = head - slotCount
	}
	for ; c.read < head; c.read++ {
		s := &c.slots[c.read&c.ctx.Mask]
		number := atomic.LoadUint64(&s.Number)
		if number == 0 {
			break // being written
		}
		m := Message{int(s.Level), string(s.Text[:min(s.Len, slotText)])}
		if number != c.read+1 || atomic.LoadUint64(&s.Number) != number {
			lost++
			continue
		}
		list = append(list, m)
	}
	return list, lost
}
