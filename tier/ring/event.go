package ring

import (
	"fmt"
	"time"
)

// A Moment is what an [Event] is about.
type Moment uint8

// The moments.
const (
	PassBegins Moment = iota
	PassEnds          // well
	PassFails
	ReadBegins // of one piece of a unit
	ReadEnds
	ReadFails
	WaitBegins // a unit was not there when it was wanted
	UseBegins
	UseEnds
	momentCount
)

var momentNames = [...]string{"PassBegins", "PassEnds", "PassFails", "ReadBegins", "ReadEnds", "ReadFails", "WaitBegins", "UseBegins", "UseEnds"}

// String returns the name of the constant.
func (m Moment) String() string {
	if m < momentCount {
		return momentNames[m]
	}
	return fmt.Sprintf("Moment(%d)", uint8(m))
}

// An Event is something that a ring does.
type Event struct {
	Moment
	Unit   int // of reads, waits and uses
	Reader int // of reads, from 0
	Bytes  int // of a read
	Reads  int // in flight, this one included unless it ends
	At     time.Time
}

// tell hands an event on. It costs nothing when nobody listens.
func (r *Ring) tell(e Event) {
	if r.events == nil {
		return
	}
	for _, f := range r.flight {
		if f != 0 {
			e.Reads++
		}
	}
	e.At = time.Now()
	r.events(e)
}

// quit ends the use of the unit that is in use, if there is one.
func (r *Ring) quit() {
	if r.events != nil && r.using > 0 {
		r.tell(Event{Moment: UseEnds, Unit: r.using - 1})
		r.using = 0
	}
}
