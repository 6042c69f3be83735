package memory

// An OffloadMark is the state that an [Offload] keeps for one tensor.
type OffloadMark struct {
	Last *uint64 `json:"last_moved"` // tick of the last plan that moves it; nil: never planned
	From *Tier   `json:"taken_from"` // tier it was evicted from; nil: not evicted
}

// Config returns the configuration.
func (o *Offload) Config() OffloadConfig { return o.config }

// Mark returns the state kept for a tensor.
func (o *Offload) Mark(id string) (m OffloadMark) {
	if tick, ok := o.last[id]; ok {
		m.Last = &tick
	}
	if from, ok := o.away[id]; ok {
		m.From = &from
	}
	return m
}

// SetMark replaces the state kept for a tensor, so that a recorded plan can be
// replayed.
func (o *Offload) SetMark(id string, m OffloadMark) {
	delete(o.last, id)
	delete(o.away, id)
	if m.Last != nil {
		o.last[id] = *m.Last
	}
	if m.From != nil {
		o.away[id] = *m.From
	}
}
