package grid

import (
	"slices"

	"atenia/quila/internal/neuron"
)

// A box holds a session's messages in their wire form.
type box struct {
	inboxes [][]neuron.Message // [N], in order of sender, then of arrival
	spy     func(target int, wire []byte)
	wire    []byte
	Refused int
}

// Materialise makes the session send its messages as bytes from now on: spy, if
// it is not nil, sees each before its target does and may change it. Messages
// that are already on their way would be lost, so the session must not have had
// a tick in this call. It takes option fp8, since the wire form has 8-bit floats.
func (s *Session) Materialise(spy func(target int, wire []byte)) error {
	if s.tick != 1 {
		return &gridError{"ticks before messages are materialised", 0, int(s.tick - 1)}
	}
	if !s.g.c.FP8 {
		return &gridError{"bytes of a value", 1, 4}
	}
	s.box = &box{inboxes: make([][]neuron.Message, s.g.c.N), spy: spy}
	return nil
}

// Mail returns the unread messages of a neuron of a session that materialises
// them.
func (s *Session) Mail(n int) []neuron.Message {
	if s.box == nil {
		return nil
	}
	return s.box.inboxes[n]
}

func (x *box) reset() {
	for n := range x.inboxes {
		x.inboxes[n] = nil
	}
}

func (x *box) read(n int) { x.inboxes[n] = x.inboxes[n][:0] }

// deliver puts a neuron's messages on its board.
func (x *box) deliver(b *neuron.Board[float32], n int) {
	for i := range x.inboxes[n] {
		b.Receive(&x.inboxes[n][i])
	}
}

// post sends a message over the wire and reports whether its target keeps it.
func (x *box) post(s *Session, target int, m *neuron.Message) bool {
	x.wire = m.Append(x.wire[:0])
	if x.spy != nil {
		x.spy(target, x.wire)
	}
	in := neuron.Inbox{Config: s.g.c}
	if in.Receive(slices.Clone(x.wire)) != nil {
		x.Refused++
		return false
	}
	if in.NaN > 0 {
		s.Dropped++
		return false
	}
	got := in.Messages[0]
	list := x.inboxes[target]
	at := len(list)
	for at > 0 && list[at-1].Sender > got.Sender {
		at--
	}
	x.inboxes[target] = slices.Insert(list, at, got)
	return true
}

// send is step 12 of one edge.
func (x *box) send(s *Session, l *lane, n, e, at int) bool {
	values, pos, flags := s.message(l, n, e, at)
	codes := l.codes[:len(values)]
	neuron.EncodeMessage(codes, values)
	return x.post(s, int(s.g.graph.Dst[e]), &neuron.Message{Pos: pos, Sender: uint32(n), Flags: flags, Payload: codes})
}

// say sends the boundary's messages.
func (x *box) say(s *Session, modality int, emb []float32) {
	g := s.g
	l := &g.lanes[0]
	for n := range g.c.N {
		if !s.Channels.hears(n, modality) {
			continue
		}
		g.spoken(l, n, modality, emb)
		neuron.EncodeMessage(l.codes, l.payload)
		x.post(s, n, &neuron.Message{Pos: g.place[modality], Sender: neuron.BoundarySender + uint32(modality), Payload: l.codes})
	}
}
