package port

import (
	"fmt"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/quila/internal/sinkhorn"
)

// check says whether a window fits.
func (p *Ports[F]) check(t *grad.Tape[F], w *Window[F]) error {
	c := p.Config
	tb := w.T * w.B
	if w.T < 1 || w.B < 1 || w.Phase < 1 || w.Phase >= len(alphas) {
		return &InputError{fmt.Sprintf("window of %d steps, %d sequences in phase %d", w.T, w.B, w.Phase), 1, 0}
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
			return &InputError{n.what, n.want, n.got}
		}
	}
	if got := len(t.Value(w.Utility)); got != tb*c.N && (w.Utility != 0 || c.Thinkers > 1) {
		return &InputError{"utilities", tb * c.N, got}
	}
	for _, tr := range [][]F{w.Trace, w.PTrace} {
		if l := len(tr); l != 0 && l != w.B*c.N && l != tb*c.N {
			return &InputError{"traces", tb * c.N, l}
		}
	}
	if c.WMQRead && (len(w.E) != tb*c.DE || w.Queue == nil || !w.Queue.fits(c, w.B)) {
		return &InputError{"embeddings of the reader", tb * c.DE, len(w.E)}
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
				return 0, 0, &InputError{"tensor " + q.names[j], 1, 0}
			}
			q.fold.w[j] = t.Value(ref)
			r.in = append(r.in, ref)
		}
		q.fold.set(c, t.Work(), w.Phase)
	}
	r.lay(w.T, w.B, t.Recording())
	r.phase, r.extra = w.Phase, nil
	r.x, r.conf, r.util = t.Value(w.X), t.Value(w.Conf), t.Value(w.Utility)
	divideByMean(r.nt, w.Trace, c.N)
	divideByMean(r.np, w.PTrace, c.N)
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

// A merge is the Thinkers' outputs as one, [R-10.6.5].
type merge[F grad.Float] struct {
	thinkers, d, rounds int
	limit               F
	mode                sinkhorn.Mode
	h                   []F // the Generator's matrix
}

// runMerge records the merge: softmax of confidence times utility over the
// Thinkers, and the Generator's intercept where there is more than one.
func (p *Ports[F]) runMerge(t *grad.Tape[F], mhc grad.Ref, o, cu grad.Ref, tb int) (m, conf grad.Ref, err error) {
	c := p.Config
	th, d := c.Thinkers, c.D
	n := th + 1
	g := &merge[F]{th, d, c.SinkhornN, F(c.WMax), sinkhorn.Mode(c.MHCGrad), make([]F, n*n)}
	if len(t.Value(mhc)) != n*n {
		return 0, 0, &InputError{"tensor port.generator.mhc", n * n, len(t.Value(mhc))}
	}
	sinkhorn.Forward(g.h, t.Value(mhc), n, g.rounds, g.limit)
	m, conf = t.Alloc(tb, d), t.Alloc(tb)
	if t.Err() != nil {
		return 0, 0, t.Err()
	}
	weight := make([]F, th)
	for i := range tb {
		t.Data(conf)[i] = g.row(t.Data(m)[i*d:][:d], weight, t.Value(o), t.Value(cu), tb, i)
	}
	return m, conf, t.Opaque(keyMerge, []grad.Ref{o, cu, mhc}, []grad.Ref{m, conf}, nil, g)
}

// row writes the merge of row i and returns its confidence.
func (g *merge[F]) row(m, weight, o, cu []F, tb, i int) (conf F) {
	mergeWeights(weight, cu, tb, i)
	clear(m)
	for j, w := range weight {
		dense.Axpy(m, w, o[(j*tb+i)*g.d:][:g.d])
		conf += w * cu[j*tb+i]
	}
	if g.thinkers > 1 { // with one Thinker the intercept is the identity
		dense.Scale(m, g.h[0])
		for j := range g.thinkers {
			dense.Axpy(m, g.h[1+j], o[(j*tb+i)*g.d:][:g.d])
		}
	}
	return conf
}

// mergeWeights are the Thinkers' shares: the softmax of confidence times utility.
func mergeWeights[F grad.Float](weight, cu []F, tb, i int) {
	th := len(weight)
	for j := range th {
		weight[j] = cu[j*tb+i] * cu[(th+j)*tb+i]
	}
	dense.Softmax(weight, weight)
}

func mergeBack[F grad.Float](b *grad.OpaqueBack[F]) {
	g := b.Aux.(*merge[F])
	th, d, n := g.thinkers, g.d, g.thinkers+1
	o, cu, dm, dconf := b.In(0), b.In(1), b.DOut(0), b.DOut(1)
	tb := len(dconf)
	do, dcu := b.DIn(0), b.DIn(1)
	weight, dweight, dh := make([]F, th), make([]F, th), make([]F, n*n)
	mean, through := make([]F, d), make([]F, d)
	for i := range tb {
		mergeWeights(weight, cu, tb, i)
		copy(through, dm[i*d:][:d])
		if th > 1 {
			clear(mean)
			for j, w := range weight {
				x := o[(j*tb+i)*d:][:d]
				dense.Axpy(mean, w, x)
				dh[1+j] += dense.Dot(through, x)
				if do != nil {
					dense.Axpy(do[(j*tb+i)*d:][:d], g.h[1+j], through)
				}
			}
			dh[0] += dense.Dot(through, mean)
			dense.Scale(through, g.h[0])
		}
		var dot F
		for j, w := range weight {
			dweight[j] = dense.Dot(through, o[(j*tb+i)*d:][:d]) + dconf[i]*cu[j*tb+i]
			dot += w * dweight[j]
			if do != nil {
				dense.Axpy(do[(j*tb+i)*d:][:d], w, through)
			}
		}
		if dcu == nil {
			continue
		}
		for j, w := range weight {
			dl := w * (dweight[j] - dot)
			dcu[j*tb+i] += dl*cu[(th+j)*tb+i] + dconf[i]*w
			dcu[(th+j)*tb+i] += dl * cu[j*tb+i]
		}
	}
	if dw := b.DIn(2); dw != nil && th > 1 {
		sinkhorn.Backward(dw, dh, g.h, b.In(2), n, g.rounds, g.limit, g.mode)
	}
}
