package observe

import (
	"errors"

	"atenia/internal/memory/lane"
	"atenia/internal/memory/ring"
	"atenia/internal/policy/trace"
)

// The ids of tasks: there is one of each at a time, and a read of each reader.
const (
	idStep = 1 + iota
	idUse
	idWait
	idRead
)

// errRead and errPass mark failed reads and passes in a trace; the model's
// caller gets the cause.
var (
	errRead = errors.New("the read failed")
	errPass = errors.New("the pass was given up")
)

// Watch is told what a ring will read and returns who is told of its events.
func (o *Observer) Watch(units []ring.Label) func(ring.Event) {
	o.units = units
	return o.event
}

// event records an event of a ring, which calls it sequentially.
func (o *Observer) event(e ring.Event) {
	o.at = max(o.at, e.At.Sub(o.epoch))
	switch e.EventKind {
	case ring.PassBegins:
		o.used = o.used[:0]
	case ring.ReadBegins, ring.ReadEnds, ring.ReadFails:
		o.read(&e)
	case ring.WaitBegins:
		o.waiting = e.Unit + 1
		o.send(lane.Begin, idWait, "wait:", e.Unit, 0, nil)
	case ring.UseBegins:
		o.waited(nil)
		o.used = append(o.used, e.Unit)
		o.send(lane.Begin, idUse, "compute:", e.Unit, 0, nil)
	case ring.UseEnds:
		o.send(lane.End, idUse, "compute:", e.Unit, o.units[e.Unit].Bytes, nil)
	case ring.PassFails:
		o.waited(errPass)
	}
}

// waited ends a wait, if there is one.
func (o *Observer) waited(err error) {
	if o.waiting > 0 {
		o.send(lane.End, idWait, "wait:", o.waiting-1, 0, err)
		o.waiting = 0
	}
}

func (o *Observer) read(e *ring.Event) {
	var err error
	phase := lane.End
	switch e.EventKind {
	case ring.ReadBegins:
		phase = lane.Begin
	case ring.ReadFails:
		err = errRead
	}
	u := &o.units[e.Unit]
	x := lane.Event{
		Phase: phase, ID: idRead + uint64(e.Reader), Lane: lane.IO, Worker: e.Reader,
		Name: "prefetch:" + u.Name, Tensor: u.Name, Bytes: uint64(e.Bytes), At: o.at, Err: err,
	}
	o.sinks.Event(x)
	if o.trace != nil {
		o.trace.Counter("queue depth", o.at, trace.Value{Name: "reads", Value: float64(e.Reads)})
	}
}

// send records what the processor does with a unit. No arrow leads to or from a
// wait, so it names no tensor.
func (o *Observer) send(phase lane.Phase, id uint64, verb string, unit int, bytes int64, err error) {
	e := lane.Event{Phase: phase, ID: id, Lane: lane.Compute, Name: verb + o.units[unit].Name, Bytes: uint64(bytes), At: o.at, Err: err}
	if id == idUse {
		e.Tensor = o.units[unit].Name
	}
	o.sinks.Event(e)
}
