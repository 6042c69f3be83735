package amp

import (
	"runtime"

	"atenia/flow/amp/internal/abi"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// needs returns what the node's backward mode reads of the forward call.
func (n *instance[F]) needs() (w node.Needs) {
	if n.caps&abi.CapNeedX != 0 {
		w |= node.NeedX
	}
	if n.caps&abi.CapNeedY != 0 {
		w |= node.NeedY
	}
	if n.caps&abi.CapNeedS0 != 0 {
		w |= node.NeedS0
	}
	return w
}

// backward makes one backward call: the gradients of the outputs and what the
// node needs go in, the gradients of inputs and parameters come out.
func (n *instance[F]) backward(b *node.Back[F]) graph.Code {
	if !n.useV2 {
		return graph.Unsupported // ABI version 1 has no backward mode
	}
	flags := uint32(0)
	if !n.swept {
		flags |= abi.SweepBegin
	}
	if b.Final {
		flags |= abi.Final
	}
	at := 0
	next := func(role uint32) *abi.Buffer {
		g := &n.gin[at]
		at++
		g.Role, g.Flags = role, 0
		return g
	}
	for i := range b.DOut {
		signal(next(abi.RoleGrad), &b.DOut[i], b.Frame0, flags)
	}
	if n.caps&abi.CapNeedX != 0 {
		// A node that is linear in its inputs reads them only for its
		// parameters' gradients.
		wanted := n.caps&abi.CapLinear == 0 || n.wanted(b)
		for i := range n.ins {
			g := next(abi.RolePrimalIn)
			if i < len(b.In) {
				signal(g, &b.In[i], b.Frame0, 0)
			}
			if i >= len(b.In) || !wanted {
				g.Flags |= abi.Absent
			}
		}
		for k, i := range n.order {
			n.param(next(abi.RolePrimalIn), k, &b.Param[i], b.Frame0)
		}
	}
	if n.caps&abi.CapNeedY != 0 {
		for i := range b.Out {
			signal(next(abi.RolePrimalOut), &b.Out[i], b.Frame0, 0)
		}
	}
	if n.caps&abi.CapNeedS0 != 0 {
		g := next(abi.RoleState0)
		g.Data, g.DType = abi.Address(b.State0), abi.U8
		shape(g, graph.Shape{B: 1, C: 1}, len(b.State0))
	}
	n.gradients(b, flags)
	n.rec.In, n.rec.Out, n.rec.Mode = abi.Address(n.gin), abi.Address(n.gout), abi.Backward
	n.show(b.Events)
	code := n.run()
	n.hide()
	n.swept = true
	if code == graph.Success {
		n.spread(b)
	}
	if n.metrics != nil {
		b.Heat, b.Delay = float64(n.metrics.AccumulatedHeat), int(n.metrics.MeasuredDelayFrames)
	}
	runtime.KeepAlive(b)
	return code
}

// wanted reports whether the gradient of any parameter is requested.
func (n *instance[F]) wanted(b *node.Back[F]) bool {
	for _, i := range n.order {
		if g := &b.DParam[i]; g.Framed.Data != nil || g.Sum != nil {
			return true
		}
	}
	return false
}

// gradients sets the buffers that a backward call writes. The sums of constant
// parameters continue from call to call, so that they do not depend on the
// cuts.
func (n *instance[F]) gradients(b *node.Back[F], flags uint32) {
	for i := range n.ins {
		g := &n.gout[i]
		signal(g, &b.DIn[i], b.Frame0, 0)
		g.Role, g.Flags = abi.RoleGrad, flags
	}
	for k, i := range n.order {
		g, p, d := &n.gout[n.ins+k], &b.Param[i], &b.DParam[i]
		g.Role, g.Flags, g.Frame0 = abi.RoleGrad, flags, b.Frame0
		own := graph.Shape{B: p.B, C: p.C}
		switch {
		case p.Framed && d.Framed.Data != nil:
			shape(g, own, p.N)
			g.Data = abi.Address(n.scratch[k])
			if own == n.rows {
				g.Data = abi.Address(d.Framed.Data)
			}
		case !p.Framed && d.Sum != nil:
			n.own[k] = own
			shape(g, own, p.N)
			g.Data = abi.Address(n.sums[k])
			g.Flags |= abi.Accumulate
		default: // not requested
			g.Data = 0
			shape(g, own, p.N)
		}
	}
}

// spread moves the gradient of a framed parameter with fewer rows than the node
// into the first of the rows that share it, and zeroes the others, since the
// host sums over them.
func (n *instance[F]) spread(b *node.Back[F]) {
	for k, i := range n.order {
		p, d := &b.Param[i], &b.DParam[i].Framed
		if !p.Framed || d.Data == nil || p.B == n.rows.B && p.C == n.rows.C {
			continue
		}
		for r := range n.rows.B * n.rows.C {
			row := d.Data[r*p.N : (r+1)*p.N]
			if bb, cc := r/n.rows.C, r%n.rows.C; bb < p.B && cc < p.C {
				copy(row, n.scratch[k][(bb*p.C+cc)*p.N:])
			} else {
				clear(row)
			}
		}
	}
}

// finish adds the sums of a sweep to p.
func (n *instance[F]) finish(p []node.Grad[F]) {
	for k, i := range n.order {
		own := n.own[k]
		if p[i].Sum == nil || own.C == 0 { // not requested, or no call was made
			continue
		}
		// In the parameter's own shape: to the first of the rows that share it.
		for j, v := range n.sums[k][:own.B*own.C] {
			p[i].Sum[j/own.C*n.rows.C+j%own.C] += float64(v)
		}
	}
	n.forget()
}

// forget clears the sums.
func (n *instance[F]) forget() {
	for k := range n.sums {
		clear(n.sums[k])
	}
}
