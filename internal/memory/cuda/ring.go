package cuda

import (
	"errors"
	"unsafe"
)

const (
	ringSlots    = 4
	maxSlotBytes = 64 << 20
	minSlotBytes = 1 << 20
	// smallBytes is the size up to which copies bypass pinned memory: the driver
	// stages them itself, and a call is cheaper than waiting for an event.
	smallBytes = 256 << 10
)

// A ring copies through pinned buffers, so that the device transfers one while
// the next is filled. Buffers are allocated on first use. It is used only by the
// device's goroutine.
type ring struct {
	cuda   *table
	stream uintptr // CUstream; 0 before the first use
	slots  [ringSlots]slot
	most   int // maximum bytes of a slot
}

// A slot is one pinned buffer with the event that signals the end of its copy.
type slot struct {
	at    uintptr
	bytes []byte
	event uintptr
	busy  bool
}

// slot returns slot i once it is free, with room for n bytes. Every copy in
// flight through it must have been recorded.
func (r *ring) slot(i, n int) (*slot, error) {
	if r.stream == 0 {
		const nonBlocking = 1 // not synchronized with the default stream
		if err := r.cuda.do(cuStreamCreate, uintptr(unsafe.Pointer(&r.stream)), nonBlocking); err != nil {
			r.stream = 0
			return nil, err
		}
	}
	s := &r.slots[i%ringSlots]
	if err := r.wait(s); err != nil {
		return nil, err
	}
	if s.event == 0 {
		const noTiming = 2
		if err := r.cuda.do(cuEventCreate, uintptr(unsafe.Pointer(&s.event)), noTiming); err != nil {
			s.event = 0
			return nil, err
		}
	}
	if len(s.bytes) < n {
		if err := r.unpin(s); err != nil {
			return nil, err
		}
		if err := r.cuda.do(cuMemHostAlloc, uintptr(unsafe.Pointer(&s.at)), uintptr(n), 0); err != nil {
			s.at = 0
			return nil, err
		}
		s.bytes = foreign(s.at, n)
	}
	return s, nil
}

// foreign returns driver memory as a slice.
func foreign(at uintptr, n int) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), n)
}

// unpin frees a slot's buffer.
func (r *ring) unpin(s *slot) error {
	if s.at == 0 {
		return nil
	}
	at := s.at
	s.at, s.bytes = 0, nil
	return r.cuda.do(cuMemFreeHost, at)
}

// wait waits for the copy through a slot.
func (r *ring) wait(s *slot) error {
	if !s.busy {
		return nil
	}
	err := r.cuda.do(cuEventSynchronize, s.event)
	s.busy = err != nil
	return err
}

// sent records an event for the copy in flight through the slot.
func (r *ring) sent(s *slot) error {
	if err := r.cuda.do(cuEventRecord, s.event, r.stream); err != nil {
		return err
	}
	s.busy = true
	return nil
}

// drain waits for all copies in flight.
func (r *ring) drain() error {
	if r.stream == 0 {
		return nil
	}
	err := r.cuda.do(cuStreamSynchronize, r.stream)
	for i := range r.slots {
		r.slots[i].busy = r.slots[i].busy && err != nil
	}
	return err
}

// chunk returns how many of n bytes go through a slot at once: two rounds of the
// ring, within limits, so that filling and copying overlap.
func (r *ring) chunk(n int) int {
	return min(r.most, max(minSlotBytes, (n/(2*ringSlots)+minSlotBytes-1)/minSlotBytes*minSlotBytes))
}

// upload copies data to device memory and waits for completion.
func (r *ring) upload(to uintptr, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if len(data) > smallBytes {
		err := r.send(to, data, r.chunk(len(data)))
		if !errors.Is(err, errOutOfMemory) {
			return err
		}
		// Pinned memory is exhausted.
	}
	return r.cuda.do(cuMemcpyHtoD, to, uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)))
}

func (r *ring) send(to uintptr, data []byte, chunk int) (err error) {
	defer func() { err = errors.Join(err, r.drain()) }()
	for i, at := 0, 0; at < len(data); i, at = i+1, at+chunk {
		part := data[at:min(at+chunk, len(data))]
		s, err := r.slot(i, chunk)
		if err != nil {
			return err
		}
		copy(s.bytes, part)
		if err := r.cuda.do(cuMemcpyHtoDAsync, to+uintptr(at), s.at, uintptr(len(part)), r.stream); err != nil {
			return err
		}
		if err := r.sent(s); err != nil {
			return err
		}
	}
	return nil
}

// download copies from device memory and waits for completion.
func (r *ring) download(data []byte, from uintptr) error {
	if len(data) == 0 {
		return nil
	}
	if len(data) > smallBytes {
		err := r.fetch(data, from, r.chunk(len(data)))
		if !errors.Is(err, errOutOfMemory) {
			return err
		}
	}
	return r.cuda.do(cuMemcpyDtoH, uintptr(unsafe.Pointer(unsafe.SliceData(data))), from, uintptr(len(data)))
}

// fetch keeps all slots in flight and empties the oldest.
func (r *ring) fetch(data []byte, from uintptr, chunk int) (err error) {
	defer func() { err = errors.Join(err, r.drain()) }()
	chunks := (len(data) + chunk - 1) / chunk
	part := func(i int) []byte { return data[i*chunk : min((i+1)*chunk, len(data))] }
	ask := func(i int) error {
		s, err := r.slot(i, chunk)
		if err != nil {
			return err
		}
		if err := r.cuda.do(cuMemcpyDtoHAsync, s.at, from+uintptr(i*chunk), uintptr(len(part(i))), r.stream); err != nil {
			return err
		}
		return r.sent(s)
	}
	for i := range min(chunks, ringSlots) {
		if err := ask(i); err != nil {
			return err
		}
	}
	for i := range chunks {
		s := &r.slots[i%ringSlots]
		if err := r.wait(s); err != nil {
			return err
		}
		copy(part(i), s.bytes)
		if i+ringSlots < chunks {
			if err := ask(i + ringSlots); err != nil {
				return err
			}
		}
	}
	return nil
}

// close frees all resources.
func (r *ring) close() error {
	err := r.drain()
	for i := range r.slots {
		s := &r.slots[i]
		err = errors.Join(err, r.unpin(s))
		if s.event != 0 {
			err = errors.Join(err, r.cuda.do(cuEventDestroy, s.event))
			s.event = 0
		}
	}
	if r.stream != 0 {
		err = errors.Join(err, r.cuda.do(cuStreamDestroy, r.stream))
		r.stream = 0
	}
	return err
}
