package grid

import (
	"math"
	"slices"

	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
	"atenia/tensor"
)

// Options of a tick. The zero value is phase 5 without temperature.
type Options struct {
	Phase       int     // 0 is 5
	Band        Band    // of a block, phases 1 and 3
	Streams     string  // that run; "" is the configuration's
	Temperature float64 // of the request; thermal_scale is applied
	Quiet       bool    // no noise at all

	// Recall, unless nil, writes what the library of a neuron makes of h_mid to
	// hKFE, which already has its values. It may be called by several threads at
	// once, for different neurons.
	Recall func(s *Session, neuron int, hMid, hKFE []float32)
}

// A batch is sessions that are stepped together.
type batch struct {
	state     *neuron.State[float32]
	sessions  []*Session
	hin, emb  []float32 // [N][B][D], [B][D_e]
	fire      []bool    // [N][B]
	util, drc []float32 // [N][B], [N][B][D]
	attn      []float32 // [N][B][G][G]; option partial_send
	cm, out   []float32 // [N][B][D] unit normals
	tick      neuron.Tick[float32]
	recall    func(s *Session, neuron int, hMid, hKFE []float32)
	adapted   func(n, slot int, hMid, hKFE []float32) // recall, by place in the batch
}

// A group is the sessions of a call that hear the same kind of input.
type group struct {
	key      int
	sessions []*Session
}

// Tick steps sessions once: what was injected is heard, who may fires, and
// messages are on their way. Phase 3 skips blocks of the band low; in
// phase 1 their neurons only take in the frame.
//
// Sessions that are stepped together again and again share memory; other
// combinations copy the channels once.
func (g *Grid) Tick(sessions []*Session, o Options) error {
	if o.Phase == 0 {
		o.Phase = 5
	}
	if o.Phase < 1 || o.Phase > 6 {
		return &gridError{"phase", 6, o.Phase}
	}
	for i, s := range sessions {
		if s.g != g {
			return &gridError{"sessions of this grid", len(sessions), i}
		}
		if slices.Contains(sessions[:i], s) {
			return &gridError{"places of a session", 1, 2}
		}
	}
	if o.Phase == 3 && o.Band == Low {
		return nil
	}
	for i := range g.groups {
		g.groups[i].sessions = g.groups[i].sessions[:0]
	}
	for _, s := range sessions {
		key := 0
		if g.composed {
			key = s.speaks()
		}
		g.group(key, s)
	}
	g.options = o
	for i := range g.groups {
		if m := &g.groups[i]; len(m.sessions) > 0 {
			g.step(g.together(m.sessions), &g.options, m.key)
		}
	}
	g.options.Recall = nil
	return nil
}

func (g *Grid) group(key int, s *Session) {
	for i := range g.groups {
		if g.groups[i].key == key {
			g.groups[i].sessions = append(g.groups[i].sessions, s)
			return
		}
	}
	g.groups = append(g.groups, group{key, []*Session{s}})
}

// together returns the batch of exactly these sessions.
func (g *Grid) together(sessions []*Session) *batch {
	home := sessions[0].home
	same := len(home.sessions) == len(sessions)
	for _, s := range sessions {
		same = same && s.home == home
	}
	if !same {
		home = &batch{state: neuron.NewState[float32](g.c, len(sessions)), sessions: slices.Clone(sessions)}
		for i, s := range sessions {
			home.state.SetSession(i, s.home.state, s.slot)
			s.home, s.slot = home, i
		}
	}
	if home.fire == nil {
		g.furnish(home)
	}
	return home
}

// furnish makes a batch's buffers.
func (g *Grid) furnish(b *batch) {
	c := g.c
	n := c.N * len(b.sessions)
	b.hin, b.fire, b.util, b.drc = make([]float32, n*c.D), make([]bool, n), make([]float32, n), make([]float32, n*c.D)
	b.emb = make([]float32, len(b.sessions)*c.DE)
	if c.PartialSend {
		groups := c.D / c.G
		b.attn = make([]float32, n*groups*groups)
	}
	for i := range g.lanes {
		l := &g.lanes[i]
		if need := len(b.sessions) * c.H * c.H; len(l.rows) < need {
			l.rows, l.out = make([]float32, need), make([]float32, len(b.sessions)*c.D)
		}
	}
}

// step is one tick of a batch.
func (g *Grid) step(b *batch, o *Options, key int) {
	g.job.b, g.job.o = b, o
	g.run(jobOpen, len(b.sessions))
	c := g.c
	low := o.Phase == 1 && o.Band == Low
	if !g.composed || low {
		g.run(jobReceive, c.N)
	}
	switch {
	case low:
		g.frame(b)
	case g.composed:
		g.neurons.Run(b.state, g.prepare(b, o), b.heard(c, key), max(key, 0))
		g.run(jobClose, len(b.sessions))
	default:
		g.neurons.Step(b.state, g.prepare(b, o))
		g.run(jobClose, len(b.sessions))
	}
	g.job.b, g.job.o = nil, nil
}

// heard gathers what the boundary says, nil if it says nothing.
func (b *batch) heard(c *config.Config, modality int) []float32 {
	if modality < 0 {
		return nil
	}
	for i, s := range b.sessions {
		copy(b.emb[i*c.DE:(i+1)*c.DE], s.ring.emb[(s.at(s.tick)*c.Modalities+modality)*c.DE:][:c.DE])
	}
	return b.emb
}

// prepare fills in what package neuron reads besides weights and state.
func (g *Grid) prepare(b *batch, o *Options) *neuron.Tick[float32] {
	t := &b.tick
	abg := g.w.Of("port.planner.abg")
	alpha, beta, gamma := neuron.Shares(o.Phase, float64(abg[0]), float64(abg[1]))
	*t = neuron.Tick[float32]{
		HIn: b.hin, Phase: o.Phase, Streams: o.Streams, Weight: float32(PhaseWeight(o.Phase, o.Band)),
		Alpha: float32(alpha), Beta: float32(beta), Gamma: float32(gamma), Utility: b.util, DRC: b.drc, Attention: b.attn,
	}
	if slices.Contains(b.fire, false) {
		t.Fire = b.fire
	}
	if !o.Quiet {
		g.draw(b, o)
	}
	if o.Recall != nil {
		if b.adapted == nil {
			b.adapted = func(n, slot int, hMid, hKFE []float32) { b.recall(b.sessions[slot], n, hMid, hKFE) }
		}
		b.recall, t.Recall = o.Recall, b.adapted
	}
	return t
}

// draw makes the noise that a tick needs: of the second step of the consistency
// model, and of step 11.
func (g *Grid) draw(b *batch, o *Options) {
	c, t := g.c, &b.tick
	if c.CM != "off" {
		for i, f := range b.fire {
			if f && b.state.Conf[i] < float32(c.CMSecond) {
				if b.cm == nil {
					b.cm = make([]float32, len(b.hin))
				}
				t.NoiseCM = b.cm
				break
			}
		}
	}
	if o.Temperature > 0 {
		if b.out == nil {
			b.out = make([]float32, len(b.hin))
		}
		t.NoiseOut, t.Temperature = b.out, float32(o.Temperature*c.ThermalScale)
	}
	if t.NoiseCM != nil || t.NoiseOut != nil {
		g.run(jobNoise, c.N)
	}
}

// noise draws for one neuron of every session.
func (g *Grid) noise(l *lane, b *batch, _ *Options, n int) {
	c, t := g.c, &b.tick
	for slot, s := range b.sessions {
		i := n*len(b.sessions) + slot
		if !b.fire[i] {
			continue
		}
		stream := weights.Stream{Seed: s.seed, Neuron: uint32(n), Tick: s.tick}
		if t.NoiseCM != nil && b.state.Conf[i] < float32(c.CMSecond) {
			stream.Site = weights.CM
			fill(t.NoiseCM[i*c.D:(i+1)*c.D], l.normal, stream)
		}
		if t.NoiseOut != nil {
			stream.Site = weights.Noise
			fill(t.NoiseOut[i*c.D:(i+1)*c.D], l.normal, stream)
		}
	}
}

func fill(dst []float32, work []float64, s weights.Stream) {
	s.Normal(work)
	for i := range dst {
		dst[i] = float32(work[i])
	}
}

// hear is step 1 of one neuron in all sessions in which it fires: unread messages
// are added, and the boards are rows of one product.
func (g *Grid) hear(l *lane, b *batch, n int) {
	c, size := g.c, len(b.sessions)
	h2, rows := c.H*c.H, 0
	for slot, s := range b.sessions {
		if !b.fire[n*size+slot] {
			continue
		}
		s.read(l, n)
		if c.Uncertainty {
			k := s.Channels
			k.doubted[n] = l.board.Doubt(k.Doubt[n*c.D : (n+1)*c.D])
		}
		l.board.Mean(l.rows[rows*h2 : (rows+1)*h2])
		rows++
	}
	if rows == 0 {
		return
	}
	if g.receive != nil {
		l.work.Mul(l.out[:rows*c.D], l.rows[:rows*h2], g.receive[n*h2*c.D:(n+1)*h2*c.D], rows, h2, c.D)
	} else {
		k := g.w.Rows("n.k_in", n)
		for r := range rows {
			neuron.Convolve(l.conv, l.rows[r*h2:(r+1)*h2], k, c.H)
			g.project(l, n, l.out[r*c.D:(r+1)*c.D])
		}
	}
	bias := g.w.Rows("n.b_in", n)
	rows = 0
	for slot := range b.sessions {
		i := n*size + slot
		if !b.fire[i] {
			continue
		}
		for j, x := range l.out[rows*c.D : (rows+1)*c.D] {
			b.hin[i*c.D+j] = x + bias[j]
		}
		rows++
	}
}

// read puts a neuron's unread messages on the board, ascending sender, then
// ascending tick; the boundary's ids are the largest.
func (s *Session) read(l *lane, n int) {
	l.board.Reset()
	if s.box != nil {
		s.box.deliver(l.board, n)
		return
	}
	g, c := s.g, s.g.c
	for _, e := range g.graph.Incoming(n) {
		src := int(g.graph.Src[e])
		for a := s.Schedule.Since[n]; a <= s.tick; a++ {
			at := s.at(a)
			if !s.ring.sent[at*c.N+src] || s.lost(at, int(e)) {
				continue
			}
			values, pos, flags := s.message(l, src, int(e), at)
			s.add(l, values, pos, flags)
		}
	}
	for m := range c.Modalities {
		if !s.Channels.hears(n, m) {
			continue
		}
		for a := s.Schedule.Since[n]; a <= s.tick; a++ {
			if at := s.at(a)*c.Modalities + m; s.ring.said[at] {
				g.spoken(l, n, m, s.ring.emb[at*c.DE:(at+1)*c.DE])
				s.add(l, l.payload, g.place[m], 0)
			}
		}
	}
}

// spoken makes the boundary's message to a neuron.
func (g *Grid) spoken(l *lane, n, modality int, emb []float32) {
	c := g.c
	w, k := c.WOutLen(), c.Kappa*c.Kappa
	neuron.Payload(l.payload, l.seeds, emb, g.bound[modality][n*w:(n+1)*w], g.kernels[modality][n*k:(n+1)*k], g.shape)
}

// add rounds a payload and puts it on the board.
func (s *Session) add(l *lane, values []float32, pos uint16, flags neuron.Flags) {
	if s.g.c.FP8 {
		codes := l.codes[:len(values)]
		tensor.EncodeE4M3(codes, values, true)
		tensor.DecodeE4M3(values, codes)
	}
	l.board.Add(values, pos, flags)
}

// lost reports whether a message was dropped for a NaN.
func (s *Session) lost(at, e int) bool {
	return s.ring.lost != nil && s.ring.lost[at*s.g.graph.Edges()+e]
}

// frame is a tick of phase 1 for a block of the band low: steps 1 to 3, the
// frame, and a little of the trace. Nothing is sent.
func (g *Grid) frame(b *batch) {
	c, st := g.c, b.state
	d, size := c.D, st.B
	weight := float32(PhaseWeight(1, Low))
	gain, receptive := g.w.Of("n.norm_gain"), g.w.Of("s4.receptive")
	for i, f := range b.fire {
		n := i / size
		st.Sent[i] = false
		if !f {
			st.Refractory[i] = max(st.Refractory[i]-1, 0)
			continue
		}
		h := b.hin[i*d : (i+1)*d]
		if c.RhoOn {
			rho := float32(1 / (1 + math.Exp(-float64(g.w.Of("n.rho")[n]))))
			for j := range h {
				h[j] += rho * st.Residual[i*d+j]
			}
		}
		scale := float32(1)
		if c.NormIn {
			var sum float32
			for _, x := range h {
				sum += x * x
			}
			scale = float32(1 / math.Sqrt(float64(sum)/float64(d)+1e-6))
		}
		var sum float32
		for j := range h {
			if c.NormIn {
				h[j] *= scale * gain[n*d+j]
			}
			h[j] *= receptive[n*d+j]
			sum += float32(math.Abs(float64(h[j])))
		}
		frames := st.Frames[i*st.Depth*d : (i+1)*st.Depth*d]
		copy(frames[d:], frames)
		copy(frames, h)
		st.Trace[i] += float32(Increment(float64(weight), float64(st.Conf[i]), float64(sum)/float64(d)))
	}
	for _, s := range b.sessions {
		s.skip()
	}
}

// skip ends a tick in which nothing was sent.
func (s *Session) skip() {
	c := s.g.c
	s.tick++
	at := s.at(s.tick)
	clear(s.ring.said[at*c.Modalities:][:c.Modalities])
	clear(s.ring.sent[at*c.N:][:c.N])
	for n, f := range s.fire {
		if f {
			s.Schedule.Read(n)
			if s.box != nil {
				s.box.read(n)
			}
		}
	}
}
