package grid

import (
	"atenia/quila/internal/neuron"
	"slices"
)

// A Copy is all that a session carries from tick to tick: channels, counters,
// mail, and what is on its way. Its memory is used again by the next
// [Session.Copy].
type Copy struct {
	state            *neuron.State[float32]
	channels         *Channels
	waited           []int32
	since            []uint64
	ring             ring
	mail             [][]neuron.Message
	tick             uint64
	dropped, overrun int
	refused          int
}

// Copy copies the session to c, which may be nil, and returns it. It allocates
// nothing if c has had a copy of this session, unless messages are materialised.
func (s *Session) Copy(c *Copy) *Copy {
	if c == nil {
		c = &Copy{state: neuron.NewState[float32](s.g.c, 1), channels: s.Channels.Clone()}
	}
	c.state.SetSession(0, s.home.state, s.slot)
	c.channels.copyFrom(s.Channels)
	c.waited, c.since = append(c.waited[:0], s.Schedule.Waited...), append(c.since[:0], s.Schedule.Since...)
	c.ring.copyFrom(&s.ring)
	c.tick, c.dropped, c.overrun = s.tick, s.Dropped, s.Overrun
	if s.box != nil {
		c.mail, c.refused = copyMail(c.mail, s.box.inboxes), s.box.Refused
	}
	return c
}

// Restore puts a copy of this session back. The copy stays as it is.
func (s *Session) Restore(c *Copy) {
	s.home.state.SetSession(s.slot, c.state, 0)
	s.Channels.copyFrom(c.channels)
	copy(s.Schedule.Waited, c.waited)
	copy(s.Schedule.Since, c.since)
	s.ring.copyFrom(&c.ring)
	s.tick, s.Dropped, s.Overrun = c.tick, c.dropped, c.overrun
	if s.box != nil {
		s.box.inboxes, s.box.Refused = copyMail(s.box.inboxes, c.mail), c.refused
	}
}

// copyFrom copies a ring. One that has lost nothing has no list of what it lost.
func (r *ring) copyFrom(from *ring) {
	r.h, r.doubt, r.emb = append(r.h[:0], from.h...), append(r.doubt[:0], from.doubt...), append(r.emb[:0], from.emb...)
	r.sent, r.said, r.tile = append(r.sent[:0], from.sent...), append(r.said[:0], from.said...), append(r.tile[:0], from.tile...)
	if r.lost = append(r.lost[:0], from.lost...); len(r.lost) == 0 {
		r.lost = nil
	}
}

// copyMail copies inboxes. Payloads are shared: they do not change once they are
// delivered.
func copyMail(dst, src [][]neuron.Message) [][]neuron.Message {
	if len(dst) != len(src) {
		dst = make([][]neuron.Message, len(src))
	}
	for n := range src {
		dst[n] = slices.Concat(src[n])
	}
	return dst
}
