package abi

import (
	"errors"
	"sync/atomic"
	"unsafe"

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

// LogBytes is the size of a log with its context.
const LogBytes = 64 + slotCount*256

// layLog returns the context and the slots in a log's memory, which is aligned to 64 bytes.
func layLog(b []byte) (*context, []slot) {
	_ = b[:LogBytes]
	return (*context)(unsafe.Pointer(&b[0])), unsafe.Slice((*slot)(unsafe.Pointer(&b[64])), slotCount)
}

// ReadLog returns a reader of a log in memory that is shared with another process, which may be dead.
func ReadLog(b []byte) *Callbacks {
	ctx, slots := layLog(b)
	return &Callbacks{ctx: ctx, slots: slots}
}

// NewCallbacks makes a host. libc is a library with aligned_alloc and free. The log is in the given memory, zeroed and
// of [LogBytes], or in its own if that is nil.
func NewCallbacks(libc library.Handle, log []byte) (*Callbacks, error) {
	alloc, err1 := libc.Symbol("aligned_alloc")
	free, err2 := libc.Symbol("free")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	m, err := NewMemory(SizeOf[byte](LogBytes) + SizeOf[Host](1))
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = Make[byte](m, LogBytes)
	}
	ctx, slots := layLog(log)
	host := Make[Host](m, 1)
	*ctx = context{AlignedAlloc: alloc, Free: free, Mask: slotCount - 1, Slots: Address(slots)}
	host[0] = Host{StructSize: 48, Major: Major, Minor: Minor, Context: uintptr(unsafe.Pointer(ctx)),
		Alloc: hostAllocPC(), Free: hostFreePC(), Log: hostLogPC()}
	return &Callbacks{ctx: ctx, slots: slots, host: host}, nil
}

// Host returns the address of amp_host_t.
func (c *Callbacks) Host() uintptr { return Address(c.host) }

// Drain returns the messages logged since the last call, and how many were
// overwritten before they were read. Only one goroutine may drain.
func (c *Callbacks) Drain() (list []Message, lost int) { return c.drain(false) }

// DrainDead is [Callbacks.Drain] of a log whose writer is dead: a message that it had begun is lost, and ends nothing.
func (c *Callbacks) DrainDead() (list []Message, lost int) { return c.drain(true) }

func (c *Callbacks) drain(dead bool) (list []Message, lost int) {
	head := atomic.LoadUint64(&c.ctx.Head)
	if head-c.read > slotCount {
		lost = int(head - c.read - slotCount)
		c.read = head - slotCount
	}
	for ; c.read < head; c.read++ {
		s := &c.slots[c.read%slotCount]
		number := atomic.LoadUint64(&s.Number)
		if number == 0 && !dead {
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
