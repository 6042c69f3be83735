package neuron

import (
	"fmt"

	"atenia/grad"
)

// check says whether a window fits.
func (p *Ports[F]) check(t *grad.Tape[F], w *Window[F]) error {
	c := p.Config
	tb := w.T * w.B
	if w.T < 1 || w.B < 1 || w.Phase < 1 || w.Phase >= len(alphas) {
		return &inputError{fmt.Sprintf("window of %d steps, %d sequences in phase %d", w.T, w.B, w.Phase), 1, 0}
	}
	need := []struct {
		what      string
		got, want int
	}{
		{"neurons", len(t.Value(w.X)), tb * c.N * c.D},
		{"confidences", len(t.Value(w.Conf)), tb * c.N},
		{"slots", len(w.Slots), p.Slots() * w.B * c.D},
	}
	for _, n := range need {
		if n.got != n.want {
			return &inputError{n.what, n.want, n.got}
		}
	}
	if got := len(t.Value(w.Utility)); got != tb*c.N && (w.Utility != 0 || c.Thinkers > 1) {
		return &inputError{"utilities", tb * c.N, got}
	}
	for _, tr := range [][]F{w.Trace, w.PTrace} {
		if l := len(tr); l != 0 && l != w.B*c.N && l != tb*c.N {
			return &inputError{"traces", tb * c.N, l}
		}
	}
	if c.WMQRead && (len(w.E) != tb*c.DE || w.Queue == nil || !w.Queue.fits(c, w.B)) {
		return &inputError{"embeddings of the reader", tb * c.DE, len(w.E)}
	}
	return nil
}

// runPorts records the ports: outputs [Thinkers, T·B, D], and confidences and
// utilities [2, Thinkers, T·B].
func (p *Ports[F]) runPorts(t *grad.Tape[F], refs map[string]grad.Ref, w *Window[F]) (o, cu grad.Ref, err error) {
	if err := t.Err(); err != nil {
		return 0, 0, err
	}
	if err := p.check(t, w); err != nil {
		return 0, 0, err
	}
	c, tb := p.Config, w.T*w.B
	r := p.newRunOrFree()
	r.in = append(r.in[:0], w.X, w.Conf)
	if w.Utility != 0 {
		r.in = append(r.in, w.Utility)
	}
	r.first = len(r.in)
	for i := range r.ports {
		q := &r.ports[i]
		for j := range tCount {
			ref := refs[q.names[j]]
			if t.Value(ref) == nil {
				return 0, 0, &inputError{"tensor " + q.names[j], 1, 0}
			}
			q.fold.w[j] = t.Value(ref)
			r.in = append(r.in, ref)
		}
		q.fold.set(c, t.Work())
		q.fold.weigh(w.Phase)
	}
	r.lay(w.T, w.B, t.Recording())
	r.phase, r.extra = w.Phase, nil
	r.x, r.conf, r.util = t.Value(w.X), t.Value(w.Conf), t.Value(w.Utility)
	DivideByMean(r.nt, w.Trace, c.N)
	DivideByMean(r.np, w.PTrace, c.N)
	r.ages()
	size := w.B * c.D
	for s := range p.Slots() {
		copy(r.slot(0, s, 0, w.B), w.Slots[s*size:][:size])
	}
	o, cu = t.Alloc(c.Thinkers, tb, c.D), t.Alloc(2, c.Thinkers, tb)
	r.o, r.cu = t.Data(o), t.Data(cu)
	r.forward(t.Work())
	for s := range p.Slots() {
		copy(w.Slots[s*size:][:size], r.slot(w.T, s, 0, w.B))
	}
	if err := t.Opaque(keyPorts, r.in, []grad.Ref{o, cu}, nil, r); err != nil {
		return 0, 0, err
	}
	if !t.Recording() {
		p.free = append(p.free, r)
	}
	return o, cu, nil
}

// newRunOrFree returns a run whose window is done, or another one.
func (p *Ports[F]) newRunOrFree() *run[F] {
	if n := len(p.free); n > 0 {
		r := p.free[n-1]
		p.free = p.free[:n-1]
		return r
	}
	return p.newRun()
}

func portsBack[F grad.Float](b *grad.OpaqueBack[F]) {
	r := b.Aux.(*run[F])
	r.do, r.dcu = b.DOut(0), b.DOut(1)
	r.dx, r.dconf, r.dutil = b.DIn(0), b.DIn(1), nil
	if r.first > 2 {
		r.dutil = b.DIn(2)
	}
	r.dw = sized(&r.dw, len(r.ports))
	for i := range r.ports {
		for j := range tCount {
			r.dw[i][j] = b.DIn(r.first + i*tCount + j)
		}
	}
	r.backward(b.Work(), r.dw)
	r.p.free = append(r.p.free, r)
}
