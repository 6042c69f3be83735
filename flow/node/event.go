package node

import (
	"fmt"
	"sync/atomic"
)

// An EventKind says what an [Event] is.
type EventKind uint8

// The kinds of events, after the channel messages of MIDI 1.0.
const (
	NoteOn          EventKind = iota + 1 // Key goes down with velocity Value; a velocity of 0 is a NoteOff
	NoteOff                              // Key goes up
	KeyPressure                          // pressure Value on Key
	Controller                           // controller number Key moves to Value
	Program                              // program number Key is selected
	ChannelPressure                      // pressure Value on the whole channel
	PitchBend                            // the bender moves to Value, -1 to 1
)

var eventNames = [...]string{NoteOn: "on", NoteOff: "off", KeyPressure: "pressure", Controller: "control", Program: "program", ChannelPressure: "touch", PitchBend: "bend"}

// String returns the word of the text form.
func (k EventKind) String() string {
	if int(k) >= len(eventNames) || k == 0 {
		return fmt.Sprintf("EventKind(%d)", uint8(k))
	}
	return eventNames[k]
}

// MarshalText writes the word of the text form.
func (k EventKind) MarshalText() ([]byte, error) {
	if int(k) >= len(eventNames) || k == 0 {
		return nil, fmt.Errorf("no kind of event has number %d", uint8(k))
	}
	return []byte(eventNames[k]), nil
}

// UnmarshalText reads the word of the text form.
func (k *EventKind) UnmarshalText(text []byte) error {
	for i, name := range eventNames {
		if i > 0 && name == string(text) {
			*k = EventKind(i)
			return nil
		}
	}
	return fmt.Errorf("%q is no kind of event", text)
}

// An Event is a note or a message of a controller, for the node that receives it.
type Event struct {
	Offset  int32 // tokens from the first of the call to the one at which it happens
	Kind    EventKind
	Channel uint8   // 0 to 15
	Key     uint8   // 0 to 127: note (69 is A4), controller or program
	Value   float32 // velocity, pressure or position, 0 to 1; of a bender -1 to 1
	Tune    float32 // semitones added to the note, for tunings that MIDI cannot write
}

// A Listener is an instance that may take events: its calls get them in
// [Call.Events] if Listen returns true, which must not change.
type Listener interface{ Listen() bool }

// eventClasses bounds the number of buffers of an [Events], each twice the size
// of the one before.
const eventClasses = 26

// Events holds the events of one call, in the order of their offsets and, at one
// offset, of their arrival. They are the field Events of a [Call], which the host fills before the call.
//
// Reserve may be called by one goroutine while another fills and reads: the
// others store no pointer, as real time requires.
type Events struct {
	sizes [eventClasses][]Event
	class atomic.Int32 // the largest size
	now   int32        // the size in use, since Clear
	n     int
}

// All returns the events. A nil Events has none.
func (e *Events) All() []Event {
	if e == nil {
		return nil
	}
	return e.sizes[e.now][:e.n]
}

// Clear removes all events.
func (e *Events) Clear() { e.n, e.now = 0, e.class.Load() }

// Add appends an event. It returns false if there is no room, which Reserve
// makes.
func (e *Events) Add(x Event) bool {
	if e.n == len(e.sizes[e.now]) {
		return false
	}
	e.sizes[e.now][e.n] = x
	e.n++
	return true
}

// Reserve makes room for n events from the next Clear on.
func (e *Events) Reserve(n int) {
	k := int32(0)
	for k < eventClasses-1 && 64<<k < n {
		k++
	}
	if e.sizes[k] == nil {
		e.sizes[k] = make([]Event, 64<<k)
	}
	e.class.Store(max(k, e.class.Load()))
}
