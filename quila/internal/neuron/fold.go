package neuron

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/quila/config"
)

// A fold is what a port's weights come to, once a window.
type fold[F grad.Float] struct {
	w     [tCount][]F // the weights
	kv    []F         // [2D, D]: w_k, then w_v
	s     []F         // [3D, D]: w_k·slot, w_v·slot, w_r·slot
	decay []F         // [D]: what a place of age adds to a key, −exp(w_decay)
	a     []F         // [D, D]: Kᵀ·Q
	h     []F         // [n, n]
	hc    []F         // [parts, n]: the streams that each part of the compression reads
	e     []F         // [D, n·D]: compression of H·X, by stream
	rows  []F         // [D, m·D]: its part of the selected neurons
	out   []F         // [D, 2D]: its parts of aggr and of the attention's mean of rows
	e1    []F         // [D, D]: its part of out_NSA
	back  []F         // [D]: weight of the new value in alignment

	alpha, beta, gamma F
	dAlpha             F // d alpha ÷ d δα: 1, or 0 where it is clamped
	b                  F // logistic of raw b
	tau                F
	logits             []F // base + mhc
}

func sigmoid[F grad.Float](x F) F {
	if x < 0 {
		e := math.Exp(float64(x))
		return F(e / (1 + e))
	}
	return F(1 / (1 + math.Exp(-float64(x))))
}

// parts is how many parts the compression reads.
func parts(c *config.Config) int { return c.CompressIn() / c.D }

// portStreams is how many neurons have a stream.
func portStreams(c *config.Config) int { return min(c.KP, c.N) }

func sized[F any](s *[]F, n int) []F {
	if cap(*s) < n {
		*s = make([]F, n)
	}
	*s = (*s)[:n]
	return *s
}

// weigh sets α, β and γ of a phase.
func (f *fold[F]) weigh(phase int) {
	abg := f.w[tABG]
	f.alpha, f.beta, f.gamma = Weighting(phase, abg)
	f.b, f.dAlpha = sigmoid(abg[1]), 0
	if a := F(alphas[phase]) + abg[0]; a >= 0 && a <= 1 {
		f.dAlpha = 1
	}
}

// set folds the weights in f.w.
func (f *fold[F]) set(c *config.Config, work *grad.Work[F]) {
	d, n, m := c.D, c.PortStreams(), portStreams(c)
	dd := d * d
	kv := sized(&f.kv, 2*dd)
	copy(kv, f.w[tWK])
	copy(kv[dd:], f.w[tWV])
	s := sized(&f.s, 3*dd)
	work.Mul(s[:dd], f.w[tWK], f.w[tSlot], d, d, d)
	work.Mul(s[dd:2*dd], f.w[tWV], f.w[tSlot], d, d, d)
	work.Mul(s[2*dd:], f.w[tWR], f.w[tSlot], d, d, d)
	decay, back := sized(&f.decay, d), sized(&f.back, d)
	for i := range d {
		decay[i] = F(-math.Exp(float64(f.w[tDecay][i])))
		back[i] = sigmoid(f.w[tBack][i])
	}
	work.TMul(sized(&f.a, dd), f.w[tK], f.w[tQ], d, d, d)
	f.tau = f.w[tTau][0]

	logits := sized(&f.logits, n*n)
	for i, b := range f.w[tBase] {
		logits[i] = b + f.w[tMHC][i]
	}
	Sinkhorn(sized(&f.h, n*n), logits, n, c.SinkhornN, F(c.WMax))
	f.hc = compressed(f.hc, f.h, n, parts(c))
	e, p := sized(&f.e, d*n*d), parts(c)
	clear(e)
	for o := range d {
		for i := range n {
			for a := range p {
				dense.Axpy(e[(o*n+i)*d:][:d], f.hc[a*n+i], f.w[tCompress][(o*p+a)*d:][:d])
			}
		}
	}
	rows, out, e1 := sized(&f.rows, d*m*d), sized(&f.out, 2*dd), sized(&f.e1, dd)
	for o := range d {
		copy(out[2*o*d:], e[o*n*d:][:d])
		copy(e1[o*d:], e[(o*n+1)*d:][:d])
		copy(rows[o*m*d:], e[(o*n+2)*d:][:m*d])
	}
	for o := range d { // out[:, D:] = e1·V
		row := out[(2*o+1)*d:][:d]
		clear(row)
		for i, x := range e1[o*d:][:d] {
			dense.Axpy(row, x, f.w[tV][i*d:][:d])
		}
	}
}

// compressed makes the rows of H that the parts of a compression read: all, or
// rows 0 and 1 and the mean of the others.
func compressed[F grad.Float](dst, h []F, n, p int) []F {
	dst = sized(&dst, p*n)
	copy(dst, h)
	if p == n {
		return dst
	}
	mean := dst[2*n:]
	clear(mean)
	for j := 2; j < n; j++ {
		for i, x := range h[j*n:][:n] {
			mean[i] += x / F(n-2)
		}
	}
	return dst
}

// A foldGrad is the gradients of a fold.
type foldGrad[F grad.Float] struct {
	kv, s, decay, a, rows, out, back, cb []F
	wr                                   []F // of w_r alone, where no slot is seen
	alpha, beta, gamma                   F
	e, hc, h, t                          []F
}

// clear makes it zero.
func (g *foldGrad[F]) clear(c *config.Config) {
	d, m := c.D, portStreams(c)
	for _, z := range []struct {
		s *[]F
		n int
	}{{&g.kv, 2 * d * d}, {&g.s, 3 * d * d}, {&g.decay, d}, {&g.a, d * d}, {&g.rows, d * m * d}, {&g.out, 2 * d * d}, {&g.back, d}, {&g.cb, d}, {&g.wr, d * d}} {
		clear(sized(z.s, z.n))
	}
	g.alpha, g.beta, g.gamma = 0, 0, 0
}

// unfold adds the gradients of the weights to dw, whose entries are nil where
// none is needed.
func (f *fold[F]) unfold(c *config.Config, work *grad.Work[F], g *foldGrad[F], dw *[tCount][]F, visible bool) {
	d, n, m, p := c.D, c.PortStreams(), portStreams(c), parts(c)
	dd := d * d
	plus := func(t int, x []F) {
		if dw[t] != nil {
			dense.Add(dw[t], x)
		}
	}
	plus(tWK, g.kv[:dd])
	plus(tWV, g.kv[dd:])
	plus(tWR, g.wr)
	plus(tCompressB, g.cb)
	if visible {
		for i, t := range []int{tWK, tWV, tWR} { // s = w·slot
			ds := g.s[i*dd:][:dd]
			if dw[t] != nil {
				work.AddMulT(dw[t], ds, f.w[tSlot], d, d, d)
			}
			if dw[tSlot] != nil {
				work.AddTMul(dw[tSlot], f.w[t], ds, d, d, d)
			}
		}
	}
	if dw[tDecay] != nil {
		for i, x := range g.decay {
			dw[tDecay][i] += x * f.decay[i]
		}
	}
	if dw[tBack] != nil {
		for i, x := range g.back {
			dw[tBack][i] += x * f.back[i] * (1 - f.back[i])
		}
	}
	if dw[tK] != nil { // a = Kᵀ·Q
		work.AddMulT(dw[tK], f.w[tQ], g.a, d, d, d)
	}
	if dw[tQ] != nil {
		work.AddMul(dw[tQ], f.w[tK], g.a, d, d, d)
	}
	if dw[tABG] != nil {
		dw[tABG][0] += f.dAlpha * (g.alpha - f.b*g.beta - (1-f.b)*g.gamma)
		dw[tABG][1] += (1 - f.alpha) * f.b * (1 - f.b) * (g.beta - g.gamma)
	}

	de := sized(&g.e, d*n*d)
	clear(de)
	t := sized(&g.t, dd)
	for o := range d {
		copy(t[o*d:], g.out[(2*o+1)*d:][:d])
		copy(de[o*n*d:], g.out[2*o*d:][:d])
		copy(de[(o*n+2)*d:], g.rows[o*m*d:][:m*d])
	}
	if dw[tV] != nil { // out[:, D:] = e1·V
		work.AddTMul(dw[tV], f.e1, t, d, d, d)
	}
	for o := range d {
		row := de[(o*n+1)*d:][:d]
		for i := range d {
			row[i] = dense.Dot(t[o*d:][:d], f.w[tV][i*d:][:d])
		}
	}
	hc := sized(&g.hc, p*n)
	clear(hc)
	for o := range d {
		for i := range n {
			x := de[(o*n+i)*d:][:d]
			for a := range p {
				at := (o*p + a) * d
				hc[a*n+i] += dense.Dot(x, f.w[tCompress][at:][:d])
				if dw[tCompress] != nil {
					dense.Axpy(dw[tCompress][at:][:d], f.hc[a*n+i], x)
				}
			}
		}
	}
	if p < n {
		h := sized(&g.h, n*n)
		copy(h, hc[:2*n])
		for j := 2; j < n; j++ {
			for i, x := range hc[2*n:] {
				h[j*n+i] = x / F(n-2)
			}
		}
		hc = h
	}
	for _, k := range []int{tMHC, tBase} {
		if dw[k] != nil {
			SinkhornBackward(dw[k], hc, f.h, f.logits, n, c.SinkhornN, F(c.WMax), SinkhornMode(c.MHCGrad))
		}
	}
}
