package flowtest

import (
	"math"
	"slices"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// A Rig runs one node in isolation on whole streams.
type Rig[F node.Float] struct {
	Node *graph.LinkedNode
	Inst node.Instance[F]
	// Events go to the calls of a node that listens; Offset counts tokens of the stream.
	Events []node.Event
	calls  []record[F]
}

// A record is one forward call and what its backward call may read.
type record[F node.Float] struct {
	call   node.Call[F]
	state0 []byte
	made0  int // tokens given out before
}

// Link links a single node, with inputs of the given shapes and calls of at
// most maxTokens tokens.
func Link(table node.Table, n *graph.Node, in []graph.Shape, maxTokens int) (*graph.LinkedNode, error) {
	spec, err := table.Describe(n)
	if err != nil {
		return nil, err
	}
	out, err := spec.Shapes(in)
	if err != nil {
		return nil, err
	}
	l := &graph.LinkedNode{Node: n, Spec: spec, Rate: graph.Rat{Num: 1, Den: 1}, Tokens: maxTokens, Comp: -1, InShape: in, OutShape: out, Fed: true}
	switch {
	case spec.Rows != nil:
		l.Rows = spec.Rows(in, out)
	case len(in) > 0:
		l.Rows = in[0]
	default:
		l.Rows = out[0]
	}
	return l, nil
}

// NewRig makes an instance of a node, and fails the test if it cannot.
func NewRig[F node.Float](t testing.TB, table node.Table, n *graph.Node, sampleRate float64, in []graph.Shape, maxTokens int) *Rig[F] {
	t.Helper()
	l, err := Link(table, n, in, maxTokens)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := node.New[F](table, node.Config{SampleRate: sampleRate, MaxTokens: maxTokens, Node: l, Training: true})
	if err != nil {
		t.Fatal(err)
	}
	return &Rig[F]{Node: l, Inst: inst}
}

// NewTensor returns a tensor of zeros.
func NewTensor[F node.Float](s graph.Shape, n int) node.Tensor[F] {
	return node.Tensor[F]{Data: make([]F, s.B*s.C*n), B: s.B, C: s.C, N: n}
}

// cut returns frames [from, from+n) of a stream.
func cut[F node.Float](t node.Tensor[F], from, n int) node.Tensor[F] {
	part := NewTensor[F](graph.Shape{B: t.B, C: t.C}, n)
	for r := range t.B * t.C {
		copy(part.Row(r), t.Row(r)[from:])
	}
	return part
}

// paste writes part to a stream from frame from on.
func paste[F node.Float](t, part node.Tensor[F], from int) {
	for r := range t.B * t.C {
		copy(t.Row(r)[from:], part.Row(r))
	}
}

// Params returns the node's parameters for a call of n tokens after n0.
func (g *Rig[F]) Params(n0, n int) []node.Param[F] {
	var list []node.Param[F]
	for _, s := range g.Node.Spec.Params {
		v := s.Value
		p := node.Param[F]{Tensor: node.Tensor[F]{B: v.B, C: v.C, N: v.F}, Framed: !s.Table && v.F > 1}
		if p.Framed {
			p.N = n
		}
		for row := range slices.Chunk(v.Data, v.F) {
			for i := range p.N {
				at := i
				if p.Framed {
					at = (n0 + i) % v.F
				}
				p.Data = append(p.Data, F(row[at]))
			}
		}
		list = append(list, p)
	}
	return list
}

// Call returns the call of n tokens from token n0 of the streams on, with
// outputs zero.
func (g *Rig[F]) Call(in []node.Tensor[F], n0, n int) node.Call[F] {
	c := node.Call[F]{Param: g.Params(n0, n), Frame0: int64(n0), Tokens: n, Produced: n}
	for i, x := range in {
		cons := g.Node.Spec.Cons[i]
		c.In = append(c.In, cut(x, n0*cons, n*cons))
	}
	for i, s := range g.Node.OutShape {
		c.Out = append(c.Out, NewTensor[F](s, n*g.Node.Spec.Prod[i]))
	}
	if g.Events != nil {
		c.Events = &node.Events{}
		c.Events.Reserve(len(g.Events))
		c.Events.Clear()
		for _, e := range g.Events {
			if at := int(e.Offset) - n0; at >= 0 && at < n {
				e.Offset = int32(at)
				c.Events.Add(e)
			}
		}
	}
	return c
}

// Forward runs whole streams, cut into calls of the given numbers of tokens,
// and keeps what Backward needs. A dynamic node may give fewer tokens.
func (g *Rig[F]) Forward(t testing.TB, in []node.Tensor[F], cuts []int) []node.Tensor[F] {
	t.Helper()
	n0 := 0
	g.calls = nil
	for _, n := range cuts {
		c := g.Call(in, n0, n)
		g.call(t, &c, g.Inst.Forward)
		n0 += n
	}
	return g.outputs()
}

// Drain ends the streams of the last Forward and returns all that came out. The
// node is asked for at most room tokens at a time.
func (g *Rig[F]) Drain(t testing.TB, room int) []node.Tensor[F] {
	t.Helper()
	d, ok := g.Inst.(node.Drainer[F])
	for more := ok; more; {
		n0 := 0
		if n := len(g.calls); n > 0 {
			n0 = int(g.calls[n-1].call.Frame0) + g.calls[n-1].call.Tokens
		}
		c := g.Call(nil, n0, 0)
		c.Final = true
		for _, s := range g.Node.InShape {
			c.In = append(c.In, NewTensor[F](s, 0))
		}
		for i, s := range g.Node.OutShape {
			c.Out[i] = NewTensor[F](s, room*g.Node.Spec.Prod[i])
		}
		g.call(t, &c, d.Drain)
		more = g.calls[len(g.calls)-1].call.Produced == room
	}
	return g.outputs()
}

// call makes a forward call and keeps it.
func (g *Rig[F]) call(t testing.TB, c *node.Call[F], f func(*node.Call[F]) graph.Code) {
	t.Helper()
	r := record[F]{state0: Save(g.Inst), made0: g.made()}
	if code := f(c); code != graph.Success {
		t.Fatalf("%s: forward call of tokens %d to %d: %v", g.Node.Name, c.Frame0, int(c.Frame0)+c.Tokens, code)
	}
	for i, y := range c.Out {
		c.Out[i] = cut(y, 0, c.Produced*g.Node.Spec.Prod[i])
	}
	r.call = *c
	g.calls = append(g.calls, r)
}

// made returns the tokens that the node has given out.
func (g *Rig[F]) made() (n int) {
	for _, r := range g.calls {
		n += r.call.Produced
	}
	return n
}

// outputs joins what the calls gave.
func (g *Rig[F]) outputs() (out []node.Tensor[F]) {
	total := g.made()
	for i, s := range g.Node.OutShape {
		out = append(out, NewTensor[F](s, total*g.Node.Spec.Prod[i]))
	}
	for _, r := range g.calls {
		for i, y := range r.call.Out {
			paste(out[i], y, r.made0*g.Node.Spec.Prod[i])
		}
	}
	return out
}

// Save returns an instance's snapshot, nil if it has no state.
func Save[F node.Float](inst node.Instance[F]) []byte {
	s, ok := inst.(node.Stateful[F])
	if !ok {
		return nil
	}
	b := make([]byte, s.StateBytes())
	return b[:s.Save(b)]
}

// Back returns the backward call for the i-th call of the last Forward.
func (g *Rig[F]) Back(i int, dOut []node.Tensor[F]) node.Back[F] {
	r := &g.calls[i]
	b := node.Back[F]{Call: r.call, State0: r.state0, DParam: make([]node.Grad[F], len(r.call.Param))}
	n := r.call.Tokens
	for k, d := range dOut {
		prod := g.Node.Spec.Prod[k]
		b.DOut = append(b.DOut, cut(d, r.made0*prod, r.call.Produced*prod))
	}
	for k, s := range g.Node.InShape {
		b.DIn = append(b.DIn, NewTensor[F](s, n*g.Node.Spec.Cons[k]))
	}
	needs := g.Inst.(node.Adjoint[F]).Needs()
	if needs&node.NeedX == 0 {
		b.In = nil
	}
	if needs&node.NeedY == 0 {
		b.Out = nil
	}
	if needs&node.NeedS0 == 0 {
		b.State0 = nil
	}
	return b
}

// Backward sweeps the last Forward with the gradients of its outputs. It
// returns the gradients of the inputs, and of the parameters, each in the
// parameter's own shape.
func (g *Rig[F]) Backward(t testing.TB, dOut []node.Tensor[F]) (dIn []node.Tensor[F], dParam [][]float64) {
	t.Helper()
	a := g.Inst.(node.Adjoint[F])
	total := 0
	for _, r := range g.calls {
		total += r.call.Tokens
	}
	for k, s := range g.Node.InShape {
		dIn = append(dIn, NewTensor[F](s, total*g.Node.Spec.Cons[k]))
	}
	specs := g.Node.Spec.Params[:len(g.Node.Spec.Params)-1] // without the heat
	sums := make([][]float64, len(specs))
	for k, s := range specs {
		dParam = append(dParam, make([]float64, len(s.Value.Data)))
		sums[k] = make([]float64, g.Node.Rows.B*g.Node.Rows.C)
		if s.Table {
			sums[k] = dParam[k]
		}
	}
	a.ResetAdjoint()
	for i := len(g.calls) - 1; i >= 0; i-- {
		b := g.Back(i, dOut)
		for k := range specs {
			if b.Param[k].Framed {
				b.DParam[k].Framed = NewTensor[F](g.Node.Rows, b.Tokens)
			} else {
				b.DParam[k].Sum = sums[k]
			}
		}
		for k := range b.DIn {
			for n := range b.DIn[k].Data {
				b.DIn[k].Data[n] = F(math.NaN()) // detects elements that are not written
			}
		}
		if code := a.Backward(&b); code != graph.Success {
			t.Fatalf("%s: backward call %d: %v", g.Node.Name, i, code)
		}
		for k, d := range g.Back(i, dOut).DOut {
			if !slices.Equal(d.Data, b.DOut[k].Data) {
				t.Fatalf("%s: backward call %d wrote to the gradients of its outputs", g.Node.Name, i)
			}
		}
		for k, d := range b.DIn {
			paste(dIn[k], d, int(b.Frame0)*g.Node.Spec.Cons[k])
		}
		for k := range specs {
			if b.Param[k].Framed {
				g.fold(dParam[k], &specs[k].Value, &b.DParam[k].Framed, int(b.Frame0))
			}
		}
	}
	final := make([]node.Grad[F], len(specs)+1)
	for k, s := range specs {
		if s.Table || s.Value.F == 1 {
			final[k].Sum = sums[k]
		}
	}
	a.FinishAdjoint(final)
	for k, s := range specs {
		if !s.Table && s.Value.F == 1 {
			for r, v := range sums[k] {
				dParam[k][g.paramRow(&s.Value, r)] += v
			}
		}
	}
	return dIn, dParam
}

// paramRow returns the row of a parameter that row r of the node uses.
func (g *Rig[F]) paramRow(v *graph.Tensor, r int) int {
	return min(r/g.Node.Rows.C, v.B-1)*v.C + min(r%g.Node.Rows.C, v.C-1)
}

// fold adds a framed gradient to that of a parameter's own shape, last frame
// first.
func (g *Rig[F]) fold(to []float64, v *graph.Tensor, d *node.Tensor[F], n0 int) {
	for i := d.N - 1; i >= 0; i-- {
		for r := range d.B * d.C {
			to[g.paramRow(v, r)*v.F+(n0+i)%v.F] += float64(d.Row(r)[i])
		}
	}
}
