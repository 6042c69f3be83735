package signal

import (
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// A rowKernel is the arithmetic of one row. The same code runs for every cut of a
// stream, so results do not depend on the cuts.
type rowKernel[F node.Float] interface {
	// States is the number of elements that a row carries from frame to frame.
	States() int
	// Forward computes row r of the call; s is the row's state, zero before the
	// first frame.
	Forward(c *node.Call[F], r int, s []F)
}

// A transposedRows kernel has a backward mode.
type transposedRows[F node.Float] interface {
	rowKernel[F]
	// Scratch is the number of rows, of MaxTokens and States elements, that
	// Backward uses.
	Scratch() int
	// Backward writes w.DX, every row of w.DP, and w.DKey if the node has a
	// second input.
	Backward(b *node.Back[F], r int, w *RowWork[F])
}

// A RowWork is the memory of one row's backward call.
type RowWork[F node.Float] struct {
	S  []F   // state before the call; may be overwritten
	L  []F   // gradient at the state after the call; to be replaced by that before it
	DX []F   // [Tokens] the gradient of the input
	DP [][]F // [parameter][Tokens] the gradients of the parameters
	// DKey [Tokens] is the gradient of the row's signal at the second input, for
	// nodes that have one.
	DKey []F
	T    [][]F // [Scratch][MaxTokens+States]
}

// rowValues is a parameter's values over the frames of a call: frame i has
// Row[i*Step].
type rowValues[F node.Float] struct {
	Row  []F
	Step int
}

// rowValuesOf returns the values of parameter k in row r of a node with the given number
// of channels.
func rowValuesOf[F node.Float](c *node.Call[F], k, r, channels int) rowValues[F] {
	p := &c.Param[k]
	v := rowValues[F]{Row: p.Row(r, channels)}
	if p.Framed {
		v.Step = 1
	}
	return v
}

// At returns the value of frame i.
func (v rowValues[F]) At(i int) F { return v.Row[i*v.Step] }

// newRowwise returns a node that runs a kernel. Its outputs lag delay frames within
// the stream. Types with an adjoint pass a [transposedRows] kernel.
func newRowwise[F node.Float](cfg node.Config, k rowKernel[F], delay int) node.Instance[F] {
	shape := cfg.Node.Rows
	n := &rows[F]{Reporter: node.NewReporter(cfg, delay), kernel: k, states: k.States(), count: shape.B * shape.C}
	n.state = make([]F, n.count*n.states)
	t, ok := k.(transposedRows[F])
	if !ok {
		return n
	}
	a := &adjoint[F]{rows: n, kernel: t}
	if cfg.Training {
		a.lambda, a.state0 = make([]F, len(n.state)), make([]F, len(n.state))
		a.work.DP = block[F](len(cfg.Node.Spec.Params)-1, cfg.MaxTokens)
		a.work.T = block[F](t.Scratch(), cfg.MaxTokens+n.states)
		a.dx = make([]F, cfg.MaxTokens)
		if len(cfg.Node.InShape) > 1 {
			a.work.DKey = make([]F, cfg.MaxTokens)
		}
	}
	return a
}

// keyRow returns the row of a second input that belongs to row r of the first,
// which has the given number of channels: its own, or the only one of its batch.
func keyRow(key graph.Shape, r, channels int) int {
	if key.C == channels {
		return r
	}
	return r / channels
}

func block[F node.Float](rows, n int) [][]F {
	b := make([][]F, rows)
	for i := range b {
		b[i] = make([]F, n)
	}
	return b
}

type rows[F node.Float] struct {
	node.Reporter
	kernel        rowKernel[F]
	states, count int
	state         []F // [count, states]
}

func (n *rows[F]) Forward(c *node.Call[F]) graph.Code {
	for r := range n.count {
		if c.Tokens == 0 { // the end of a stream may be an empty call
			break
		}
		n.kernel.Forward(c, r, n.state[r*n.states:][:n.states:n.states])
	}
	node.Report(n.Reporter, c)
	return graph.Success
}

func (n *rows[F]) Reset()                     { clear(n.state) }
func (n *rows[F]) StateBytes() int            { return node.FloatBytes[F](len(n.state)) }
func (n *rows[F]) Save(dst []byte) int        { return node.PutFloats(dst, n.state) }
func (n *rows[F]) Load(src []byte) graph.Code { return takeRowState(n.state, src) }

// takeRowState fills x from a snapshot, and returns State if the length differs.
func takeRowState[F node.Float](x []F, src []byte) graph.Code {
	if len(src) != node.FloatBytes[F](len(x)) {
		return graph.State
	}
	node.GetFloats(x, src)
	return graph.Success
}

type adjoint[F node.Float] struct {
	*rows[F]
	kernel         transposedRows[F]
	lambda, state0 []F // [count, states]
	dx             []F
	work           RowWork[F]
}

func (a *adjoint[F]) Needs() node.Needs {
	if a.states == 0 {
		return node.NeedX
	}
	return node.NeedX | node.NeedS0
}

// KeepsForInputs marks a [node.Keeper]: kernels recompute their rows.
func (a *adjoint[F]) KeepsForInputs() {}

func (a *adjoint[F]) ResetAdjoint()                  { clear(a.lambda) }
func (a *adjoint[F]) FinishAdjoint(p []node.Grad[F]) {}

func (a *adjoint[F]) Backward(b *node.Back[F]) graph.Code {
	if code := takeRowState(a.state0, b.State0); code != graph.Success {
		return code
	}
	key := len(b.DIn) > 1 && b.DIn[1].Data != nil
	if key {
		clear(b.DIn[1].Data[:b.DIn[1].B*b.DIn[1].C*b.Tokens])
	}
	for r := range a.count {
		if b.Tokens == 0 {
			break
		}
		w := &a.work
		w.S, w.L = a.state0[r*a.states:][:a.states], a.lambda[r*a.states:][:a.states]
		w.DX = a.dx[:b.Tokens]
		if len(b.DIn) > 0 && b.DIn[0].Data != nil {
			w.DX = b.DIn[0].Row(r)
		}
		a.kernel.Backward(b, r, w)
		if key {
			d := &b.DIn[1]
			row := d.Row(keyRow(graph.Shape{B: d.B, C: d.C}, r, b.DOut[0].C))
			dsp.Add(row, row, w.DKey[:b.Tokens])
		}
		for k, d := range w.DP {
			switch want := &b.DParam[k]; {
			case want.Framed.Data != nil:
				copy(want.Framed.Row(r), d[:b.Tokens])
			case want.Sum != nil:
				want.Sum[r] = node.SumBack(want.Sum[r], d[:b.Tokens])
			}
		}
	}
	node.Report(a.Reporter, &b.Call)
	return graph.Success
}
