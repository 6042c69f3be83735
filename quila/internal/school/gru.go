package school

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// embedding is the width of a GRU's embedding.
const embedding = 64

// Places of the parameters of a GRU.
const (
	gruEmbed = iota
	gruIn
	gruInBias
	gruHidden
	gruHiddenBias
	gruOut
	gruOutBias
)

// gruSize is how many weights a GRU of that width has.
func gruSize(width, codes int) int {
	return codes*embedding + 3*width*(embedding+width+2) + codes*(width+1)
}

// gruWidth is the multiple of 8 whose GRU is nearest to so many weights.
func gruWidth(weights, codes int) int {
	const unit = 8
	width := unit
	for gruSize(width+unit, codes) <= weights {
		width += unit
	}
	if gruSize(width+unit, codes)-weights < weights-gruSize(width, codes) {
		width += unit
	}
	return width
}

// newGRU makes a GRU of one layer with random weights.
func newGRU[F grad.Float](width, codes int, seed uint64, threads *grad.Threads) *baselineNet[F] {
	n := &baselineNet[F]{Codes: codes, seed: seed, threads: threads, carried: width}
	n.addGRU(width)
	n.record = func(s *BaselineStream[F], t *grad.Tape[F], batch, steps int) grad.Ref {
		y := s.recordGRU(t, t.Embed(s.refs[gruEmbed], s.ids), width)
		return t.AddRow(t.MatMulT(y, s.refs[gruOut]), s.refs[gruOutBias])
	}
	return n
}

// addGRU adds the parameters, with the usual first values.
func (n *baselineNet[F]) addGRU(width int) {
	bound := uniform(fan(width))
	n.add("embed", normal(1), n.Codes, embedding)
	n.add("in", bound, 3*width, embedding)
	n.add("in.bias", bound, 3*width)
	n.add("hidden", bound, 3*width, width)
	n.add("hidden.bias", bound, 3*width)
	n.add("out", bound, n.Codes, width)
	n.add("out.bias", bound, n.Codes)
}

// recordGRU records the recurrence over embeddings x [T·B, 64], steps first, and
// returns the states after every step.
func (s *BaselineStream[F]) recordGRU(t *grad.Tape[F], x grad.Ref, width int) grad.Ref {
	gates := t.AddRow(t.MatMulT(x, s.refs[gruIn]), s.refs[gruInBias])
	if t.Err() != nil {
		return 0
	}
	rows := len(s.ids)
	y := t.Alloc(rows, width)
	kept := t.AllocSaved(rows, 4*width)
	start := t.Const(s.state, s.batch, width)
	r := recurrence[F]{batch: s.batch, width: width, work: dense.Of[F](t.Work()),
		hidden: t.Value(s.refs[gruHidden]), bias: t.Value(s.refs[gruHiddenBias])}
	r.forward(t.Data(y), t.Data(kept), t.Value(gates), s.state)
	copy(s.next, t.Data(y)[(rows-s.batch)*width:])
	in := []grad.Ref{gates, s.refs[gruHidden], s.refs[gruHiddenBias], start}
	if t.Opaque(gruKey, in, []grad.Ref{y}, []grad.Ref{kept}, s.batch) != nil {
		return 0
	}
	return y
}

const gruKey grad.Key = "quila.baseline.gru"

// A recurrence computes the steps of a GRU. A step's product has as many rows as
// there are texts, which is few; the gradients of the weights are one product
// over all steps.
type recurrence[F grad.Float] struct {
	batch, width int
	work         *dense.Work[F]
	hidden, bias []F // [3·width, width], [3·width]: reset, update, new
}

// forward writes y [T·B, width] from gates [T·B, 3·width]. kept [T·B, 4·width],
// unless nil, receives what the gradient needs: r, z, n and the hidden part of n.
func (c *recurrence[F]) forward(y, kept, gates, h []F) {
	w, b := c.width, c.batch
	turned := turn(c.hidden, 3*w, w)
	g := make([]F, b*3*w)
	for at := 0; at < len(y); at += b * w {
		c.work.Mul(g, h, turned, b, w, 3*w)
		for i := range b {
			row, x, old := g[i*3*w:(i+1)*3*w], gates[3*at+i*3*w:][:3*w], h[i*w:(i+1)*w]
			dense.Add(row, c.bias)
			rz, n := row[:2*w], row[2*w:]
			dense.Add(rz, x[:2*w])
			dense.Activate(dense.Sigmoid, rz, rz)
			r, z := rz[:w], rz[w:]
			var keep []F
			if kept != nil {
				keep = kept[4*at+i*4*w:][:4*w]
				copy(keep[3*w:], n)
			}
			dense.Mul(n, n, r)
			dense.Add(n, x[2*w:])
			dense.Activate(dense.Tanh, n, n)
			if kept != nil {
				copy(keep, row)
			}
			out := y[at+i*w:][:w]
			for j := range out {
				out[j] = n[j] + z[j]*(old[j]-n[j])
			}
		}
		h = y[at : at+b*w]
	}
}

// turn returns the transpose of m [rows, cols].
func turn[F grad.Float](m []F, rows, cols int) []F {
	out := make([]F, len(m))
	for r := range rows {
		for c, v := range m[r*cols : (r+1)*cols] {
			out[c*rows+r] = v
		}
	}
	return out
}

// gruBack is the gradient of the recurrence.
func gruBack[F grad.Float](o *grad.OpaqueBack[F]) {
	b := o.Aux.(int)
	hidden, start, y, kept, dy := o.In(1), o.In(3), o.Out(0), o.Saved(0), o.DOut(0)
	w := len(start) / b
	work := dense.Of[F](o.Work())
	dgates, add := o.Into(0)
	if add {
		dgates = make([]F, len(dgates))
	}
	dhidden := make([]F, len(y)*3) // of the products with the hidden weights
	dh, back := make([]F, b*w), make([]F, b*w)
	for at := len(y) - b*w; at >= 0; at -= b * w {
		old := start
		if at > 0 {
			old = y[at-b*w : at]
		}
		dense.Add(dh, dy[at:at+b*w])
		for i := range b {
			k := kept[4*at+i*4*w:][:4*w]
			r, z, n, part := k[:w], k[w:2*w], k[2*w:3*w], k[3*w:]
			dx, dp := dgates[3*at+i*3*w:][:3*w], dhidden[3*at+i*3*w:][:3*w]
			d := dh[i*w : (i+1)*w]
			for j, g := range d {
				dz := g * (old[i*w+j] - n[j]) * z[j] * (1 - z[j])
				dn := g * (1 - z[j]) * (1 - n[j]*n[j])
				dr := dn * part[j] * r[j] * (1 - r[j])
				dx[j], dx[w+j], dx[2*w+j] = dr, dz, dn
				dp[j], dp[w+j], dp[2*w+j] = dr, dz, dn*r[j]
				d[j] = g * z[j]
			}
		}
		if at > 0 {
			work.Mul(back, dhidden[3*at:3*(at+b*w)], hidden, b, 3*w, w)
			dense.Add(dh, back)
		}
	}
	if add {
		dense.Add(o.DIn(0), dgates)
	}
	steps := len(y) / (b * w)
	if d := o.DIn(1); d != nil {
		work.AddTMul(d, dhidden[:3*b*w], start, 3*w, b, w)
		work.AddTMul(d, dhidden[3*b*w:], y[:len(y)-b*w], 3*w, b*(steps-1), w)
	}
	if d := o.DIn(2); d != nil {
		for at := 0; at < len(dhidden); at += 3 * w {
			dense.Add(d, dhidden[at:at+3*w])
		}
	}
}

// register adds the backward functions of this package.
func register[F grad.Float](reg *grad.Registry[F]) {
	reg.Register(gruKey, gruBack[F])
	reg.Register(normKey, normBack[F])
	reg.Register(attentionKey, attentionBack[F])
	reg.Register(geluKey, geluBack[F])
}
