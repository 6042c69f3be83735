package neuron

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// normEpsilon is what the norm of step 1 adds to the mean square.
const normEpsilon = 1e-6

// A turn is one tick of one neuron: rows r0 to r0+m of its cell.
type turn[F grad.Float] struct {
	g     *Grid[F]
	l     *lane[F]
	sp    *space[F]
	s     *State[F]
	t     *Tick[F]
	p     *cell[F]
	n, k  int // neuron, tick of the window
	r0, m int
	d     int
}

// forward runs tick k of neuron n: step 2 chooses the rows, the others follow.
func (g *Grid[F]) forward(l *lane[F], sp *space[F], s *State[F], t *Tick[F], n, k int) {
	p := &sp.cells[n]
	u := turn[F]{g: g, l: l, sp: sp, s: s, t: t, p: p, n: n, k: k, r0: p.rows, d: g.c.D}
	p.start[k], p.drc.start[k], p.first.start[k], p.second.start[k] = p.rows, p.drc.n, p.first.n, p.second.n
	for b := range s.B {
		i := n*s.B + b
		if t.Fire != nil && !t.Fire[i] {
			s.Refractory[i] = max(s.Refractory[i]-1, 0)
			s.Sent[i] = false
			continue
		}
		p.sess[p.rows] = int32(b)
		p.rows++
	}
	u.m = p.rows - u.r0
	if u.m > 0 {
		u.input()
		u.norm()
		u.attend()
		u.products()
		u.scan()
		u.recur()
		u.correct()
		u.merge()
		u.clean()
		u.finish()
		u.report()
	}
	p.start[k+1], p.drc.start[k+1], p.first.start[k+1], p.second.start[k+1] = p.rows, p.drc.n, p.first.n, p.second.n
}

// of returns this tick's rows of a tensor of the cell.
func (u *turn[F]) of(v []F, width int) []F { return v[u.r0*width : (u.r0+u.m)*width] }

// state returns what row r's session has in a channel.
func (u *turn[F]) state(v []F, r, width int) []F {
	at := (u.n*u.s.B + int(u.p.sess[r])) * width
	return v[at : at+width : at+width]
}

// norm finishes step 1 and does step 3: residual, norm, receptive field.
func (u *turn[F]) norm() {
	p, d, c := u.p, u.d, u.g.c
	w := u.g.w
	gain, field := w.Rows("n.norm_gain", u.n), w.Rows("s4.receptive", u.n)
	for r := u.r0; r < u.r0+u.m; r++ {
		x := p.h0[r*d : (r+1)*d]
		if c.RhoOn {
			res := p.res[r*d : (r+1)*d]
			copy(res, u.state(u.s.Residual, r, d))
			dense.Axpy(x, u.g.bound.rho[u.n], res)
		}
		h := p.h[(p.base+r)*d:][:d]
		inv := F(1)
		if c.NormIn {
			var sum F
			for _, v := range x {
				sum += v * v
			}
			inv = F(1 / math.Sqrt(float64(sum/F(d)+normEpsilon)))
			for i, v := range x {
				h[i] = v * inv * gain[i] * field[i]
			}
		} else {
			for i, v := range x {
				h[i] = v * field[i]
			}
		}
		p.rms[r] = inv
		copy(p.frames[r*u.s.Depth:(r+1)*u.s.Depth], p.at[int(p.sess[r])*u.s.Depth:])
	}
}

// products takes all products of h at once, see [columns].
func (u *turn[F]) products() {
	b := &u.g.bound
	h := u.p.h[(u.p.base+u.r0)*u.d:]
	u.l.work.Mul(u.of(u.p.y, b.width), h, b.allT[u.n*u.d*b.width:], u.m, u.d, b.width)
}

// merge does steps 5 and 6.
func (u *turn[F]) merge() {
	p, d, b := u.p, u.d, &u.g.bound
	var gate [4]F
	copy(gate[:], b.gate[4*u.n:])
	if u.t.Streams != "" {
		gateOf(gate[:], b.logits[4*u.n:4*u.n+4], streams(u.t.Streams))
	}
	h00, h01, h10, h11 := b.h[4*u.n], b.h[4*u.n+1], b.h[4*u.n+2], b.h[4*u.n+3]
	for r := u.r0; r < u.r0+u.m; r++ {
		oa, ob, oc, od := p.outA[r*d:][:d], p.outB[r*d:][:d], p.outC[r*d:][:d], p.outD[r*d:][:d]
		h, fused, mid := p.h[(p.base+r)*d:][:d], p.fused[r*d:][:d], p.mid[r*d:][:d]
		res := u.state(u.s.Residual, r, d)
		for i, x := range h {
			f := gate[0]*oa[i] + gate[1]*ob[i] + gate[2]*oc[i] + gate[3]*od[i]
			fused[i] = f
			mid[i] = h00*x + h01*f
			res[i] = h10*x + h11*f
		}
		kfe := p.kfe[r*d:][:d]
		copy(kfe, mid)
		if u.t.Recall != nil {
			u.t.Recall(u.n, int(p.sess[r]), mid, kfe)
		}
		if u.sp.in.last {
			p.squares += dense.SumSquares(kfe)
		}
	}
}

// finish does steps 8 to 11, and writes the state.
func (u *turn[F]) finish() {
	p, d, s, c, t := u.p, u.d, u.s, u.g.c, u.t
	al := u.g.bound.fxaa[u.n]
	wConf, cal := u.g.w.Rows("n.w_conf", u.n), u.g.w.Of("s5.calibration")[u.n]
	weight, old, fresh := t.Weight, F(c.UtilityEMA), F(1-c.UtilityEMA)
	if weight == 0 {
		weight = 1
	}
	for r := u.r0; r < u.r0+u.m; r++ {
		b := int(p.sess[r])
		i := u.n*s.B + b
		x, hs, h := p.clean[r*d:][:d], p.hs[r*d:][:d], p.h[(p.base+r)*d:][:d]
		f0 := p.h[int(p.frames[r*s.Depth])*d:][:d]
		var sum F
		for j, v := range x {
			y := v + al*(f0[j]-v)
			hs[j] = y
			if y < 0 {
				y = -y
			}
			sum += y
		}
		conf := logistic(dense.Dot(wConf, hs) / cal)
		mean := sum / F(d)
		p.conf[r], p.mean[r] = conf, mean
		p.sHat[r], p.pHat[r] = 1, 1
		if u.sp.sHat[b] > 0 {
			p.sHat[r] = s.Trace[i] * u.sp.sHat[b]
		}
		if u.sp.pHat[b] > 0 {
			p.pHat[r] = s.PTrace[i] * u.sp.pHat[b]
		}
		p.util[r] = mean * (t.Alpha*F(d)*p.top[r] + t.Beta*p.sHat[r] + t.Gamma*p.pHat[r])

		if c.Refractory {
			s.Refractory[i] = Refractory(c, float32(s.Conf[i]))
		}
		hidden, momentum := u.state(s.Hidden, r, d), u.state(s.Momentum, r, d)
		uDim, hDim, w := u.state(s.UDim, r, d), u.state(s.HDim, r, d), p.p[r*d:][:d]
		for j, y := range hs {
			momentum[j] = .9*momentum[j] + .1*(y-hidden[j])
			a := h[j]
			if a < 0 {
				a = -a
			}
			uDim[j] = old*uDim[j] + fresh*w[j]
			hDim[j] = old*hDim[j] + fresh*a
		}
		copy(hidden, hs)
		s.Conf[i] = conf
		s.Utility[i] = old*s.Utility[i] + fresh*p.util[r]
		s.Trace[i] += weight * conf * mean
		s.Sent[i] = true
		out := u.state(s.HFinal, r, d)
		copy(out, hs)
		if t.NoiseOut != nil {
			dense.Axpy(out, t.Temperature*(1-conf), u.state(t.NoiseOut, r, d))
		}
		at := p.at[b*s.Depth : (b+1)*s.Depth]
		copy(at[1:], at)
		at[0] = int32(p.base + r)
	}
}

// report writes what a tick's caller asked for.
func (u *turn[F]) report() {
	p, d, t := u.p, u.d, u.t
	groups := d / u.g.c.G
	for r := u.r0; r < u.r0+u.m; r++ {
		i := u.n*u.s.B + int(p.sess[r])
		if t.Utility != nil {
			t.Utility[i] = p.util[r]
		}
		if t.DRC != nil {
			h, dst := p.h[(p.base+r)*d:][:d], t.DRC[i*d:][:d]
			for j, x := range p.outD[r*d:][:d] {
				dst[j] = x - h[j]
			}
		}
		if t.Attention != nil {
			copy(t.Attention[i*groups*groups:][:groups*groups], p.attn[r*groups*groups:])
		}
	}
}

// begin reads a state's frames into a cell, and computes what stream B needs of
// them: the weights may have changed since.
func (g *Grid[F]) begin(l *lane[F], sp *space[F], s *State[F], n int) {
	p, d, c, b := &sp.cells[n], g.c.D, g.c, &g.bound
	for k := range s.B {
		for j := range s.Depth {
			row := j*s.B + k
			p.at[k*s.Depth+j] = int32(row)
			copy(p.h[row*d:(row+1)*d], s.Frames[((n*s.B+k)*s.Depth+j)*d:])
		}
	}
	if c.SSM != "window" {
		return
	}
	ns, dt := c.NS, c.DT()
	y := l.take(p.base * b.scanWidth)
	l.work.Mul(y, p.h, b.scanT[n*d*b.scanWidth:], p.base, d, b.scanWidth)
	for r := range p.base {
		row := y[r*b.scanWidth:]
		copy(p.bt[r*ns:(r+1)*ns], row)
		copy(p.dtc[r*dt:(r+1)*dt], row[ns:])
	}
	u := turn[F]{g: g, l: l, sp: sp, s: s, p: p, n: n, d: d}
	u.steps(0, p.base)
}

// end writes the frames back.
func (g *Grid[F]) end(p *cell[F], s *State[F], n int) {
	d := g.c.D
	for b := range s.B {
		for j := range s.Depth {
			copy(s.Frames[((n*s.B+b)*s.Depth+j)*d:][:d], p.h[int(p.at[b*s.Depth+j])*d:])
		}
	}
}
