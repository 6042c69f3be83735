package lane

import (
	"fmt"
	"time"
)

// A Lane is a queue of tasks with workers of its own.
type Lane uint8

// The lanes.
const (
	IO       Lane = iota // reads of a disk, several at once
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

// An Event is the beginning or the end of a task that ran; a task that was
// skipped has none.
type Event struct {
	Phase  Phase
	ID     uint64
	Lane   Lane
	Worker int // of the lane, from 0
	Name   string
	Tensor string
	Bytes  uint64
	At     time.Duration // of the clock
	Err    error         // of the end
}

// A Sink takes events, one at a time and in the order of their times. It must
// be quick: workers wait for it.
type Sink interface {
	Event(Event)
}

// Tee is a sink that hands events to several, in order.
type Tee []Sink

// Event hands e on.
func (t Tee) Event(e Event) {
	for _, s := range t {
		s.Event(e)
	}
}
