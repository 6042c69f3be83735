package engine

import (
	"time"

	"atenia/internal/memory"
	"atenia/internal/policy/observe"
)

// begin starts an event of the run's account.
func (p *pressure) begin() time.Time {
	p.event = observe.Event{Need: p.need()}
	return time.Now()
}

// count adds what has moved to the event.
func (p *pressure) count(done []memory.Action) {
	for _, a := range done {
		e := &p.event
		if e.First == "" {
			e.First = a.ID
		}
		r, ok := p.loop.Memory.Residence(a.ID)
		if ok && a.ID == packedID {
			e.Packed = int64(r.Bytes)
			continue
		}
		if e.Moves++; ok {
			e.Bytes += int64(r.Bytes)
		}
	}
}

// report tells the account what has moved, if anything has.
func (p *pressure) report(kind string, limit int64, began time.Time) {
	e := p.event
	if parts, _ := e.Moved(); parts == 0 {
		return
	}
	e.Kind, e.Limit, e.Took, e.Form = kind, limit, time.Since(began), p.e.Form()
	p.e.Plan.Config.Observer.Pressure(e)
	p.event = observe.Event{}
}

// stays tells the account that memory is short and nothing can be done.
func (p *pressure) stays(limit int64, why string) {
	p.e.Plan.Config.Observer.Pressure(observe.Event{Kind: observe.Stays, Limit: limit, Need: p.need(), Form: p.e.Form(), Why: why})
}
