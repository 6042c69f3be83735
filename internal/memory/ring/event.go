package ring

import (
	"fmt"
	"time"
)

// An EventKind is the kind of an [Event].
type EventKind uint8

// The kinds.
const (
	PassBegins EventKind = iota
	PassEnds             // without an error
	PassFails
	ReadBegins // of one piece of a unit
	ReadEnds
	ReadFails
	WaitBegins // a unit was not ready when needed
	UseBegins
	UseEnds
	eventKinds
)

var eventKindNames = [...]string{"PassBegins", "PassEnds", "PassFails", "ReadBegins", "ReadEnds", "ReadFails", "WaitBegins", "UseBegins", "UseEnds"}

// String returns the name of the constant.
func (k EventKind) String() string {
	if k < eventKinds {
		return eventKindNames[k]
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// An Event reports an action of a ring.
type Event struct {
	EventKind
	Unit   int // for reads, waits and uses
	Reader int // for reads, from 0
	Bytes  int // of the read
	Reads  int // in flight, including this one unless it ends
	At     time.Time
}

// A Label says what a [Unit] holds, to those who are told of events.
type Label struct {
	Name  string // of the weights that are read and used together
	Bytes int64
}

// emit passes an event to the listener, if there is one.
func (r *Ring) emit(e Event) {
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

// endUse ends the current use of a unit, if any.
func (r *Ring) endUse() {
	if r.events != nil && r.using > 0 {
		r.emit(Event{EventKind: UseEnds, Unit: r.using - 1})
		r.using = 0
	}
}
