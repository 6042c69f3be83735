package observe

import (
	"time"

	"atenia/internal/memory"
)

// The kinds of an [Event] of pressure.
const (
	Left  = "left memory" // for files
	Back  = "came back"   // into memory
	Stays = "stays"       // nothing that could move would help
)

// An Event is what memory pressure, or its end, changed while a model ran.
type Event struct {
	Kind   string
	Step   int           // tokens decoded before it, set by the observer
	Until  int           // likewise, before the last of several batches that are one event; 0 = there was one
	At     time.Duration // after the run began, likewise
	Limit  int64         // of the memory that the process may have
	Need   int64         // of it before the event
	Took   time.Duration // until the next step could run
	Moves  int           // weights and sequences
	Bytes  int64         // of them
	Packed int64         // of the packed form of the weights, if it moved as well or alone
	First  string        // the id of one of them
	Form   string        // how the weights lie since then
	Why    string        // for Stays
}

// Moved returns how many parts moved and their bytes. The packed form is that of the same
// weights, so the two are told once, as the larger.
func (e *Event) Moved() (parts int, bytes int64) {
	if parts = e.Moves; e.Packed > 0 {
		parts = max(parts, 1)
	}
	return parts, max(e.Bytes, e.Packed)
}

// maxEvents bounds the events that are kept.
const maxEvents = 24

// Pressure records an event. It is called between two steps. Weights come back in
// batches, which are one event; so is a limit that goes on falling.
func (o *Observer) Pressure(e Event) {
	if o == nil {
		return
	}
	t := &o.tally
	e.Step, e.At = t.Decode.Steps, time.Since(t.Started)
	if n := len(t.Events); n > 0 && t.More == 0 && e.Kind != Left && t.Events[n-1].Kind == e.Kind {
		last := &t.Events[n-1]
		last.Packed = max(last.Packed, e.Packed)
		last.Moves, last.Bytes, last.Took, last.Form, last.Why = last.Moves+e.Moves, last.Bytes+e.Bytes, last.Took+e.Took, e.Form, e.Why
		if last.Until = e.Step; e.Kind == Stays {
			last.Limit = e.Limit
		}
		return
	}
	if len(t.Events) == maxEvents {
		t.More++
		return
	}
	t.Events = append(t.Events, e)
}

// Spilled counts pages of a sequence that were written to a file.
func (o *Observer) Spilled(bytes int64, took time.Duration) {
	if o != nil && o.metrics != nil {
		o.metrics.Moved(memory.RAM, memory.SSD, uint64(bytes), took)
		o.metrics.WrittenSSD(uint64(bytes))
	}
}

// Restored counts pages of a sequence that were read back.
func (o *Observer) Restored(bytes int64, took time.Duration) {
	if o != nil && o.metrics != nil {
		o.metrics.Moved(memory.SSD, memory.RAM, uint64(bytes), took)
	}
}

// Damaged counts a file of a cache whose content was not used, since it is not
// what was written.
func (o *Observer) Damaged() {
	if o != nil && o.metrics != nil {
		o.metrics.Corrupt()
	}
}
