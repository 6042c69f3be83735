package signal

import (
	"slices"

	"atenia/flow/graph"
	"atenia/flow/node"

	"atenia/internal/kernel/dsp"
)

// A convolver is a fir whose later taps are multiplied as spectra (uniformly
// partitioned overlap-save; Wefers, Partitioned convolution algorithms for
// real-time auralization, 2015). The gradient of the input is the same
// convolution with time reversed; that of the taps is summed directly.
type convolver[F node.Float] struct {
	node.Reporter
	sizes
	rows, channels int
	responses      []*response[F]    // of each row of taps
	forward        []*partitioned[F] // of each row
	at             int               // frames in the open block
	known          bool              // the taps were read since a reset
	state          []F               // [rows, parts+1, part] and at: a snapshot

	// For backward calls.
	backward []*partitioned[F] // time reversed
	backAt   int
	going    bool      // backAt is valid
	dy, dx   []F       // [MaxTokens]
	row      []F       // [length-1 + MaxTokens] inputs before the call and its own
	sums     []float64 // [rows, length] gradients of the taps, last first
}

func newConvolver[F node.Float](cfg node.Config) (node.Instance[F], error) {
	shape, taps, part := cfg.Node.Rows, cfg.Node.Spec.Params[0].Value, cfg.Settings.Int("partition")
	v := &convolver[F]{
		Reporter: node.NewReporter(cfg, 0), rows: shape.B * shape.C, channels: shape.C,
		sizes: sizes{taps.F, part, (taps.F + part - 1) / part},
	}
	shared := newSpectrometer[F](v.sizes)
	for given := range slices.Chunk(taps.Data, taps.F) {
		r := newResponse(v.sizes, shared)
		h := make([]F, taps.F)
		for i, t := range given {
			h[i] = F(t)
		}
		r.set(h)
		v.responses = append(v.responses, r)
	}
	for r := range v.rows {
		v.forward = append(v.forward, newPartitioned(v.response(r)))
	}
	v.state = make([]F, v.rows*(v.parts+1)*part+1)
	if cfg.Training {
		for r := range v.rows {
			v.backward = append(v.backward, newPartitioned(v.response(r)))
		}
		v.dy, v.dx, v.row = make([]F, cfg.MaxTokens), make([]F, cfg.MaxTokens), make([]F, v.length-1+cfg.MaxTokens)
		v.sums = make([]float64, v.rows*v.length)
	}
	return v, nil
}

// response returns the response of row r.
func (v *convolver[F]) response(r int) *response[F] {
	return v.responses[r%v.channels%len(v.responses)]
}

// take checks whether the taps still are those whose spectra were computed:
// once per block, since there may be many.
func (v *convolver[F]) take(p *node.Param[F]) {
	for c, r := range v.responses {
		if !r.set(p.Tensor.Row(c)) {
			continue
		}
		for i, f := range v.forward {
			if v.response(i) == r {
				f.sum()
			}
		}
	}
}

func (v *convolver[F]) Forward(c *node.Call[F]) graph.Code {
	if v.at == 0 || !v.known {
		v.take(&c.Param[0])
		v.known = true
	}
	at := v.at
	for r, f := range v.forward {
		v.at = f.run(c.Out[0].Row(r), c.In[0].Row(r), at)
	}
	node.Report(v.Reporter, c)
	return graph.Success
}

func (v *convolver[F]) Reset() {
	for _, f := range v.forward {
		f.reset()
	}
	v.at, v.known = 0, false
}

func (v *convolver[F]) StateBytes() int { return node.FloatBytes[F](len(v.state)) }

// blocks returns row r of a snapshot.
func (v *convolver[F]) blocks(r int) []F {
	n := (v.parts + 1) * v.part
	return v.state[r*n:][:n]
}

func (v *convolver[F]) Save(dst []byte) int {
	for r, f := range v.forward {
		f.save(v.blocks(r))
		clear(v.blocks(r)[v.parts*v.part+v.at:])
	}
	v.state[len(v.state)-1] = F(v.at)
	return node.PutFloats(dst, v.state)
}

func (v *convolver[F]) Load(src []byte) graph.Code {
	if code := takeRowState(v.state, src); code != graph.Success {
		return code
	}
	at := v.state[len(v.state)-1]
	if !(at >= 0 && at < F(v.part)) || at != F(int(at)) {
		return graph.State
	}
	v.at, v.known = int(at), false
	for r, f := range v.forward {
		f.load(v.blocks(r))
	}
	return graph.Success
}

func (v *convolver[F]) Needs() node.Needs { return node.NeedX | node.NeedS0 }

func (v *convolver[F]) ResetAdjoint() {
	for _, f := range v.backward {
		f.reset()
	}
	v.going = false
}

func (v *convolver[F]) Backward(b *node.Back[F]) graph.Code {
	before := 0
	if b.DParam[0].Sum != nil {
		if code := takeRowState(v.state, b.State0); code != graph.Success {
			return code
		}
		before = int(v.state[len(v.state)-1])
	}
	if !v.going {
		v.take(&b.Param[0])
		// The stream may end within a block: its last frame is then not the
		// first of a block when time is reversed.
		v.going, v.backAt = true, int((-(b.Frame0+int64(b.Tokens))%int64(v.part)+int64(v.part))%int64(v.part))
	}
	at, n := v.backAt, b.Tokens
	for r, f := range v.backward {
		dy := b.DOut[0].Row(r)
		if b.DParam[0].Sum != nil {
			past := v.blocks(r)[:v.parts*v.part+before]
			copy(v.row, past[len(past)-v.length+1:])
			copy(v.row[v.length-1:], b.In[0].Row(r))
			dsp.AddCorrelation(v.sums[r*v.length:][:v.length], dy, v.row[:v.length-1+n])
		}
		rotate(v.dy, dy)
		v.backAt = f.run(v.dx[:n], v.dy[:n], at)
		if b.DIn[0].Data != nil {
			rotate(b.DIn[0].Row(r), v.dx[:n])
		}
	}
	node.Report(v.Reporter, &b.Call)
	return graph.Success
}

// rotate writes x in reverse order.
func rotate[F node.Float](y, x []F) {
	for i, v := range x {
		y[len(x)-1-i] = v
	}
}

func (v *convolver[F]) FinishAdjoint(p []node.Grad[F]) {
	addTaps(p[0].Sum, v.sums, v.rows, v.length)
}
