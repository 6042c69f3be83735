package signal

import (
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// Needs returns inputs and outputs, which the gradients of coefficients read.
func (f *filter[F]) Needs() node.Needs { return node.NeedX | node.NeedY }

// ResetAdjoint saves the sums of the bank, which its own reset would clear.
func (f *filter[F]) ResetAdjoint() {
	f.collect()
	clear(f.lambda)
}

func (f *filter[F]) collect() {
	for r := range f.sums {
		g := f.own.Gradient(r)
		for k, v := range [5]float64{g.B0, g.B1, g.B2, g.A1, g.A2} {
			f.sums[r][k] += v
		}
	}
	f.own.ResetAdjoint()
}

func (f *filter[F]) Backward(b *node.Back[F]) graph.Code {
	dx := b.DIn[0]
	if dx.Data == nil {
		dx.Data, dx.B, dx.C, dx.N = f.waste, b.DOut[0].B, b.DOut[0].C, b.DOut[0].N
	}
	if f.framed(b.Param) {
		f.backwardFramed(b, &dx)
	} else {
		f.tune(b.Param)
		var x, y []F
		if f.wanted(b) {
			x, y = b.In[0].Data, b.Out[0].Data
		}
		f.own.Backward(dx.Data, b.DOut[0].Data, x, y, dx.N, b.Tokens, b.Frame0)
	}
	node.Report(f.Reporter, &b.Call)
	return graph.Success
}

// wanted reports whether the gradient of any parameter is requested.
func (f *filter[F]) wanted(b *node.Back[F]) bool {
	for k := range f.params {
		if d := &b.DParam[k]; d.Sum != nil || d.Framed.Data != nil {
			return true
		}
	}
	return false
}

func (f *filter[F]) backwardFramed(b *node.Back[F], dx *node.Tensor[F]) {
	wanted := f.wanted(b)
	for r := range f.tuned {
		f.designFrames(b.Param, r, b.Tokens)
		t := f.t[:b.Tokens+2]
		f.coef.Backward(dx.Row(r), b.DOut[0].Row(r), t, &f.lambda[r])
		if !wanted {
			continue
		}
		x, y, list := b.In[0].Row(r), b.Out[0].Row(r), f.knobs(b.Param, r)
		for i := b.Tokens - 1; i >= 0; i-- {
			v, w := float64(x[i]), float64(y[i])
			d := dsp.Coefficients{
				B0: float64(t[i]) * v, B1: float64(t[i+1]) * v, B2: float64(t[i+2]) * v,
				A1: -float64(t[i+1]) * w, A2: -float64(t[i+2]) * w,
			}
			f.give(b.DParam, r, i, f.chain(f.at(&list, i), d))
		}
	}
}

// chain maps the gradient of the coefficients to that of the parameters.
func (f *filter[F]) chain(v [5]F, d dsp.Coefficients) [5]float64 {
	if f.kind == coefficients {
		return [5]float64{d.B0, d.B1, d.B2, d.A1, d.A2}
	}
	g := gradient(f.kind, biquadResponse{float64(v[0]), float64(v[1]), float64(v[2])}, f.sampleRate, d)
	return [5]float64{g.f0, g.q, g.gain}
}

// give stores the gradient of the parameters of frame i of row r.
func (f *filter[F]) give(to []node.Grad[F], r, i int, d [5]float64) {
	for k := range f.params {
		switch g := &to[k]; {
		case g.Framed.Data != nil:
			g.Framed.Data[r*g.Framed.N+i] = F(d[k])
		case g.Sum != nil:
			g.Sum[r] += d[k]
		}
	}
}

// FinishAdjoint applies the derivative of the design once for the whole stream.
func (f *filter[F]) FinishAdjoint(p []node.Grad[F]) {
	f.collect()
	for r, s := range f.sums {
		if s == ([5]float64{}) {
			continue
		}
		d := f.chain(f.tuned[r], dsp.Coefficients{B0: s[0], B1: s[1], B2: s[2], A1: s[3], A2: s[4]})
		for k := range f.params {
			if p[k].Sum != nil {
				p[k].Sum[r] += d[k]
			}
		}
	}
	clear(f.sums)
}
