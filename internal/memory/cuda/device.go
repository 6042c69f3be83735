package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"atenia/internal/fault"
	"atenia/internal/memory"
)

// A Device is the memory of one device, addressed by tensor ids. It is a
// [memory.Adapter] and safe for concurrent use; calls are serialized.
type Device struct {
	cuda   *table
	handle uintptr // CUdevice
	jobs   chan func()
	once   sync.Once
	closed chan struct{}
	fault  error // of Close

	// Used only by the device's goroutine.
	ring   ring
	blocks map[string]block
}

var _ memory.Adapter = (*Device)(nil)

// A block is memory on the device. An empty one has no address.
type block struct {
	at    uintptr // CUdeviceptr
	bytes int
}

// errClosed is returned by a closed device.
var errClosed = errors.New("the device is closed")

// Device opens a device: it retains the primary context, which other libraries
// in this process share. The caller must close the device.
func (d *driver) Device(ordinal int) (*Device, error) {
	if ordinal < 0 || ordinal >= d.count {
		return nil, fmt.Errorf("no device %d: there are %d", ordinal, d.count)
	}
	h, err := d.handle(ordinal)
	if err != nil {
		return nil, err
	}
	dev := &Device{
		cuda: d.cuda, handle: h, jobs: make(chan func()), closed: make(chan struct{}),
		ring: ring{cuda: d.cuda, most: maxSlotBytes}, blocks: map[string]block{},
	}
	started := make(chan error)
	go dev.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return dev, nil
}

// run executes the device's calls on a locked thread, because a context is
// current on a thread rather than in a goroutine. The thread ends with it.
func (d *Device) run(started chan<- error) {
	runtime.LockOSThread()
	var ctx uintptr
	err := d.cuda.do(cuDevicePrimaryCtxRetain, uintptr(unsafe.Pointer(&ctx)), d.handle)
	if err == nil {
		if err = d.cuda.do(cuCtxSetCurrent, ctx); err != nil {
			err = errors.Join(err, d.cuda.do(cuDevicePrimaryCtxRelease, d.handle))
		}
	}
	started <- err
	if err != nil {
		return
	}
	for {
		select {
		case job := <-d.jobs:
			job()
		case <-d.closed:
			return
		}
	}
}

// do runs f on the device's thread and waits for it.
func (d *Device) do(f func() error) error {
	if !d.Available() {
		return errClosed
	}
	reply := make(chan error, 1)
	select {
	case d.jobs <- func() { reply <- fault.Call(f) }:
		return <-reply
	case <-d.closed:
		return errClosed
	}
}

// Close frees all memory and releases the context. The device is then
// unavailable.
func (d *Device) Close() error {
	d.once.Do(func() {
		d.fault = d.do(func() error {
			err := d.ring.close()
			for _, id := range slices.Sorted(maps.Keys(d.blocks)) {
				err = errors.Join(err, d.release(d.blocks[id]))
			}
			clear(d.blocks)
			return errors.Join(err, d.cuda.do(cuCtxSetCurrent, 0), d.cuda.do(cuDevicePrimaryCtxRelease, d.handle))
		})
		close(d.closed)
	})
	return d.fault
}

// Available reports whether the device is open.
func (d *Device) Available() bool {
	select {
	case <-d.closed:
		return false
	default:
		return true
	}
}

// Upload copies data to the device and replaces the tensor id. If it fails, the
// old tensor stays.
func (d *Device) Upload(id string, data []byte) error {
	return d.move(id, "upload", func() error {
		b, err := d.allocate(len(data))
		if err != nil {
			return err
		}
		if err := d.ring.upload(b.at, data); err != nil {
			return errors.Join(err, d.release(b))
		}
		if err := d.release(d.blocks[id]); err != nil {
			return errors.Join(err, d.release(b))
		}
		d.blocks[id] = b
		return nil
	})
}

// Download returns a copy of the tensor id.
func (d *Device) Download(id string) (data []byte, err error) {
	err = d.move(id, "download", func() error {
		b, ok := d.blocks[id]
		if !ok {
			return errNotHere
		}
		data = make([]byte, b.bytes)
		return d.ring.download(data, b.at)
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Free frees the memory of the tensor id, if any.
func (d *Device) Free(id string) error {
	return d.move(id, "free", func() error {
		if err := d.release(d.blocks[id]); err != nil {
			return err
		}
		delete(d.blocks, id)
		return nil
	})
}

// errNotHere says that no tensor with that id is on the device.
var errNotHere = errors.New("no such tensor on the device")

// move is do with errors converted to those of adapters.
func (d *Device) move(id, what string, f func() error) error {
	err := d.do(f)
	if err == nil {
		return nil
	}
	return &memory.MoveError{Kind: memory.ErrBackendUnavailable, ID: id, Why: what, Err: err}
}

// allocate allocates device memory.
func (d *Device) allocate(n int) (block, error) {
	if n == 0 {
		return block{}, nil // the driver rejects empty allocations
	}
	b := block{bytes: n}
	err := d.cuda.do(cuMemAlloc, uintptr(unsafe.Pointer(&b.at)), uintptr(n))
	return b, err
}

func (d *Device) release(b block) error {
	if b.at == 0 {
		return nil
	}
	return d.cuda.do(cuMemFree, b.at)
}

// Check copies some bytes to the device and back and compares them.
func (d *Device) Check() error {
	const id, size = "check", 8 << 20
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i ^ i>>8 ^ i>>16)
	}
	if err := d.Upload(id, data); err != nil {
		return err
	}
	back, err := d.Download(id)
	if err == nil && !bytes.Equal(data, back) {
		err = errors.New("the device returned different bytes than it was given: do not use it")
	}
	return errors.Join(err, d.Free(id))
}

// Memory returns the free and the total memory of the device.
func (d *Device) Memory() (free, total uint64, err error) {
	err = d.do(func() error {
		return d.cuda.do(cuMemGetInfo, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	})
	return free, total, err
}

// Link measures the bytes per second of copies to and from the device, with
// pinned memory.
func (d *Device) Link() (up, down float64, err error) {
	const size, rounds = 32 << 20, 8
	err = d.do(func() (err error) {
		b, err := d.allocate(size)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.release(b)) }()
		s, err := d.ring.slot(0, size)
		if err != nil {
			return err
		}
		clock := func(copies func() error) (float64, error) {
			start := time.Now()
			for range rounds {
				if err := copies(); err != nil {
					return 0, errors.Join(err, d.ring.drain())
				}
			}
			err := d.ring.drain()
			return rounds * size / time.Since(start).Seconds(), err
		}
		once := func() error { return d.cuda.do(cuMemcpyHtoDAsync, b.at, s.at, size, d.ring.stream) }
		back := func() error { return d.cuda.do(cuMemcpyDtoHAsync, s.at, b.at, size, d.ring.stream) }
		if _, err = clock(once); err != nil { // the first copies wake the link
			return err
		}
		if up, err = clock(once); err != nil {
			return err
		}
		down, err = clock(back)
		return err
	})
	return up, down, err
}
