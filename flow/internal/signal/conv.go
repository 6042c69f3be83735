package signal

import (
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

func refineConv(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	w, bias := spec.Params[0].Value, spec.Params[1].Value
	if bias.B != 1 || bias.F != 1 || bias.C != 1 && bias.C != w.B {
		return node.Bad(n, "bias", "shape [1, out, 1] wanted")
	}
	spec.Cons = []int{s.Int("stride")}
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if w.C != in[0].C {
			return nil, node.Mismatch(n, "a weight is [out, in, kernel]")
		}
		return []graph.Shape{{B: in[0].B, C: w.B}}, nil
	}
	spec.Rows = node.RowsOfOutput
	return nil
}

// A conv is y[o,t] = bias[o] + sum over i, k of w[o,i,k] x[i, t stride - (kernel-1-k) dilation].
type conv[F node.Float] struct {
	node.Reporter
	batches, in, out         int
	kernel, dilation, stride int
	reach                    int // (kernel-1) dilation: frames needed before the call
	past, before             []F // [batches, in, reach] inputs before the call; of a snapshot
	x                        []F // [in, reach + frames]
	ahead                    []F // [batches, out, reach] output gradients after the call, at the input's rate
	dy                       []F // [out, frames + reach]
	dWeight, dBias           []float64
}

func newConv[F node.Float](cfg node.Config) (node.Instance[F], error) {
	w := cfg.Node.Spec.Params[0].Value
	c := &conv[F]{Reporter: node.NewReporter(cfg, 0), batches: cfg.Node.InShape[0].B, in: w.C, out: w.B, kernel: w.F,
		dilation: cfg.Settings.Int("dilation"), stride: cfg.Settings.Int("stride")}
	c.reach = (c.kernel - 1) * c.dilation
	frames := c.reach + cfg.MaxTokens*c.stride
	c.past, c.x = make([]F, c.batches*c.in*c.reach), make([]F, c.in*frames)
	if cfg.Training {
		c.before, c.ahead = make([]F, len(c.past)), make([]F, c.batches*c.out*c.reach)
		c.dy = make([]F, c.out*frames)
		c.dWeight, c.dBias = make([]float64, c.batches*len(w.Data)), make([]float64, c.batches*c.out)
	}
	return c, nil
}

// fill concatenates the frames before the call and the call's, for batch b.
func (c *conv[F]) fill(past []F, x *node.Tensor[F], b int) (length int) {
	length = c.reach + x.N
	for i := range c.in {
		row := c.x[i*length:][:length]
		copy(row, past[(b*c.in+i)*c.reach:][:c.reach])
		copy(row[c.reach:], x.Row(b*c.in+i))
	}
	return length
}

func (c *conv[F]) Forward(call *node.Call[F]) graph.Code {
	x, y, w, bias := &call.In[0], &call.Out[0], &call.Param[0], &call.Param[1]
	for b := range c.batches {
		length := c.fill(c.past, x, b)
		for o := range c.out {
			row := y.Row(b*c.out + o)
			v := bias.Data[0]
			if bias.C > 1 {
				v = bias.Data[o]
			}
			for t := range row {
				row[t] = v
			}
			for i := range c.in {
				for k, v := range w.Tensor.Row(o*c.in + i) {
					from := c.x[i*length+k*c.dilation:]
					if c.stride == 1 {
						dsp.AddScaled(row, from[:len(row)], v)
						continue
					}
					for t := range row {
						row[t] += F(v * from[t*c.stride])
					}
				}
			}
		}
		for i := range c.in {
			copy(c.past[(b*c.in+i)*c.reach:][:c.reach], c.x[i*length+x.N:])
		}
	}
	node.Report(c.Reporter, call)
	return graph.Success
}

func (c *conv[F]) Reset()              { clear(c.past) }
func (c *conv[F]) StateBytes() int     { return node.FloatBytes[F](len(c.past)) }
func (c *conv[F]) Save(dst []byte) int { return node.PutFloats(dst, c.past) }
func (c *conv[F]) Load(src []byte) graph.Code {
	return load(c.past, src)
}

// load fills v from a snapshot of equal length.
func load[F node.Float](v []F, src []byte) graph.Code {
	if len(src) != node.FloatBytes[F](len(v)) {
		return graph.State
	}
	node.GetFloats(v, src)
	return graph.Success
}

func (c *conv[F]) Needs() node.Needs { return node.NeedX | node.NeedS0 }
func (c *conv[F]) ResetAdjoint()     { clear(c.ahead) }

// Backward gathers, for each input frame, the gradients of the outputs that read it, in an order
// that does not depend on cuts. Gradients are first spread to the input's rate.
func (c *conv[F]) Backward(b *node.Back[F]) graph.Code {
	if b.DParam[0].Sum != nil {
		if code := load(c.before, b.State0); code != graph.Success {
			return code
		}
	}
	frames := b.Tokens * c.stride
	length := frames + c.reach
	for s := range c.batches {
		for o := range c.out {
			row, ahead := c.dy[o*length:][:length], c.ahead[(s*c.out+o)*c.reach:][:c.reach]
			clear(row[:frames])
			for t, d := range b.DOut[0].Row(s*c.out + o) {
				row[t*c.stride] = d
			}
			copy(row[frames:], ahead)
			copy(ahead, row)
			if b.DParam[1].Sum != nil {
				c.dBias[s*c.out+o] = node.SumBack(c.dBias[s*c.out+o], b.DOut[0].Row(s*c.out+o))
			}
		}
		if b.DIn[0].Data != nil {
			c.inputs(b, s, length)
		}
		if b.DParam[0].Sum != nil {
			c.weights(b, s, frames)
		}
	}
	node.Report(c.Reporter, &b.Call)
	return graph.Success
}

// inputs computes the gradients of batch s of the input.
func (c *conv[F]) inputs(b *node.Back[F], s, length int) {
	for i := range c.in {
		dx := b.DIn[0].Row(s*c.in + i)
		clear(dx)
		for o := range c.out {
			for k, v := range b.Param[0].Tensor.Row(o*c.in + i) {
				dsp.AddScaled(dx, c.dy[o*length+(c.kernel-1-k)*c.dilation:][:len(dx)], v)
			}
		}
	}
}

// weights accumulates the gradients of the weight batch by batch, so that the sums do not depend
// on cuts.
func (c *conv[F]) weights(b *node.Back[F], s, frames int) {
	length := c.fill(c.before, &b.In[0], s)
	for o := range c.out {
		dy := c.dy[o*length:][:frames]
		for i := range c.in {
			x := c.x[i*length:][:length]
			sum := c.dWeight[((s*c.out+o)*c.in+i)*c.kernel:][:c.kernel]
			if c.dilation == 1 {
				dsp.AddCorrelation(sum, dy, x)
				continue
			}
			for k := range sum {
				dsp.AddCorrelation(sum[k:k+1], dy, x[k*c.dilation:])
			}
		}
	}
}

func (c *conv[F]) FinishAdjoint(p []node.Grad[F]) {
	node.AddFolded(p[0].Sum, c.dWeight)
	node.AddFolded(p[1].Sum, c.dBias)
	clear(c.dWeight)
	clear(c.dBias)
}
