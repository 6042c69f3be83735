package flow

import (
	"fmt"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// open makes the backward call for one forward call. It writes nothing that another
// node's call reads: results wait for close.
func (s *adjointSweep[F]) open(v int, f *entry[F]) {
	n, l := &s.nodes[v], &s.linked.Nodes[v]
	b := &n.back
	b.Frame0, b.Tokens, b.Produced, b.Heat, b.State0 = f.frame0, int(f.tokens), int(f.made), f.heat, f.state0
	b.Final = f.tokens == 0
	s.primals(n, l, f)
	s.params(n, l)
	if n.cues != nil {
		n.cues(f.frame0, int(f.tokens))
	}
	for p := range l.Out {
		b.DOut[p] = s.outGrad(v, p, f)
	}
	for i, e := range l.In {
		edge := &s.linked.Edges[e]
		b.DIn[i] = node.Tensor[F]{B: l.InShape[i].B, C: l.InShape[i].C, N: s.frames(e, f)}
		if s.nodes[edge.Src].role != roleSilent {
			b.DIn[i] = s.inGrad(e, b.DIn[i].B, b.DIn[i].C, f)
		}
	}
	for i := range b.DParam {
		b.DParam[i] = node.Grad[F]{}
		switch {
		case b.Param[i].Framed && (n.sums[i] != nil || s.modulated(l, i)):
			b.DParam[i].Framed = n.tensor(l.Rows.B, l.Rows.C, b.Tokens)
		case n.sums[i] != nil:
			b.DParam[i].Sum = n.sums[i]
		}
	}
	n.code = graph.Unsupported
	if !n.gone {
		n.code = s.backward(n, b)
	}
	if n.code == graph.Success && len(l.Mods) == 0 {
		n.fold()
	}
}

// fold adds the gradients of a call's parameters that have one value per frame.
func (n *nodeSweep[F]) fold() {
	for i, sum := range n.sums {
		if sum == nil || !n.back.Param[i].Framed {
			continue
		}
		d := &n.back.DParam[i].Framed
		if n.auto[i] != nil {
			for r := range d.B * d.C {
				weigh(n.auto[i], d.Row(r), n.back.Frame0)
			}
		}
		fold(sum, d, n.base[i].N, n.back.Frame0)
	}
}

// close gives the results of a call to the writers of what the node read.
func (s *adjointSweep[F]) close(v int, f *entry[F]) error {
	n, l := &s.nodes[v], &s.linked.Nodes[v]
	switch n.code {
	case graph.Success:
	case graph.Unsupported:
		n.gone = true
		s.giveZeros(l, f)
		return nil
	default:
		return &graph.Error{Code: n.code, Path: l.Path, Names: []string{l.Name}, Text: fmt.Sprintf("backward call of tokens %d to %d", f.frame0, f.frame0+int64(f.tokens))}
	}
	if s.now != nil {
		s.took(v, n.ns)
	}
	s.heat(v, n.back.Heat)
	for i, e := range l.In {
		s.give(e, n.back.DIn[i], f)
	}
	if len(l.Mods) > 0 {
		s.modulation(n, l, f)
		n.fold()
	}
	return nil
}

// backward makes the node's call.
func (s *adjointSweep[F]) backward(n *nodeSweep[F], b *node.Back[F]) graph.Code {
	if s.now == nil {
		return n.adj.Backward(b)
	}
	began := s.now()
	code := n.adj.Backward(b)
	n.ns = s.now() - began
	return code
}

// primals restores the tensors that the journal kept of a forward call.
func (s *adjointSweep[F]) primals(n *nodeSweep[F], l *graph.LinkedNode, f *entry[F]) {
	kept := f.kept
	next := func(t node.Tensor[F], want bool) node.Tensor[F] {
		if want {
			t.Data, kept = kept[0], kept[1:]
		}
		return t
	}
	for i, e := range l.In {
		n.back.In[i] = next(node.Tensor[F]{B: l.InShape[i].B, C: l.InShape[i].C, N: s.frames(e, f)}, n.keep.needs&node.NeedX != 0)
	}
	for j, e := range l.Mods {
		edge := &s.linked.Edges[e]
		shape := s.linked.Nodes[edge.Src].OutShape[edge.SrcPort]
		n.mods[j] = next(node.Tensor[F]{B: shape.B, C: shape.C, N: int(f.tokens)}, n.keep.mods)
	}
	for p := range l.Out {
		n.back.Out[p] = next(node.Tensor[F]{B: l.OutShape[p].B, C: l.OutShape[p].C, N: int(f.made) * l.Spec.Prod[p]}, n.keep.needs&node.NeedY != 0)
	}
}

// params recomputes the parameters of a call, and their values before each
// modulation.
func (s *adjointSweep[F]) params(n *nodeSweep[F], l *graph.LinkedNode) {
	b := &n.back
	for i := range b.Param {
		b.Param[i] = node.Param[F]{Tensor: n.base[i]}
		if !s.framed(n, l, i) {
			continue
		}
		t := n.tensor(n.base[i].B, n.base[i].C, b.Tokens)
		for r := range t.B * t.C {
			from, to := n.base[i].Row(r), t.Row(r)
			at := int(b.Frame0 % int64(len(from)))
			for k := range to {
				to[k] = from[at]
				if at++; at == len(from) {
					at = 0
				}
			}
			if n.auto[i] != nil {
				automate(n.auto[i], to, b.Frame0)
			}
		}
		b.Param[i] = node.Param[F]{Tensor: t, Framed: true}
	}
	for j, e := range l.Mods {
		edge := &s.linked.Edges[e]
		p := &b.Param[edge.Param]
		n.steps[j] = p.Tensor
		to := n.tensor(max(p.B, n.mods[j].B), l.Rows.C, b.Tokens)
		modulate(to, n.steps[j], n.mods[j], edge)
		p.Tensor = to
	}
}

// sourceRow returns the row of a modulation's source that modulates channel c
// of batch bt: the channel that the edge names, or else the same one, or the
// last if there are fewer.
func sourceRow[F node.Float](x *node.Tensor[F], edge *graph.LinkedEdge, bt, c int) []F {
	if edge.Channel >= 0 {
		c = edge.Channel
	}
	if x.B == 1 {
		bt = 0
	}
	return x.Row(bt*x.C + min(c, x.C-1))
}

// modulate writes parameter p with modulation x applied: p + scale x, or
// p scale x.
func modulate[F node.Float](to, p, x node.Tensor[F], edge *graph.LinkedEdge) {
	scale := F(edge.Scale)
	before := node.Param[F]{Tensor: p}
	for bt := range to.B {
		for c := range to.C {
			y, v, src := to.Row(bt*to.C+c), before.Row(bt*to.C+c, to.C), sourceRow(&x, edge, bt, c)
			if edge.Mode == "mul" {
				for i, q := range src {
					y[i] = v[i] * F(q*scale)
				}
				continue
			}
			for i, q := range src {
				y[i] = v[i] + F(q*scale)
			}
		}
	}
}

// modulation is the transpose of the modulations of a call, last first: it
// computes the gradients of their sources and leaves the gradients of the
// parameters as they are in the plan.
func (s *adjointSweep[F]) modulation(n *nodeSweep[F], l *graph.LinkedNode, f *entry[F]) {
	for j := len(l.Mods) - 1; j >= 0; j-- {
		edge := &s.linked.Edges[l.Mods[j]]
		x, d := &n.mods[j], &n.back.DParam[edge.Param].Framed
		g := s.inGrad(l.Mods[j], x.B, x.C, f)
		clear(g.Data)
		before := node.Param[F]{Tensor: n.steps[j]}
		scale := F(edge.Scale)
		for r := range d.B * d.C {
			if d.Data == nil {
				break // of a parameter without influence
			}
			bt, c := r/d.C, r%d.C
			to, q, w, p := sourceRow(&g, edge, bt, c), sourceRow(x, edge, bt, c), d.Row(r), before.Row(r, d.C)
			if edge.Mode == "mul" {
				for i := range w {
					to[i] += F(F(w[i]*p[i]) * scale)
					w[i] *= F(q[i] * scale)
				}
				continue
			}
			for i := range w {
				to[i] += F(w[i] * scale)
			}
		}
		s.give(l.Mods[j], g, f)
	}
}

// fold adds the gradient of a parameter with one value per frame to the sums of
// its frames: frame f of the stream belongs to frame f mod frames. Frames are
// processed last first, in float64 sums that continue from call to call, so
// that the sums do not depend on how the stream is cut.
func fold[F node.Float](sum []float64, g *node.Tensor[F], frames int, frame0 int64) {
	for r := range g.B * g.C {
		row, to := g.Row(r), sum[r*frames:(r+1)*frames]
		at := int((frame0 + int64(len(row))) % int64(frames))
		for i := len(row) - 1; i >= 0; i-- {
			if at--; at < 0 {
				at = frames - 1
			}
			to[at] += float64(row[i])
		}
	}
}

// reduce sums a parameter's gradient over the dimensions it was broadcast over:
// from rows to the parameter's own shape.
func reduce(sum []float64, rows graph.Shape, own *graph.Tensor) []float64 {
	out := make([]float64, own.B*own.C*own.F)
	for r := range rows.B * rows.C {
		b, c := min(r/rows.C, own.B-1), min(r%rows.C, own.C-1)
		for i, x := range sum[r*own.F : (r+1)*own.F] {
			out[(b*own.C+c)*own.F+i] += x
		}
	}
	return out
}
