package tier

// An OffloadMark is what an [Offload] remembers of one tensor.
type OffloadMark struct {
	Last *uint64 `json:"last_moved"` // tick of the last plan that moves it; nil: none
	From *Tier   `json:"taken_from"` // where it was before it was taken away; nil: it was not
}

// Config returns the configuration.
func (o *Offload) Config() OffloadConfig { return o.config }

// Mark returns what is remembered of a tensor.
func (o *Offload) Mark(id string) (m OffloadMark) {
	if tick, ok := o.last[id]; ok {
		m.Last = &tick
	}
	if from, ok := o.away[id]; ok {
		m.From = &from
	}
	return m
}

// SetMark replaces what is remembered of a tensor, so that a plan can be made
// again.
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
