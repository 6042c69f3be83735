package neuron

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/quila/internal/weights"
)

// A slot numbers the tensors that a window differentiates.
type slot int

const (
	sKIn slot = iota
	sWIn
	sWInL
	sWInR
	sBIn
	sGain
	sWKV
	sWConf
	sDtB
	sSkip
	sNSA
	sRWKV
	sDtDown
	sDtUp
	sA
	sB
	sC
	sPred
	sCorr
	sGate
	sMHC
	sFXAA
	sRho
	sSpec
	sCal
	sEdgeW
	sEdgeK
	sBoundW
	sBoundK
	sF1W
	sF1B
	sF2W
	sF2B
	sABG
	slots
)

// slotNames are their names in the inventory; those of the boundary have the
// modality put in.
var slotNames = [slots]string{
	"n.k_in", "n.w_in", "n.w_in.l", "n.w_in.r", "n.b_in", "n.norm_gain", "n.wkv_w", "n.w_conf", "n.ssm.dt_b", "n.ssm.skip",
	"n.nsa", "n.rwkv", "n.ssm.dt_down", "n.ssm.dt_up", "n.ssm.a", "n.ssm.b", "n.ssm.c", "n.drc.pred", "n.drc.corr",
	"n.gate", "n.mhc", "n.fxaa", "n.rho", "s4.spec", "s5.calibration", "edge.w_out", "edge.kernel", "w_out", "kernel",
	"cm.f.1.w", "cm.f.1.b", "cm.f.2.w", "cm.f.2.b", abgName,
}

// nameOf is the name of a slot for a boundary's modality.
func nameOf(s slot, modality int) string {
	if s == sBoundW || s == sBoundK {
		return boundaryNames[modality][s-sBoundW]
	}
	return slotNames[s]
}

var boundaryNames = func() (names [][2]string) {
	for _, m := range weights.Modalities {
		names = append(names, [2]string{"boundary." + m + ".w_out", "boundary." + m + ".kernel"})
	}
	return names
}()

// part returns neuron n's rows of a gradient, nil if it is not needed.
func part[F grad.Float](v []F, n, neurons int) []F {
	if v == nil {
		return nil
	}
	w := len(v) / neurons
	return v[n*w : (n+1)*w]
}

// add adds x to dst unless that is nil.
func add[F grad.Float](dst, x []F) {
	if dst != nil {
		dense.Add(dst, x)
	}
}

// collect adds the gradients of neuron n's weights, after all ticks went back.
func (g *Grid[F]) collect(l *lane[F], sp *space[F], n int) {
	c, p, a := g.c, &sp.cells[n], &sp.adjoints[n]
	of := func(s slot) []F { return part(sp.grads[s], n, c.N) }
	add(of(sGain), a.gain)
	add(of(sBIn), a.bias)
	add(of(sSkip), a.skip)
	add(of(sWConf), a.wConf)
	b := &g.bound
	d, ns := c.D, c.NS
	if dst := of(sWKV); dst != nil { // ew = exp(−exp(w))
		for i, ew := range b.ew[n*d : (n+1)*d] {
			dst[i] += a.ew[i] * ew * F(math.Log(float64(ew)))
		}
	}
	if dst := of(sFXAA); dst != nil {
		al := b.fxaa[n]
		dst[0] += a.fxaa * al * (1 - 2*al)
	}
	if dst := of(sRho); dst != nil {
		dst[0] += a.rho * b.rho[n] * (1 - b.rho[n])
	}
	if dst := of(sCal); dst != nil {
		dst[0] += a.cal
	}
	if dst := of(sMHC); dst != nil && c.MHC != "sum" {
		SinkhornBackward(dst, a.mix[:], b.h[4*n:4*n+4], g.w.Rows("n.mhc", n), 2, c.SinkhornN, F(c.WMax), SinkhornMode(c.MHCGrad))
	}
	g.collectGate(of(sGate), of(sSpec), a, n)
	if dst := of(sNSA); dst != nil {
		l.work.AddTMul(dst, p.qkv[:p.rows*3*d], p.hm, 3*d, p.rows, d)
	}
	g.collectProducts(l, sp, n)
	if dst := of(sA); dst != nil { // A = −exp(a)
		for i, x := range b.a[n*d*ns : (n+1)*d*ns] {
			dst[i] += a.a[i] * x
		}
	}
	g.collectMaps(l, sp, n)
}

// collectGate adds the gradients of the gate's softmax.
func (g *Grid[F]) collectGate(dGate, dSpec []F, a *adjoint[F], n int) {
	d, gate := g.c.D, g.bound.gate[4*n:4*n+4]
	rows, spec := g.w.Rows("n.gate", n), g.w.Rows("s4.spec", n)
	var mean F
	for i, x := range gate {
		mean += x * a.gate[i]
	}
	for i, x := range gate {
		g := x * (a.gate[i] - mean)
		if dGate != nil {
			dense.Axpy(dGate[i*d:(i+1)*d], g, spec)
		}
		if dSpec != nil {
			dense.Axpy(dSpec, g, rows[i*d:(i+1)*d])
		}
	}
}

// collectProducts adds the gradients of what multiplies h, and of stream D's
// matrices.
func (g *Grid[F]) collectProducts(l *lane[F], sp *space[F], n int) {
	c, p, a, b := g.c, &sp.cells[n], &sp.adjoints[n], &g.bound
	d, ns, dt := c.D, c.NS, c.DT()
	of := func(s slot) []F { return part(sp.grads[s], n, c.N) }
	all := l.take(b.width * d)
	l.work.TMul(all, p.y[:p.rows*b.width], p.h[p.base*d:], b.width, p.rows, d)
	add(of(sRWKV), all[:3*d*d])
	if dst := of(sDtDown); dst != nil {
		dense.Add(dst, all[b.dt*d:(b.dt+dt)*d])
	}
	turn := func(dst []F, rows []F) { // [NS][D] to [D][NS]
		if dst == nil {
			return
		}
		for s := range ns {
			for i := range d {
				dst[i*ns+s] += rows[s*d+i]
			}
		}
	}
	turn(of(sB), all[b.b*d:])
	turn(of(sC), all[b.c*d:])
	lo := p.base
	if c.SSM == "window" { // the frames that came before the window
		lo = 0
		v := reverse[F]{g: g, l: l, sp: sp, p: p, a: a, n: n, d: d}
		ddt := l.take(p.base * dt)
		for q := range p.base {
			v.stepBack(ddt[q*dt:(q+1)*dt], a.delta[q*d:(q+1)*d], q)
		}
		if dst := of(sDtDown); dst != nil {
			l.work.AddTMul(dst, ddt, p.h, dt, p.base, d)
		}
		if dst := of(sB); dst != nil {
			rows := l.take(ns * d)
			l.work.TMul(rows, a.bt[:p.base*ns], p.h, ns, p.base, d)
			turn(dst, rows)
		}
	}
	add(of(sDtB), a.dtBias)
	if dst := of(sDtUp); dst != nil {
		up := l.take(dt * d)
		rows := p.base + p.rows - lo
		l.work.TMul(up, p.dtc[lo*dt:(p.base+p.rows)*dt], p.delta[lo*d:], dt, rows, d)
		for t := range dt {
			for i := range d {
				dst[i*dt+t] += up[t*d+i]
			}
		}
	}
	dq, q := all[b.qh*d:][:d*d], &p.drc
	if q.n > 0 {
		for i := range q.g[:q.n*d] {
			q.g[i] = -q.g[i]
		}
		l.work.AddTMul(dq, q.g[:q.n*d], q.x, d, q.n, d)
	}
	if dst := of(sCorr); dst != nil {
		dense.Add(dst, all[b.ch*d:][:d*d])
		l.work.AddMulT(dst, dq, g.w.Rows("n.drc.pred", n), d, d, d)
	}
	if dst := of(sPred); dst != nil {
		l.work.AddTMul(dst, g.w.Rows("n.drc.corr", n), dq, d, d, d)
	}
}

// collectMaps adds the gradients of step 1's tensors.
func (g *Grid[F]) collectMaps(l *lane[F], sp *space[F], n int) {
	c, p, e, w := g.c, &sp.cells[n], &g.maps, g.w
	d, area := c.D, c.H*c.H
	if !sp.in.composite {
		return
	}
	in := g.graph.Incoming(n)
	width := len(in) * d
	dcells, dwin := l.zeros(area*d), l.zeros(area*d)
	if sp.in.fp8 {
		g.collectMessages(dcells, l, sp, n)
	} else {
		dmT := l.take(max(width, c.DE) * d)
		if width > 0 {
			l.work.TMul(dmT, p.x[:p.rows*width], p.h0, width, p.rows, d)
		}
		for i, edge := range in {
			g.sender(w, int(edge)).back(part(sp.grads[sEdgeW], int(edge), g.graph.Edges()), part(sp.grads[sEdgeK], int(edge), g.graph.Edges()),
				dcells, dmT[i*d*d:(i+1)*d*d], e.cells[n], d)
		}
		if rows := g.spoken(l, sp, n); rows.n > 0 {
			l.work.TMul(dmT, rows.emb, rows.grad, c.DE, rows.n, d)
			g.boundary(w, sp.in.modality, n).back(part(sp.grads[sBoundW], n, c.N), part(sp.grads[sBoundK], n, c.N), dcells, dmT, e.cells[n], d)
		}
	}
	receiveBack(part(sp.grads[sKIn], n, c.N), dwin, dcells, e.win[n], w.Rows("n.k_in", n), c.H, d)
	g.winBack(sp.grads[sWInL], sp.grads[sWInR], sp.grads[sWIn], dwin, n)
}

// spokenRows are the embeddings that a neuron heard, and the gradients of their
// products.
type spokenRows[F grad.Float] struct {
	n         int
	emb, grad []F
}

// spoken gathers them.
func (g *Grid[F]) spoken(l *lane[F], sp *space[F], n int) (out spokenRows[F]) {
	p, d, de := &sp.cells[n], g.c.D, g.c.DE
	out.emb, out.grad = l.take(p.rows*de), l.take(p.rows*d)
	for r := range p.rows {
		e := int(p.eRow[r])
		if e < 0 {
			continue
		}
		copy(out.emb[out.n*de:(out.n+1)*de], sp.emb[e*de:])
		row := out.grad[out.n*d:][:d]
		for i, x := range p.h0[r*d:][:d] {
			row[i] = x * p.inv[r]
		}
		out.n++
	}
	return out
}

// collectShared adds the gradients of what neurons share: the consistency model,
// and the weights of the utility.
func (g *Grid[F]) collectShared(work *grad.Work[F], sp *space[F]) {
	c, d := g.c, g.c.D
	if w1 := sp.grads[sF1W]; w1 != nil && c.CM != "off" {
		part := size(sp.shared, 2*d*d)
		sp.shared = part
		clear(part)
		for n := range sp.cells {
			for _, q := range []*pass[F]{&sp.cells[n].first, &sp.cells[n].second} {
				if q.n > 0 {
					work.AddTMul(part, q.z[:q.n*2*d], q.in, 2*d, q.n, d)
				}
			}
		}
		for i := range 2 * d {
			dense.Add(w1[i*(d+1):][:d], part[i*d:(i+1)*d])
		}
	}
	var alpha, beta, gamma F
	for n := range sp.cells {
		for _, q := range []*pass[F]{&sp.cells[n].first, &sp.cells[n].second} {
			g.collectPass(work, sp, q)
		}
		a := &sp.adjoints[n]
		alpha, beta, gamma = alpha+a.alpha, beta+a.beta, gamma+a.gamma
	}
	if dst := sp.grads[sABG]; dst != nil {
		// α = clamp(share + δ), β = (1−α)·b, γ = (1−α)(1−b), b = logistic(raw)
		b := logistic(g.bound.raw)
		if x := shares[sp.phase] + float64(g.bound.alpha); x >= 0 && x <= 1 {
			dst[0] += alpha - beta*b - gamma*(1-b)
		}
		dst[1] += (beta - gamma) * (1 - sp.alpha) * b * (1 - b)
	}
}

// collectPass adds the gradients of the consistency model but its first matrix.
func (g *Grid[F]) collectPass(work *grad.Work[F], sp *space[F], q *pass[F]) {
	d := g.c.D
	if q.n == 0 {
		return
	}
	if dst := sp.grads[sF2W]; dst != nil {
		work.AddTMul(dst, q.f[:q.n*d], q.a, d, q.n, 2*d)
	}
	b1, b2, w1 := sp.grads[sF1B], sp.grads[sF2B], sp.grads[sF1W]
	for i := range q.n {
		z := q.z[i*2*d:][:2*d]
		add(b1, z)
		add(b2, q.f[i*d:][:d])
		if w1 != nil {
			t := q.t[i]
			for j, x := range z {
				w1[j*(d+1)+d] += t * x
			}
		}
	}
}
