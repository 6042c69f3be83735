package neuron

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/quila/config"
)

// Intercept makes the matrix of an intercept from its logits.
func Intercept[F grad.Float](c *config.Config, logits []F) []F {
	n := 1
	for n*n < len(logits) {
		n++
	}
	h := make([]F, n*n)
	Sinkhorn(h, logits, n, c.SinkhornN, F(c.WMax))
	return h
}

// Generator writes row 0 of h·[m; o…], the Generator's intercept. dst
// may be m; rows of o of idle Thinkers are to be m.
func Generator[F grad.Float](dst, m, o, h []F) {
	copy(dst, m)
	dense.Scale(dst, h[0])
	for j := range len(o) / len(m) {
		dense.Axpy(dst, h[1+j], o[j*len(m):][:len(m)])
	}
}

// A merge is the Thinkers' outputs as one, [R-10.6.5].
type merge[F grad.Float] struct {
	p               *Ports[F]
	h, dh           []F // the Generator's matrix
	weight, dweight []F
	mean, through   []F
}

// newMerge returns a merge whose window is done, or another one.
func (p *Ports[F]) newMerge() *merge[F] {
	if n := len(p.merges); n > 0 {
		g := p.merges[n-1]
		p.merges = p.merges[:n-1]
		return g
	}
	th, d := p.Config.Thinkers, p.Config.D
	size := (th + 1) * (th + 1)
	return &merge[F]{p, make([]F, size), make([]F, size), make([]F, th), make([]F, th), make([]F, d), make([]F, d)}
}

// set makes the Generator's matrix.
func (g *merge[F]) set(logits []F) {
	c := g.p.Config
	Sinkhorn(g.h, logits, c.Thinkers+1, c.SinkhornN, F(c.WMax))
}

// runMerge records the merge: softmax of confidence times utility over the
// Thinkers, and the Generator's intercept where there is more than one.
func (p *Ports[F]) runMerge(t *grad.Tape[F], mhc grad.Ref, o, cu grad.Ref, tb int) (m, conf grad.Ref, err error) {
	c := p.Config
	th, d := c.Thinkers, c.D
	n := th + 1
	if len(t.Value(mhc)) != n*n {
		return 0, 0, &inputError{"tensor port.generator.mhc", n * n, len(t.Value(mhc))}
	}
	g := p.newMerge()
	g.set(t.Value(mhc))
	m, conf = t.Alloc(tb, d), t.Alloc(tb)
	if t.Err() != nil {
		return 0, 0, t.Err()
	}
	for i := range tb {
		t.Data(conf)[i] = g.row(t.Data(m)[i*d:][:d], t.Value(o), t.Value(cu), tb, i)
	}
	if err := t.Opaque(keyMerge, []grad.Ref{o, cu, mhc}, []grad.Ref{m, conf}, nil, g); err != nil {
		return 0, 0, err
	}
	if !t.Recording() {
		p.merges = append(p.merges, g)
	}
	return m, conf, nil
}

// row writes the merge of row i and returns its confidence.
func (g *merge[F]) row(m, o, cu []F, tb, i int) (conf F) {
	MergeWeights(g.weight, cu, tb, i)
	d := len(m)
	clear(m)
	for j, w := range g.weight {
		dense.Axpy(m, w, o[(j*tb+i)*d:][:d])
		conf += w * cu[j*tb+i]
	}
	if len(g.weight) > 1 { // with one Thinker the intercept is the identity
		dense.Scale(m, g.h[0])
		for j := range g.weight {
			dense.Axpy(m, g.h[1+j], o[(j*tb+i)*d:][:d])
		}
	}
	return conf
}

// MergeWeights writes the Thinkers' shares of row i of tb: the softmax of confidence
// times utility. cu has the confidences of every Thinker, then the
// utilities.
func MergeWeights[F grad.Float](weight, cu []F, tb, i int) {
	th := len(weight)
	for j := range th {
		weight[j] = cu[j*tb+i] * cu[(th+j)*tb+i]
	}
	dense.Softmax(weight, weight)
}

func mergeBack[F grad.Float](b *grad.OpaqueBack[F]) {
	g := b.Aux.(*merge[F])
	c := g.p.Config
	th, d := c.Thinkers, c.D
	o, cu, dm, dconf := b.In(0), b.In(1), b.DOut(0), b.DOut(1)
	tb := len(dconf)
	do, dcu := b.DIn(0), b.DIn(1)
	weight, dweight, dh, mean, through := g.weight, g.dweight, g.dh, g.mean, g.through
	clear(dh)
	for i := range tb {
		MergeWeights(weight, cu, tb, i)
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
		SinkhornBackward(dw, dh, g.h, b.In(2), th+1, c.SinkhornN, F(c.WMax), SinkhornMode(c.MHCGrad))
	}
	g.p.merges = append(g.p.merges, g)
}
