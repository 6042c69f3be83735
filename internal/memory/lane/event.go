package lane

import (
	"fmt"
	"time"
)

// A Lane is a queue with its own workers.
type Lane uint8

// The lanes.
const (
	IO       Lane = iota // disk reads, several at once
	Transfer             // copies between memories
	Compute              // kernels on the processor
	Device               // kernels on a device
	laneCount
)

var laneNames = [...]string{"Io", "Transfer", "Compute", "Device"}

func (l Lane) String() string {
	if l < laneCount {
		return laneNames[l]
	}
	return fmt.Sprintf("Lane(%d)", uint8(l))
}

// A Phase is which end of a task an event is.
type Phase uint8

// The phases.
const (
	Begin Phase = iota
	End
)

// An Event is the start or the end of a task that ran; skipped tasks emit none.
type Event struct {
	Phase  Phase
	ID     uint64
	Lane   Lane
	Worker int // within the lane, from 0
	Name   string
	Tensor string
	Bytes  uint64
	Idle   bool          // the worker waits: a part of no computation
	At     time.Duration // by the configured clock
	Err    error         // at the end of the task
}

// A Sink receives events one at a time, in the order of their times. It must be
// quick: workers wait for it.
type Sink interface {
	Event(Event)
}

// Tee is a sink that passes events to several sinks, in order.
type Tee []Sink

// Event passes e to every sink.
func (t Tee) Event(e Event) {
	for _, s := range t {
		s.Event(e)
	}
}
