package device

import "fmt"

// A Tag says what memory is for.
type Tag string

// What a network keeps on a device.
const (
	State  Tag = "state"
	Param  Tag = "param"
	KFEHot Tag = "kfe-hot"
	WMQHot Tag = "wmq-hot"
)

// An Advice is a hint about managed memory.
type Advice string

// The advice of the CUDA driver that a network gives.
const (
	PreferredLocation Advice = "SetPreferredLocation"
	AccessedBy        Advice = "SetAccessedBy"
)

// cpu is the device number of the host.
const cpu = -1

// A Ptr is an address; a Range a part of an allocation.
type Ptr uint64

// A Range is memory that a call is about.
type Range struct {
	Ptr  Ptr
	Size int64
}

// A Driver is what a network asks of accelerators. The calls are those of the
// CUDA driver API (cuMemAllocManaged, cuMemAdvise, cuMemPrefetchAsync, …).
type Driver interface {
	// Devices is how many there are.
	Devices() int
	// MallocManaged takes memory that the driver moves between host and devices.
	MallocManaged(size int64, tag Tag) (Range, error)
	// MemAdvise hints where pages belong, or who reads them.
	MemAdvise(r Range, a Advice, device int) error
	// MemPrefetch moves pages ahead of their use.
	MemPrefetch(r Range, device int, s Stream) error
	// Launch runs a kernel that reads and writes these ranges. Without a device
	// run does the work on the processor; it may be nil.
	Launch(kernel string, s Stream, uses []Range, run func()) error
	// Record marks a point of a stream, Wait lets another wait for it.
	Record(s Stream) (Event, error)
	Wait(s Stream, e Event) error
}

// A Stream is a queue of work on a device.
type Stream struct{ Device, Number int }

// An Event is a point of a stream.
type Event uint64

// A Call is one line of a trace.
type Call struct {
	Seq    int     `json:"seq"`
	Name   string  `json:"call"`
	Ptr    Ptr     `json:"ptr,omitempty"`
	Size   int64   `json:"size,omitempty"`
	Device int     `json:"device"`
	Stream int     `json:"stream,omitempty"`
	Event  Event   `json:"event,omitempty"`
	Tag    string  `json:"tag,omitempty"`
	Uses   []Range `json:"uses,omitempty"`
}

// A Recorder is a driver of devices that do not exist: it gives out addresses
// and keeps every call.
type Recorder struct {
	Trace []Call
	count int
	next  Ptr
	event Event
}

// NewRecorder makes a driver with so many devices.
func NewRecorder(devices int) *Recorder { return &Recorder{count: devices, next: pageSize} }

// pageSize is the driver's: allocations begin on pages of their own.
const pageSize = 2 << 20

// A callError is a call that a driver would refuse.
type callError struct{ Call, Why string }

func (e *callError) Error() string { return fmt.Sprintf("device: %s: %s", e.Call, e.Why) }

func (r *Recorder) note(c Call) {
	c.Seq = len(r.Trace)
	r.Trace = append(r.Trace, c)
}

// Devices is how many there are.
func (r *Recorder) Devices() int { return r.count }

// MallocManaged gives out addresses.
func (r *Recorder) MallocManaged(size int64, tag Tag) (Range, error) {
	if size < 1 {
		return Range{}, &callError{"MallocManaged", fmt.Sprintf("%d bytes", size)}
	}
	p := r.next
	r.next += Ptr((size + pageSize - 1) / pageSize * pageSize)
	r.note(Call{Name: "MallocManaged", Ptr: p, Size: size, Device: cpu, Tag: string(tag)})
	return Range{p, size}, nil
}

// on reports whether a device exists.
func (r *Recorder) on(call string, device int) error {
	if device < cpu || device >= r.count {
		return &callError{call, fmt.Sprintf("there is no device %d of %d", device, r.count)}
	}
	return nil
}

// MemAdvise keeps a hint.
func (r *Recorder) MemAdvise(m Range, a Advice, device int) error {
	if err := r.on("MemAdvise", device); err != nil {
		return err
	}
	r.note(Call{Name: "MemAdvise", Ptr: m.Ptr, Size: m.Size, Device: device, Tag: string(a)})
	return nil
}

// MemPrefetch keeps a move.
func (r *Recorder) MemPrefetch(m Range, device int, s Stream) error {
	if err := r.on("MemPrefetchAsync", device); err != nil {
		return err
	}
	r.note(Call{Name: "MemPrefetchAsync", Ptr: m.Ptr, Size: m.Size, Device: device, Stream: s.Number})
	return nil
}

// Launch runs the work at once.
func (r *Recorder) Launch(kernel string, s Stream, uses []Range, run func()) error {
	if err := r.on("Launch", s.Device); err != nil {
		return err
	}
	r.note(Call{Name: "Launch", Device: s.Device, Stream: s.Number, Tag: kernel, Uses: uses})
	if run != nil {
		run()
	}
	return nil
}

// Record keeps a point of a stream.
func (r *Recorder) Record(s Stream) (Event, error) {
	r.event++
	r.note(Call{Name: "EventRecord", Device: s.Device, Stream: s.Number, Event: r.event})
	return r.event, r.on("EventRecord", s.Device)
}

// Wait keeps a dependency.
func (r *Recorder) Wait(s Stream, e Event) error {
	r.note(Call{Name: "StreamWaitEvent", Device: s.Device, Stream: s.Number, Event: e})
	return r.on("StreamWaitEvent", s.Device)
}
