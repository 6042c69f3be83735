package amp

import (
	"runtime"

	"atenia/flow/amp/internal/abi"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// An instance is a node in C. It implements [node.Instance] and io.Closer; the
// types below add the optional interfaces.
type instance[F node.Float] struct {
	*core
	// For each parameter of a type with a backward mode: the sums of a constant
	// parameter over a sweep, and memory for the frames of one with fewer rows
	// than the node.
	sums    [][]F
	own     []graph.Shape // of the summed parameters
	scratch [][]F
}

type withState[F node.Float] struct{ *instance[F] }

type withAdjoint[F node.Float] struct{ *instance[F] }

type withBoth[F node.Float] struct{ *instance[F] }

func newInstance[F node.Float](l *Library, cfg node.Config) (node.Instance[F], error) {
	dtype := uint32(abi.F32)
	if _, wide := any(F(0)).(float64); wide {
		dtype = abi.F64
	}
	c, err := newCore(l, cfg, dtype)
	if err != nil {
		return nil, err
	}
	n := &instance[F]{core: c}
	if cfg.Node.Spec.Adjoint {
		for _, i := range c.order {
			size := max(c.rows.B*c.rows.C, len(cfg.Node.Spec.Params[i].Value.Data))
			n.sums = append(n.sums, abi.Make[F](c.mem, size))
			n.scratch = append(n.scratch, abi.Make[F](c.mem, c.rows.B*c.rows.C*c.maxTokens))
		}
		n.own = make([]graph.Shape, c.params)
	}
	stateful := c.caps&abi.CapSnapshot != 0 && l.save != 0 && l.load != 0
	switch {
	case stateful && cfg.Node.Spec.Adjoint:
		return withBoth[F]{n}, nil
	case stateful:
		return withState[F]{n}, nil
	case cfg.Node.Spec.Adjoint:
		return withAdjoint[F]{n}, nil
	}
	return n, nil
}

// Close releases the node's state.
func (n *instance[F]) Close() error {
	n.close()
	return nil
}

// Reset releases the node's state; the next call makes a new one.
func (n *instance[F]) Reset() {
	n.reset()
	n.forget()
}

// signal points a buffer at a tensor.
func signal[F node.Float](b *abi.Buffer, t *node.Tensor[F], frame0 int64, flags uint32) {
	b.Data, b.Frame0, b.Flags = abi.Address(t.Data), frame0, flags
	shape(b, graph.Shape{B: t.B, C: t.C}, t.N)
	if t.Data == nil {
		b.Flags |= abi.Absent | abi.Silent
	}
}

// param points a buffer at a parameter.
func (n *instance[F]) param(b *abi.Buffer, k int, p *node.Param[F], frame0 int64) {
	signal(b, &p.Tensor, frame0, 0)
	b.Role = abi.RoleParam
	if p.Framed {
		return
	}
	b.Flags |= abi.Const
	switch {
	case !n.given[k]:
		b.Data, b.Batches, b.Channels, b.Frames, b.StrideB, b.StrideC = n.zero, 1, 1, 1, 1, 1
		b.Flags |= abi.Absent | abi.Silent
	case len(p.Data) == 1 && p.Data[0] == 0:
		b.Flags |= abi.Silent
	}
}

// Forward makes one call of the node.
func (n *instance[F]) Forward(c *node.Call[F]) graph.Code {
	flags := uint32(0)
	if !n.began {
		flags |= abi.SweepBegin
	}
	if c.Final {
		flags |= abi.Final
	}
	for i := range c.In {
		signal(&n.in[i], &c.In[i], c.Frame0, flags)
	}
	for k, i := range n.order {
		n.param(&n.in[n.ins+k], k, &c.Param[i], c.Frame0)
	}
	for i := range c.Out {
		signal(&n.out[i], &c.Out[i], c.Frame0, flags)
	}
	n.rec.In, n.rec.Out, n.rec.Mode = abi.Address(n.in), abi.Address(n.out), abi.Forward
	n.show(c.Events)
	code := n.run()
	if code == graph.Unsupported && n.useV2 {
		n.useV2, n.rec.Fn = false, n.lib.v1
		n.counts.add(Demoted)
		code = n.run()
	}
	n.hide()
	n.began = true
	code = n.judge(c, code)
	n.report(c)
	runtime.KeepAlive(c)
	return code
}

// judge checks the outputs of a forward call.
func (n *instance[F]) judge(c *node.Call[F], code graph.Code) graph.Code {
	made := n.out[0].Frames
	for i := range n.out {
		b, t := &n.out[i], &c.Out[i]
		touched := b.Data != abi.Address(t.Data) || int(b.Batches) != t.B || int(b.Channels) != t.C || int(b.Frames) > t.N ||
			b.StrideB != int64(t.C*t.N) || b.StrideC != int64(t.N)
		late := b.Frames != made || int(made) != c.Tokens && n.caps&abi.CapStateless != 0
		if touched || late && code == graph.Success {
			n.counts.add(BadOutput)
			for j := range c.Out {
				clear(c.Out[j].Data[:c.Out[j].B*c.Out[j].C*c.Out[j].N])
			}
			c.Produced = c.Tokens
			return graph.InvalidArg
		}
	}
	switch code {
	case graph.Success, graph.End:
		c.Produced = int(made)
	case graph.Pending:
		c.Produced = 0
	}
	return code
}

// report sets heat and delay.
func (n *instance[F]) report(c *node.Call[F]) {
	if !n.useV2 {
		c.Heat = node.HeatOf(c)
		return
	}
	if n.metrics == nil {
		return
	}
	c.Heat, c.Delay, c.Reserved = float64(n.metrics.AccumulatedHeat), int(n.metrics.MeasuredDelayFrames), n.metrics.Reserved
	if n.metrics.MeasuredDelayFrames > n.declared {
		n.counts.add(UnderDeclared)
	}
}

func (n withState[F]) StateBytes() int            { return n.snapshotBytes() }
func (n withState[F]) Save(dst []byte) int        { return n.snapshot(dst) }
func (n withState[F]) Load(src []byte) graph.Code { return n.restore(src) }

func (n withBoth[F]) StateBytes() int                     { return n.snapshotBytes() }
func (n withBoth[F]) Save(dst []byte) int                 { return n.snapshot(dst) }
func (n withBoth[F]) Load(src []byte) graph.Code          { return n.restore(src) }
func (n withBoth[F]) Needs() node.Needs                   { return n.needs() }
func (n withBoth[F]) Backward(b *node.Back[F]) graph.Code { return n.backward(b) }
func (n withBoth[F]) ResetAdjoint()                       { n.swept = false }
func (n withBoth[F]) FinishAdjoint(p []node.Grad[F])      { n.finish(p) }

func (n withAdjoint[F]) Needs() node.Needs                   { return n.needs() }
func (n withAdjoint[F]) Backward(b *node.Back[F]) graph.Code { return n.backward(b) }
func (n withAdjoint[F]) ResetAdjoint()                       { n.swept = false }
func (n withAdjoint[F]) FinishAdjoint(p []node.Grad[F])      { n.finish(p) }
