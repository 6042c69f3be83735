package signal

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// Needs returns the inputs if the delay interpolates, since its gradient reads
// them.
func (d *delayer[F]) Needs() node.Needs {
	if d.how == none {
		return 0
	}
	return node.NeedX | node.NeedS0
}

func (d *delayer[F]) ResetAdjoint() {
	for _, l := range d.back {
		clear(l.ring)
	}
}

func (d *delayer[F]) FinishAdjoint([]node.Grad[F]) {}

func (d *delayer[F]) Backward(b *node.Back[F]) graph.Code {
	p, want := &b.Param[0], &b.DParam[0]
	for r := range d.lines {
		dy, v := b.DOut[0].Row(r), p.Row(r, d.channels)
		var dx []F
		if b.DIn[0].Data != nil {
			dx = b.DIn[0].Row(r)
		}
		if want.Framed.Data != nil || want.Sum != nil {
			d.moves(b, r)
		}
		if p.Framed {
			d.scatter(d.back[r], dx, dy, v, b.Frame0)
		} else {
			d.gather(d.back[r], dx, dy, v[0], b.Frame0)
		}
	}
	node.Report(d.Reporter, &b.Call)
	return graph.Success
}

// gather sums the output gradients that each frame contributed to, under a
// constant delay.
func (d *delayer[F]) gather(l line[F], dx, dy []F, delay F, frame0 int64) {
	l.write(frame0, dy)
	if dx == nil {
		return
	}
	t := d.taps(delay)
	for m := range t.n {
		l.add(dx, frame0+t.k+int64(m), t.w[m], m == 0)
	}
}

// scatter adds the output gradients to those of the frames they were computed
// from, last frame first. A frame's gradient is complete after its own output.
func (d *delayer[F]) scatter(l line[F], dx, dy, delay []F, frame0 int64) {
	for i := len(dy) - 1; i >= 0; i-- {
		t, n := d.taps(delay[i]), frame0+int64(i)
		for m := range t.n {
			*l.at(n - t.k - int64(m)) += F(t.w[m] * dy[i])
		}
		own := l.at(n)
		if dx != nil {
			dx[i] = *own
		}
		*own = 0
	}
}

// moves returns the gradient of the delay of row r.
func (d *delayer[F]) moves(b *node.Back[F], r int) {
	p, want := &b.Param[0], &b.DParam[0]
	dy, v := b.DOut[0].Row(r), p.Row(r, d.channels)
	for i := b.Tokens - 1; i >= 0; i-- {
		delay := v[0]
		if p.Framed {
			delay = v[i]
		}
		sum := F(0)
		if f := float64(delay); d.how != none && f >= 0 && f <= d.longest {
			t := d.taps(delay)
			for m := range t.n {
				sum += F(t.d[m] * d.before(b, r, i-int(t.k)-m))
			}
			sum *= dy[i]
		}
		if want.Framed.Data != nil {
			want.Framed.Data[r*want.Framed.N+i] = sum
		} else {
			want.Sum[r] += float64(sum)
		}
	}
}

// before returns frame i of the call's input, or of the state before the call
// if i is negative.
func (d *delayer[F]) before(b *node.Back[F], r, i int) F {
	if i >= 0 {
		return b.In[0].Data[r*b.In[0].N+i]
	}
	var v [1]F
	at := int((b.Frame0 + int64(i)) & int64(d.size-1))
	node.GetFloats(v[:], b.State0[8+node.FloatBytes[F](r*d.size+at):])
	return v[0]
}
