package neuron

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// An input says where step 1 comes from.
type input[F grad.Float] struct {
	composite bool
	speaks    bool // the boundary, in this tick
	token     int  // row of emb at session 0, in sessions
	modality  int
	fp8       bool
	last      bool // tick of a token
}

// input does step 1: what the caller computed, or the neighbours' last h_final
// through the composite maps.
func (u *turn[F]) input() {
	p, d, in := u.p, u.d, &u.sp.in
	if !in.composite {
		for r := u.r0; r < u.r0+u.m; r++ {
			copy(p.h0[r*d:(r+1)*d], u.state(u.t.HIn, r, d))
		}
		return
	}
	u.counts()
	if in.fp8 {
		u.messages()
	} else {
		u.gather()
	}
	bias := u.g.w.Rows("n.b_in", u.n)
	for r := u.r0; r < u.r0+u.m; r++ {
		dense.Add(p.h0[r*d:(r+1)*d], bias)
	}
}

// counts finds how many messages every row has.
func (u *turn[F]) counts() {
	p, in := u.p, &u.sp.in
	for r := u.r0; r < u.r0+u.m; r++ {
		b := int(p.sess[r])
		count := 0
		p.eRow[r] = -1
		if in.speaks && u.g.hears(in.modality, u.n) {
			p.eRow[r] = int32(in.token*u.sp.b + b)
			count++
		}
		for _, e := range u.g.graph.Incoming(u.n) {
			if u.sp.sent[int(u.g.graph.Src[e])*u.sp.b+b] {
				count++
			}
		}
		p.inv[r] = 1 / F(max(count, 1))
	}
}

// hears reports whether a neuron receives a modality's boundary.
func (g *Grid[F]) hears(modality, n int) bool {
	return modality >= len(g.inputs) || g.inputs[modality] == nil || g.inputs[modality][n]
}

// SetInputs says which neurons hear the boundary of a modality; without it all
// do.
func (g *Grid[F]) SetInputs(modality int, neurons []bool) {
	for len(g.inputs) <= modality {
		g.inputs = append(g.inputs, nil)
	}
	g.inputs[modality] = neurons
}

// gather multiplies the mean of the neighbours' h_final by the composite maps.
func (u *turn[F]) gather() {
	p, d := u.p, u.d
	edges := u.g.graph.Incoming(u.n)
	width := len(edges) * d
	for r := u.r0; r < u.r0+u.m; r++ {
		b, inv := int(p.sess[r]), p.inv[r]
		for i, e := range edges {
			x := p.x[r*width+i*d:][:d]
			at := int(u.g.graph.Src[e])*u.sp.b + b
			if !u.sp.sent[at] {
				clear(x)
				continue
			}
			for j, v := range u.sp.hFinal[at*d:][:d] {
				x[j] = v * inv
			}
		}
	}
	out := u.of(p.h0, d)
	if width > 0 {
		u.l.work.Mul(out, u.of(p.x, width), u.g.maps.mT[u.n], u.m, width, d)
	} else {
		clear(out)
	}
	for r := u.r0; r < u.r0+u.m; r++ {
		if e := int(p.eRow[r]); e >= 0 {
			dense.Axpy(p.h0[r*d:(r+1)*d], p.inv[r], p.eM[e*d:(e+1)*d])
		}
	}
}

// embed multiplies all embeddings of a window by a neuron's boundary map.
func (g *Grid[F]) embed(l *lane[F], sp *space[F], n int) {
	c := g.c
	p, rows := &sp.cells[n], len(sp.emb)/c.DE
	p.eM = size(p.eM, rows*c.D)
	if rows > 0 {
		l.work.Mul(p.eM, sp.emb, g.maps.bT[sp.in.modality][n], rows, c.DE, c.D)
	}
}
