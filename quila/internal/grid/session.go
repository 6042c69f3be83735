package grid

import (
	"atenia/quila/internal/neuron"
	"math"
)

// A Session is one conversation's part of a grid. Its channels lie in a batch
// with those of the sessions that are stepped together with it.
type Session struct {
	Schedule *Schedule
	Channels *Channels // S1, S5, S6 and S8, what package neuron does not keep

	g    *Grid
	seed uint64
	home *batch
	slot int

	tick uint64 // of the next step, from 1
	ring ring
	box  *box // materialised messages, or nil

	rests   []int32 // [N] scratch of a tick
	utility []float32
	fire    []bool
	resend  []bool

	// Dropped counts messages with a NaN; Overrun counts messages that were not
	// read before the ring came round, which the bound of rules out.
	Dropped, Overrun int
}

// A ring keeps what messages are made of, by tick of arrival modulo its depth.
type ring struct {
	h     []float32 // [depth][N][D]
	sent  []bool    // [depth][N]
	tile  []uint8   // [depth][E]: 0 full, else the tile plus 1; option partial_send
	doubt []float32 // [depth][N][D]; option uncertainty
	lost  []bool    // [depth][E]: dropped for a NaN; nil until there is one
	emb   []float32 // [depth][modalities][D_e]
	said  []bool    // [depth][modalities]
}

// Session begins a conversation. Its random numbers depend on the seed, the
// neuron and the tick alone.
func (g *Grid) Session(seed uint64) *Session {
	c, e := g.c, g.graph.Edges()
	s := &Session{
		g: g, seed: seed, Schedule: NewSchedule(c), Channels: newChannels(c, e),
		rests: make([]int32, c.N), utility: make([]float32, c.N), fire: make([]bool, c.N), resend: make([]bool, c.N),
	}
	s.ring = ring{
		h: make([]float32, g.depth*c.N*c.D), sent: make([]bool, g.depth*c.N),
		emb: make([]float32, g.depth*c.Modalities*c.DE), said: make([]bool, g.depth*c.Modalities),
	}
	if c.PartialSend {
		s.ring.tile = make([]uint8, g.depth*e)
	}
	if c.Uncertainty {
		s.ring.doubt = make([]float32, g.depth*c.N*c.D)
	}
	s.home = &batch{state: neuron.NewState[float32](c, 1), sessions: []*Session{s}}
	s.Reset()
	return s
}

// Reset ends the call and begins another: S1, S3, S6 and S8 are the baseline's,
// S2 is empty, confidence is init_conf, no message is on its way, and the
// session's trace is the persistent one.
func (s *Session) Reset() {
	g, c := s.g, s.g.c
	s.tick = 1
	clear(s.ring.sent)
	clear(s.ring.said)
	clear(s.ring.lost)
	s.Schedule.Reset()
	s.Dropped, s.Overrun = 0, 0
	if s.box != nil {
		s.box.reset()
	}
	st := s.home.state
	st.SetSession(s.slot, g.baseline.State, 0)
	for n := range c.N {
		i := n*st.B + s.slot
		st.Trace[i] = st.PTrace[i]
		if c.Refractory && c.Stagger {
			st.Refractory[i] = int32(n % int(c.RefBase+1))
		}
	}
	s.Channels.copyFrom(g.baseline.Channels)
	if g.composed {
		g.neurons.SetInputs(0, s.Channels.inputs(0))
	}
}

// Seed is what the session's random numbers depend on.
func (s *Session) Seed() uint64 { return s.seed }

// Ticks is how many ticks the call has had.
func (s *Session) Ticks() uint64 { return s.tick - 1 }

// State copies the channels that package neuron keeps.
func (s *Session) State() *neuron.State[float32] {
	st := neuron.NewState[float32](s.g.c, 1)
	st.SetSession(0, s.home.state, s.slot)
	return st
}

// SetState replaces the channels that package neuron keeps, those of one
// session.
func (s *Session) SetState(st *neuron.State[float32]) { s.home.state.SetSession(s.slot, st, 0) }

// View returns where the session's channels are: a state and the session's place
// in it. Values of neuron n and width w begin at (n·B+slot)·w. It is valid until
// the next tick with other sessions.
func (s *Session) View() (st *neuron.State[float32], slot int) { return s.home.state, s.slot }

// Inject lets the boundary of a modality say an embedding, which input neurons
// read at the next tick. Saying two things at once is an error.
func (s *Session) Inject(modality int, embedding []float32) error {
	c := s.g.c
	if modality < 0 || modality >= c.Modalities {
		return &gridError{"modalities", c.Modalities, modality}
	}
	if len(embedding) != c.DE {
		return &gridError{"dimensions of an embedding", c.DE, len(embedding)}
	}
	for i, x := range embedding {
		if x-x != 0 {
			return &gridError{"index of a value that is not finite", c.DE, i}
		}
	}
	at := s.at(s.tick)*c.Modalities + modality
	if s.ring.said[at] {
		return &gridError{"embeddings of a modality in a tick", 1, 2}
	}
	s.ring.said[at] = true
	copy(s.ring.emb[at*c.DE:(at+1)*c.DE], embedding)
	for n := range c.N {
		if s.Channels.hears(n, modality) {
			s.Schedule.Arrive(n, s.tick)
		}
	}
	if s.box != nil {
		s.box.say(s, modality, embedding)
	}
	return nil
}

// at is the place of an arrival in the ring.
func (s *Session) at(tick uint64) int { return int(tick % uint64(s.g.depth)) }

// speaks is the modality that says something at this tick, -1 for none and -2
// for several.
func (s *Session) speaks() int {
	c := s.g.c
	found := -1
	for m, said := range s.ring.said[s.at(s.tick)*c.Modalities:][:c.Modalities] {
		switch {
		case said && found >= 0:
			return -2
		case said:
			found = m
		}
	}
	return found
}

// open decides who fires at this tick.
func (s *Session) open(b *batch, fire []bool) {
	st, size := b.state, b.state.B
	since := s.Schedule.Since
	for n := range since {
		i := n*size + s.slot
		if since[n] != 0 && s.tick-since[n] >= uint64(s.g.depth) {
			s.Overrun++
			since[n] = s.tick - uint64(s.g.depth) + 1
		}
		s.rests[n], s.utility[n] = st.Refractory[i], st.Utility[i]
		s.resend[n] = s.g.c.RefractoryResend && s.rests[n] > 0
	}
	clear(s.fire)
	for _, n := range s.Schedule.Choose(s.rests, s.utility) {
		s.fire[n] = true
		s.Channels.listen(s, b, int(n))
	}
	for n, f := range s.fire {
		fire[n*size+s.slot] = f
	}
}

// close is steps 9 and 12 of what the session keeps itself: mail of those who
// fired is read, and what they send is in the ring for the next tick.
func (s *Session) close(l *lane, b *batch, o *Options) {
	g, c := s.g, s.g.c
	s.Channels.update(s, b)
	next := s.tick + 1
	at := s.at(next)
	clear(s.ring.said[at*c.Modalities:][:c.Modalities])
	if s.ring.lost != nil {
		clear(s.ring.lost[at*g.graph.Edges():][:g.graph.Edges()])
	}
	for n, f := range s.fire {
		if f {
			s.Schedule.Read(n)
			if s.box != nil {
				s.box.read(n)
			}
		}
	}
	for n, f := range s.fire {
		s.ring.sent[at*c.N+n] = f || s.resend[n]
		if f || s.resend[n] {
			s.send(l, b, n, next)
		}
	}
	s.tick = next
}

// send puts a neuron's h_final into the ring and flags its targets.
func (s *Session) send(l *lane, b *batch, n int, arrival uint64) {
	g, c := s.g, s.g.c
	at, size := s.at(arrival), b.state.B
	h := b.state.HFinal[(n*size+s.slot)*c.D:][:c.D]
	lo, hi := g.graph.Outgoing(n)
	if g.composed {
		for e := lo; e < hi; e++ {
			s.Schedule.Arrive(int(g.graph.Dst[e]), arrival)
		}
		return
	}
	copy(s.ring.h[(at*c.N+n)*c.D:][:c.D], h)
	if c.Uncertainty {
		copy(s.ring.doubt[(at*c.N+n)*c.D:][:c.D], s.Channels.Uncertainty[n*c.D:][:c.D])
	}
	check := false
	for _, x := range h {
		check = check || !(math.Abs(float64(x)) < float64(g.safe))
	}
	for e := lo; e < hi; e++ {
		if c.PartialSend {
			s.ring.tile[at*g.graph.Edges()+e] = s.choose(l, b, n, e, h)
		}
		if check && s.broken(l, n, e, at) || s.box != nil && !s.box.send(s, l, n, e, at) {
			continue
		}
		s.Schedule.Arrive(int(g.graph.Dst[e]), arrival)
	}
}

// broken reports whether a message has a NaN, and remembers that it is dropped.
// It is asked only of neurons whose h could make one.
func (s *Session) broken(l *lane, n, e, at int) bool {
	edges := s.g.graph.Edges()
	values, _, _ := s.message(l, n, e, at)
	if neuron.EncodeMessage(l.codes[:len(values)], values) {
		return false
	}
	if s.ring.lost == nil {
		s.ring.lost = make([]bool, s.g.depth*edges)
	}
	s.ring.lost[at*edges+e] = true
	s.Dropped++
	return true
}

// choose returns the tile that an edge sends, plus 1, or 0 for all of it. What a
// resting neuron repeats is sent whole, since its attention is not kept.
func (s *Session) choose(l *lane, b *batch, n, e int, h []float32) uint8 {
	g, c := s.g, s.g.c
	if !s.fire[n] {
		return 0
	}
	groups := c.D / c.G
	attn := b.attn[(n*b.state.B+s.slot)*groups*groups:][:groups*groups]
	w := g.wOut[e*c.WOutLen() : (e+1)*c.WOutLen()]
	t, _, ok := neuron.Choose(attn, h, w, g.graph.Pos[e], c, float32(c.PartialSendThreshold), l.tiles)
	if !ok {
		return 0
	}
	return uint8(1 + t.Row*neuron.Tiles + t.Col)
}

// message makes the message of an edge that arrived at a place of the ring:
// values before rounding, position and flags. They are the lane's.
func (s *Session) message(l *lane, n, e, at int) ([]float32, uint16, neuron.Flags) {
	g, c := s.g, s.g.c
	k := c.Kappa * c.Kappa
	h := s.ring.h[(at*c.N+n)*c.D:][:c.D]
	neuron.Payload(l.payload, l.seeds, h, g.wOut[e*c.WOutLen():(e+1)*c.WOutLen()], g.kernel[e*k:(e+1)*k], g.shape)
	values, pos, flags := l.payload, g.graph.Pos[e], neuron.Flags(0)
	if c.PartialSend {
		if code := s.ring.tile[at*g.graph.Edges()+e]; code > 0 {
			t := neuron.TileAt(int(code-1), pos, c.H)
			q := c.H / neuron.Tiles
			neuron.Cut(l.tile, values, t, c.H)
			values, pos, flags = l.tile[:q*q], t.Pos, neuron.Partial|neuron.Quarter
		}
	}
	if c.Uncertainty {
		side := neuron.Side(c, flags)
		neuron.Resample(values[(side-1)*side:side*side], s.ring.doubt[(at*c.N+n)*c.D:][:c.D])
		flags |= neuron.Uncertainty
	}
	return values, pos, flags
}
