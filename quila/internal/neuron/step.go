package neuron

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/quila/internal/weights"
)

// A Step is the input and output of one step of B sessions. Rows are in the order
// session, neuron.
type Step[F grad.Float] struct {
	Phase         int
	X             []F // h_final [B·N, D]
	Conf, Utility []F // [B·N]
	Trace, PTrace []F // [B·N]; nil is all zero
	Slots         []F // [Slots][B][D]: replaced
	E             []F // [B·D_e]: embedding of the boundary code; with wmq_read
	Queue         *Queue[F]
	Extra         []Extra[F] // [ports·B], or nil
	Idle          []bool     // [Thinkers]: those that do not take part in the merge, or nil
	M             []F        // [B, D]: the merge
	Confidence    []F        // [B]
}

// A Stepper runs the ports of sessions step by step. It computes what a window
// computes, in the same order, and allocates nothing once it has seen the number
// of sessions. It is for one goroutine at a time.
type Stepper[F grad.Float] struct {
	p      *Ports[F]
	work   *grad.Work[F]
	run    *run[F]
	reads  []*reading[F]
	merge  *merge[F]
	phase  int
	o, out []F
	cu     []F
	os     []F
}

// NewStepper folds the weights of a network. They may not change, or [Stepper.Fold]
// is called again. topK limits how many entries of the queue a Thinker reads; 0 is
// all.
func NewStepper[F grad.Float](p *Ports[F], set *weights.Set[F], topK int) *Stepper[F] {
	c := p.Config
	s := &Stepper[F]{p: p, work: grad.NewWork[F](p.threads), run: p.newRun()}
	if c.WMQRead {
		for i := range c.Thinkers {
			s.reads = append(s.reads, &reading[F]{p: p, thinker: i, topK: topK})
		}
	}
	s.merge = p.newMerge()
	s.Fold(set)
	return s
}

// Fold takes over weights.
func (s *Stepper[F]) Fold(set *weights.Set[F]) {
	c := s.p.Config
	for i := range s.run.ports {
		q := &s.run.ports[i]
		for j, name := range q.names {
			q.fold.w[j] = set.Of(name)
		}
		q.fold.set(c, s.work)
	}
	for i, r := range s.reads {
		for j, name := range s.p.readNames()[i] {
			r.weights[j] = set.Of(name)
		}
	}
	s.phase = 0
	s.merge.set(set.Of("port.generator.mhc"))
}

// Step runs one step.
func (s *Stepper[F]) Step(in *Step[F]) error {
	c, r := s.p.Config, s.run
	b := len(in.Conf) / c.N
	if err := s.check(in, b); err != nil {
		return err
	}
	if s.phase != in.Phase {
		for i := range r.ports {
			r.ports[i].fold.weigh(in.Phase)
		}
		s.phase = in.Phase
	}
	r.lay(1, b, false)
	r.phase, r.extra = in.Phase, in.Extra
	r.x, r.conf, r.util = in.X, in.Conf, in.Utility
	DivideByMean(r.nt, in.Trace, c.N)
	DivideByMean(r.np, in.PTrace, c.N)
	r.ages()
	size := b * c.D
	for i := range s.p.Slots() {
		copy(r.slot(0, i, 0, b), in.Slots[i*size:][:size])
	}
	r.o, r.cu = sized(&s.o, c.Thinkers*size), sized(&s.cu, 2*c.Thinkers*b)
	r.forward(s.work)
	for i := range s.p.Slots() {
		copy(in.Slots[i*size:][:size], r.slot(1, i, 0, b))
	}
	o := s.o
	if c.WMQRead {
		o = s.read(in, b)
	}
	for i := range b {
		s.mergeRow(in, o, b, i)
	}
	return nil
}

// read adds what the Thinkers read to their outputs.
func (s *Stepper[F]) read(in *Step[F], b int) []F {
	out := sized(&s.out, len(s.o))
	for _, r := range s.reads {
		r.lay(1, b, in.Queue.window, false)
		r.o, r.out = s.o, out
		r.forward(s.work, in.E, in.Queue)
	}
	copy(in.Queue.Last, in.E)
	for i := range in.Queue.Count {
		in.Queue.Count[i] = min(in.Queue.Count[i]+1, in.Queue.window)
	}
	return out
}

// mergeRow merges the Thinkers of session i. Those that are idle have no weight,
// and the merge in their place before the Generator's intercept.
func (s *Stepper[F]) mergeRow(in *Step[F], o []F, b, i int) {
	d, th := s.p.Config.D, s.p.Config.Thinkers
	m := in.M[i*d:][:d]
	if in.Idle == nil {
		in.Confidence[i] = s.merge.row(m, o, s.cu, b, i)
		return
	}
	live := s.merge.weight[:0]
	for j := range th {
		if !in.Idle[j] {
			live = append(live, s.cu[j*b+i]*s.cu[(th+j)*b+i])
		}
	}
	dense.Softmax(live, live)
	clear(m)
	at, conf := 0, F(0)
	for j := range th {
		if !in.Idle[j] {
			dense.Axpy(m, live[at], o[(j*b+i)*d:][:d])
			conf += live[at] * s.cu[j*b+i]
			at++
		}
	}
	in.Confidence[i] = conf
	if th == 1 {
		return
	}
	rows := sized(&s.os, th*d)
	for j := range th {
		copy(rows[j*d:][:d], o[(j*b+i)*d:][:d])
		if in.Idle[j] {
			copy(rows[j*d:][:d], m)
		}
	}
	Generator(m, m, rows, s.merge.h)
}

func (s *Stepper[F]) check(in *Step[F], b int) error {
	c := s.p.Config
	need := []struct {
		what      string
		got, want int
	}{
		{"confidences", len(in.Conf), max(b, 1) * c.N}, {"neurons", len(in.X), b * c.N * c.D},
		{"utilities", len(in.Utility), b * c.N}, {"slots", len(in.Slots), s.p.Slots() * b * c.D},
		{"merge", len(in.M), b * c.D}, {"merged confidences", len(in.Confidence), b},
	}
	for _, n := range need {
		if n.got != n.want {
			return &inputError{n.what, n.want, n.got}
		}
	}
	switch {
	case in.Phase < 1 || in.Phase >= len(alphas):
		return &inputError{"phase", len(alphas) - 1, in.Phase}
	case in.Extra != nil && len(in.Extra) != len(s.run.ports)*b:
		return &inputError{"rows of sessions", len(s.run.ports) * b, len(in.Extra)}
	case in.Idle != nil && len(in.Idle) != c.Thinkers:
		return &inputError{"idle Thinkers", c.Thinkers, len(in.Idle)}
	case c.WMQRead && (len(in.E) != b*c.DE || in.Queue == nil || !in.Queue.fits(c, b)):
		return &inputError{"embeddings of the reader", b * c.DE, len(in.E)}
	}
	for _, tr := range [][]F{in.Trace, in.PTrace} {
		if l := len(tr); l != 0 && l != b*c.N {
			return &inputError{"traces", b * c.N, l}
		}
	}
	for i := range in.Extra {
		x := &in.Extra[i]
		switch {
		case x.Bias != nil && len(x.Bias) != c.N:
			return &inputError{"bias of neurons", c.N, len(x.Bias)}
		case x.Allowed != nil && len(x.Allowed) != c.N:
			return &inputError{"neurons allowed", c.N, len(x.Allowed)}
		case x.Query != nil && len(x.Query) != c.D:
			return &inputError{"query", c.D, len(x.Query)}
		case len(x.Keys)%c.D != 0 || len(x.Keys) != len(x.Values):
			return &inputError{"values of rows", len(x.Keys), len(x.Values)}
		case len(x.Streams)%c.D != 0 || len(x.Streams) > portStreams(c)*c.D:
			return &inputError{"streams", portStreams(c) * c.D, len(x.Streams)}
		}
	}
	return nil
}

// Related marks the neurons that some Thinker of session b attended to in the last
// step: those that the Planner may attend to in the next, as [Extra.Allowed]
// . Before the first step it is all of them.
func (s *Stepper[F]) Related(dst []bool, b int) {
	n, any := s.p.Config.N, false
	for i := range dst {
		dst[i] = false
		for j := range s.run.ports {
			q := &s.run.ports[j]
			if q.Kind == Thinker && len(q.nw) >= (b+1)*n && q.nw[b*n+i] > 0 {
				dst[i], any = true, true
			}
		}
	}
	for i := range dst {
		dst[i] = dst[i] || !any
	}
}

// A Detail is what a port of a session computed in the last step. Its slices are
// valid until the next one, and must not be changed.
type Detail[F grad.Float] struct {
	*Port
	Aggr    []F     // [D]
	Scan    []F     // [N + visible]: mean weights, of neurons by id, then of slots
	Utility []F     // [N]
	Mask    []int32 // neurons attended to; nil for an Analysis
	Weights []F     // [N]: of the attention
	Logits  []F     // [N]: of those in the mask
	OutNSA  []F     // [D]
	H       []F     // [n, n]
	Merged  []F     // [n, D]: H times the streams
	O       []F     // [D]: before alignment
	Far     bool    // aligned
}

// Detail returns a port's intermediate results for session b. port is an index of
// [Ports.List].
func (s *Stepper[F]) Detail(port, b int) *Detail[F] {
	c, r := s.p.Config, s.run
	d, n, m, streamsOf := c.D, c.N, portStreams(c), c.PortStreams()
	q := &r.ports[port]
	v := len(q.Visible)
	x := &Detail[F]{Port: &q.Port, Aggr: q.ay[2*b*d:][:d], Utility: q.u[b*n:][:n], Weights: q.nw[b*n:][:n],
		Logits: q.logits[b*n:][:n], H: q.fold.h, O: q.o[b*d:][:d], Far: q.far[b]}
	x.Scan = append(append(x.Scan, q.wm[b*n:][:n]...), q.wslot[b*v:][:v]...)
	x.OutNSA = make([]F, d)
	dense.MatVec(x.OutNSA, q.fold.w[tV], q.ay[(2*b+1)*d:][:d])
	rows := make([]F, streamsOf*d)
	copy(rows, x.Aggr)
	if extra := r.extraOf(port, b); extra != nil {
		if len(extra.Keys) > 0 {
			dense.Add(x.OutNSA, q.extraValue[b*d:][:d])
		}
		copy(rows[2*d:], extra.Streams)
	}
	copy(rows[d:], x.OutNSA)
	if q.Kind != Analysis {
		for i := range n {
			x.Mask = append(x.Mask, int32(i))
		}
		selected := x.Mask
		if m < n {
			selected = q.idx[b*m:][:m]
		}
		if m < n && r.phase != 2 {
			x.Mask = nil
		}
		for a, j := range selected {
			if j < 0 {
				break
			}
			copy(rows[(2+a)*d:][:d], r.x[(b*n+int(j))*d:])
			if m < n && r.phase != 2 {
				x.Mask = append(x.Mask, j)
			}
		}
	}
	x.Merged = make([]F, streamsOf*d)
	for i := range streamsOf {
		for j := range streamsOf {
			dense.Axpy(x.Merged[i*d:][:d], q.fold.h[i*streamsOf+j], rows[j*d:][:d])
		}
	}
	return x
}
