package flow

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"atenia/internal/fault"
)

const (
	// ArenaAlign is the alignment of carves, in bytes: a cache line.
	ArenaAlign = 64
	// ArenaGuard is the minimum number of bytes between carves.
	ArenaGuard = 64

	guardByte = 0xa5

	defaultReserve = 64 << 30
	leastReserve   = 64 << 20
	defaultFirst   = 1 << 20
)

// Causes that an [ArenaError] may wrap, besides errors of the system.
var (
	ErrArenaFrozen = errors.New("the arena is frozen: carve before Freeze")
	ErrArenaFull   = errors.New("the reserved address space is used up: reserve more")
	ErrArenaClosed = errors.New("the arena is closed")
	ErrArenaSize   = errors.New("the size is negative or too large")
)

// An ArenaError says which carve could not be allocated.
type ArenaError struct {
	Name      string // of the carve, "" for the arena itself
	Bytes     int    // requested
	Committed int    // in all, at the time
	Err       error
}

// Error implements error.
func (e *ArenaError) Error() string {
	what := "arena"
	if e.Name != "" {
		what = fmt.Sprintf("carve %q", e.Name)
	}
	return fmt.Sprintf("%s of %d bytes, with %d committed: %v", what, e.Bytes, e.Committed, e.Err)
}

// Unwrap returns the cause.
func (e *ArenaError) Unwrap() error { return e.Err }

// An OverrunError reports a write past the end of a carve.
type OverrunError struct {
	Carve
	At int // offset in the arena of the first overwritten byte
}

// Error implements error.
func (e *OverrunError) Error() string {
	return fmt.Sprintf("carve %q of %d bytes was overrun: byte %d past its end was written", e.Name, e.Bytes, e.At-e.Offset-e.Bytes)
}

// ArenaOptions set the size of an arena. The zero value is suitable for most graphs.
type ArenaOptions struct {
	ReserveBytes int // address space; 0: 64 GiB, or what the system allows
	FirstBytes   int // initial memory; 0: 1 MiB; doubled as needed
}

// A Carve is an allocation of the arena.
type Carve struct {
	Name   string
	Offset int // bytes from the base, a multiple of ArenaAlign
	Bytes  int
}

// An Arena is one region of memory from which carves are allocated front to
// back. See the package's comment. [NewArena] makes one. It may be used by one
// goroutine at a time.
type Arena struct {
	region    region
	committed int
	used      int
	dirty     int // memory from here on has never been used and reads as zero
	first     int
	carves    []Carve
	frozen    bool
	closed    bool
}

// NewArena reserves the address space of an arena. If no size was given and the
// system refuses the default, it is halved until the system agrees. Call
// [Arena.Close] when no slice of a carve is in use any more.
func NewArena(o ArenaOptions) (*Arena, error) {
	want, least := o.ReserveBytes, o.ReserveBytes
	if want == 0 {
		want, least = int(min(int64(defaultReserve), math.MaxInt/4)), leastReserve
	}
	if want < 0 || o.FirstBytes < 0 {
		return nil, &ArenaError{Bytes: want, Err: ErrArenaSize}
	}
	first := o.FirstBytes
	if first == 0 {
		first = defaultFirst
	}
	first = roundUp(first, pageBytes())
	want = roundUp(max(want, first), pageBytes())
	for {
		r, err := reserve(want)
		if err == nil {
			return &Arena{region: r, first: first}, nil
		}
		if want/2 < least {
			return nil, &ArenaError{Bytes: want, Err: err}
		}
		want = roundUp(want/2, pageBytes())
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// Carve returns n zeroed bytes, aligned to [ArenaAlign] and followed by a guard. The
// slice has no spare capacity. An error is an [*ArenaError].
func (a *Arena) Carve(name string, n int) ([]byte, error) {
	fault.Invariant(!a.closed, "carve of a closed arena")
	switch {
	case a.closed:
		return nil, &ArenaError{name, n, 0, ErrArenaClosed}
	case n < 0 || n > math.MaxInt/2:
		return nil, &ArenaError{name, n, a.committed, ErrArenaSize}
	}
	at := a.used
	end := at + roundUp(n, ArenaAlign) + ArenaGuard
	if err := a.grow(end); err != nil {
		return nil, &ArenaError{name, n, a.committed, err}
	}
	b := a.bytes(at, end)
	if at < a.dirty {
		clear(b[:min(end, a.dirty)-at])
	}
	for i := n; i < len(b); i++ {
		b[i] = guardByte
	}
	a.used = end
	a.dirty = max(a.dirty, end)
	a.carves = append(a.carves, Carve{name, at, n})
	return b[:n:n], nil
}

// arenaOf carves n values of a type without pointers; the garbage collector would
// not see any.
func arenaOf[T float32 | float64 | uint8 | int32 | uint32 | int64 | uint64](a *Arena, name string, n int) ([]T, error) {
	var v T
	size := int(unsafe.Sizeof(v))
	if n < 0 || n > math.MaxInt/2/size {
		return nil, &ArenaError{name, n, a.committed, ErrArenaSize}
	}
	b, err := a.Carve(name, n*size)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

// grow commits memory up to an offset.
func (a *Arena) grow(end int) error {
	if end <= a.committed {
		return nil
	}
	if a.frozen {
		return ErrArenaFrozen
	}
	to := max(a.committed, a.first)
	for to < end && to <= math.MaxInt/2 {
		to *= 2
	}
	if to = min(to, a.Reserved()); to < end {
		return ErrArenaFull
	}
	if err := a.region.commit(a.committed, to); err != nil {
		return err
	}
	a.committed = to
	return nil
}

// bytes returns the memory between two offsets.
func (a *Arena) bytes(from, to int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(a.region.base, from)), to-from)
}

// Freeze makes all memory in use resident and growth an error. Call it before a
// real-time thread starts. Carves that fit the committed memory are still
// possible.
func (a *Arena) Freeze() {
	fault.Invariant(!a.closed, "freeze of a closed arena")
	if a.closed {
		return
	}
	a.frozen = true
	b := a.bytes(0, a.committed)
	for i := 0; i < len(b); i += pageBytes() {
		// A write that changes nothing and that no compiler may omit.
		atomic.AddUint32((*uint32)(unsafe.Pointer(&b[i])), 0)
	}
}

// Thaw lets the arena grow again.
func (a *Arena) Thaw() { a.frozen = false }

// Frozen reports whether growth is an error.
func (a *Arena) Frozen() bool { return a.frozen }

// An ArenaMark is a state of an arena, from [Arena.Mark], to which
// [Arena.Release] returns.
type ArenaMark struct{ used, carves int }

// Mark returns the current state.
func (a *Arena) Mark() ArenaMark { return ArenaMark{a.used, len(a.carves)} }

// Release frees everything carved since the mark; none of it may be used any
// more. The memory stays committed for later carves.
func (a *Arena) Release(m ArenaMark) {
	fault.Invariant(!a.closed && m.used <= a.used && m.carves <= len(a.carves), "release of what is not carved")
	a.used, a.carves = m.used, a.carves[:m.carves]
}

// Check returns an [*OverrunError] for the first carve whose guard was
// overwritten, or nil. Call it after running foreign code, such as nodes in C.
func (a *Arena) Check() error {
	if a.closed {
		return &ArenaError{Err: ErrArenaClosed}
	}
	for i, c := range a.carves {
		end := a.used
		if i+1 < len(a.carves) {
			end = a.carves[i+1].Offset
		}
		from := c.Offset + c.Bytes
		for k, v := range a.bytes(from, end) {
			if v != guardByte {
				return &OverrunError{c, from + k}
			}
		}
	}
	return nil
}

// Carves returns the carves in order of offset. The slice belongs to the arena.
func (a *Arena) Carves() []Carve { return a.carves }

// Base is the address of offset 0. It never changes.
func (a *Arena) Base() unsafe.Pointer { return a.region.base }

// Holds reports whether n bytes from p on are carved memory.
func (a *Arena) Holds(p unsafe.Pointer, n int) bool {
	at := uintptr(p) - uintptr(a.region.base)
	return n >= 0 && at <= uintptr(a.used) && uintptr(n) <= uintptr(a.used)-at
}

// Reserved returns the size of the address space in bytes.
func (a *Arena) Reserved() int { return a.region.size }

// Committed returns the bytes of memory in use, carved or not.
func (a *Arena) Committed() int { return a.committed }

// Used returns the bytes that are carved, including guards.
func (a *Arena) Used() int { return a.used }

// Close frees the memory. Slices of carves must not be used afterwards; with
// invariants enabled, using one faults for as long as the program runs.
func (a *Arena) Close() error {
	if a.closed {
		return nil
	}
	a.closed, a.used, a.committed, a.carves = true, 0, 0, nil
	return a.region.release()
}
