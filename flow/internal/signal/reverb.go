package signal

import (
	"slices"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// reverbType is the entry of a convolution with a long response, such as that of a room:
//
//	in ──┬─────────── dry ──┐
//	     └──► taps ──► wet ─┴──► out
//	             └─────────────► wet
//
// The response is the table taps, or a file, with which [atenia/flow/media.OpenFiles] fills the table.
func reverbType() node.Type {
	return node.Type{Name: "ConvolutionReverb",
		Doc: "out = dry in + wet (taps * in), by partitions that grow along taps, without latency; taps of a WAV or FLAC file or as given, one row or one per channel, which one channel of in goes to; the output wet has taps * in",
		Ins: []string{"in"}, Outs: []string{"out", "wet"},
		Framed: []node.Default{{Name: "dry"}, {Name: "wet", Value: 1}}, Tables: []node.Default{{Name: "taps", Value: 1}},
		Settings: []node.Setting{file, {Name: "partition", Least: 1, Most: longest, Value: 64}}, Adjoint: true,
		Refine: refineReverb, New32: newReverb[float32], New64: newReverb[float64]}
}

// Parameters of a reverb in the order of the table.
const (
	dry = iota
	wet
	reverbTaps
)

func refineReverb(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	taps := spec.Params[reverbTaps].Value
	if s.Int("partition")&(s.Int("partition")-1) != 0 {
		return node.Bad(n, "partition", "a power of two wanted")
	}
	spec.Rows = node.RowsOfOutput
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if taps.B != 1 || taps.C != 1 && in[0].C != 1 && taps.C != in[0].C {
			return nil, node.Mismatch(n, "taps are [1, 1 or channels, length]")
		}
		out := graph.Shape{B: in[0].B, C: max(in[0].C, taps.C)}
		return []graph.Shape{out, out}, nil
	}
	return nil
}

// A reverb is a ConvolutionReverb. The gradient of its input is the same convolution with time reversed. That of the
// taps is summed directly, from the inputs of a call and the gradients at or after them, which a backward sweep has
// seen: so no call needs the inputs before it, of which there are as many as taps.
type reverb[F node.Float] struct {
	node.Reporter
	rows, channels, inputs int // of the output, and channels of the input
	length                 int // taps
	responses              []*grown[F]
	forward                *growing[F]
	known                  bool // the taps were read since a reset
	scan                   int  // the next tap to compare
	state                  []F  // a snapshot
	waste                  []F

	// For backward calls.
	backward *growing[F]
	going    bool      // its position is valid
	dv, u    plane[F]  // [rows, MaxTokens] gradients of the wet signal, and convolved; both reversed
	line     []F       // [MaxTokens + length-1] of one row, and of one product
	ahead    []F       // [rows, length-1] gradients of the wet signal after the call
	sums     []float64 // [rows, length] gradients of the taps
}

func newReverb[F node.Float](cfg node.Config) (node.Instance[F], error) {
	shape, taps := cfg.Node.Rows, cfg.Node.Spec.Params[reverbTaps].Value
	if n := cfg.Node.Node; cfg.Settings.Word("file") != "" && n.Param("taps") == nil {
		return nil, node.Bad(n, "file", "the file was not read into taps (media.OpenFiles does)")
	}
	v := &reverb[F]{Reporter: node.NewReporter(cfg, 0), rows: shape.B * shape.C, channels: shape.C, inputs: cfg.Node.InShape[0].C, length: taps.F}
	levels := spans(v.length, cfg.Settings.Int("partition"))
	shared := newSpectrometer[F](sizes{part: levels[0].part})
	for range taps.C {
		v.responses = append(v.responses, newGrown(v.length, levels, shared))
	}
	v.forward = newGrowing(levels, v.responses, v.rows, v.channels)
	v.state = make([]F, v.rows*v.kept()+1)
	v.waste = make([]F, v.forward.largest)
	h := make([]F, v.length)
	for c, r := range v.responses {
		for i := range h {
			h[i] = F(taps.Data[c*v.length+i])
		}
		r.set(h, v.forward.levels)
	}
	if cfg.Training {
		v.backward = newGrowing(levels, v.responses, v.rows, v.channels)
		v.dv = plane[F]{make([]F, v.rows*cfg.MaxTokens), cfg.MaxTokens, 1}
		v.u = plane[F]{make([]F, v.rows*cfg.MaxTokens), cfg.MaxTokens, 1}
		v.line, v.ahead = make([]F, cfg.MaxTokens+v.length-1), make([]F, v.rows*(v.length-1))
		v.sums = make([]float64, v.rows*v.length)
	}
	return v, nil
}

// kept is the number of frames of a row in a snapshot.
func (v *reverb[F]) kept() int { return (v.forward.kept + 1) * v.forward.largest }

// take reads the taps if they differ from those whose spectra are known: all of them at the start, later a share in
// every call, since there are many. Calls of as many tokens as the largest partition has notice any change. What was
// computed with the taps before it comes out.
func (v *reverb[F]) take(p *node.Param[F], tokens int) {
	from, to := 0, v.length
	if v.known {
		from = v.scan
		to = min(v.length, from+v.length*tokens/v.forward.largest+1)
		v.scan = to % v.length
	}
	changed := false
	for c, r := range v.responses {
		if given := p.Tensor.Row(c); !slices.Equal(given[from:to], r.taps[from:to]) {
			r.set(given, v.forward.levels)
			changed = true
		}
	}
	if changed {
		for _, h := range v.forward.head {
			h.sum()
		}
	}
	v.known = true
}

// input returns row r of a tensor with the channels of the input.
func (v *reverb[F]) input(t *node.Tensor[F], r int) []F {
	return t.Row(channel(r, v.channels, v.inputs))
}

func (v *reverb[F]) Forward(c *node.Call[F]) graph.Code {
	v.take(&c.Param[reverbTaps], c.Tokens)
	in := plane[F]{c.In[0].Data, c.In[0].N, 1}
	if v.inputs < v.channels {
		in.share = v.channels
	}
	v.forward.run(plane[F]{c.Out[1].Data, c.Out[1].N, 1}, in, c.Tokens)
	for r := range v.rows {
		a, b := rowValuesOf(c, dry, r, v.channels), rowValuesOf(c, wet, r, v.channels)
		x, w, y := v.input(&c.In[0], r), c.Out[1].Row(r), c.Out[0].Row(r)
		if a.Step+b.Step == 0 && c.Tokens > 0 {
			dsp.Scale(y, w, b.At(0))
			dsp.AddScaled(y, x, a.At(0))
			continue
		}
		for i := range y {
			y[i] = F(a.At(i)*x[i]) + F(b.At(i)*w[i])
		}
	}
	node.Report(v.Reporter, c)
	return graph.Success
}

func (v *reverb[F]) Reset() {
	v.forward.reset(0)
	v.known, v.scan = false, 0
}

func (v *reverb[F]) StateBytes() int { return node.FloatBytes[F](len(v.state)) }

// row returns row r of a snapshot.
func (v *reverb[F]) row(r int) []F { return v.state[r*v.kept():][:v.kept()] }

func (v *reverb[F]) Save(dst []byte) int {
	for r := range v.rows {
		v.forward.save(v.row(r), r)
	}
	v.state[len(v.state)-1] = F(v.forward.at)
	return node.PutFloats(dst, v.state)
}

func (v *reverb[F]) Load(src []byte) graph.Code {
	if code := takeRowState(v.state, src); code != graph.Success {
		return code
	}
	at := v.state[len(v.state)-1]
	if !(at >= 0 && at < F(v.forward.largest)) || at != F(int(at)) {
		return graph.State
	}
	v.forward.load(v.state, int(at), v.waste)
	v.known, v.scan = false, 0
	return graph.Success
}

func (v *reverb[F]) Needs() node.Needs { return node.NeedX | node.NeedY }

func (v *reverb[F]) ResetAdjoint() {
	v.going = false
	clear(v.ahead)
}

func (v *reverb[F]) Backward(b *node.Back[F]) graph.Code {
	n, g := b.Tokens, v.backward
	if !v.going {
		v.known = false
		v.take(&b.Param[reverbTaps], n)
		// The stream may end within a block: its last frame is then not the first of a block when time is reversed.
		size := int64(g.largest)
		g.reset(int((size - (b.Frame0+int64(n))%size) % size))
		v.going = true
	}
	for r := range v.rows {
		v.wetGradient(b, r)
	}
	g.run(v.u, v.dv, n)
	if dx := &b.DIn[0]; dx.Data != nil {
		clear(dx.Data[:dx.B*dx.C*n])
		for r := range v.rows {
			a, dy, u, to := rowValuesOf(&b.Call, dry, r, v.channels), b.DOut[0].Row(r), v.u.row(r, 0, n), v.input(dx, r)
			for i := range to {
				to[i] += F(a.At(i)*dy[i]) + u[n-1-i]
			}
		}
	}
	node.Report(v.Reporter, &b.Call)
	return graph.Success
}

// wetGradient computes the gradients of row r at the wet signal, in reverse, and those of the parameters.
func (v *reverb[F]) wetGradient(b *node.Back[F], r int) {
	n, gain := b.Tokens, rowValuesOf(&b.Call, wet, r, v.channels)
	dy, x, w := b.DOut[0].Row(r), v.input(&b.In[0], r), b.Out[1].Row(r)
	line := v.line[:n]
	for i, d := range dy {
		line[i] = F(gain.At(i) * d)
	}
	if b.DOut[1].Data != nil {
		dsp.Add(line, line, b.DOut[1].Row(r))
	}
	rotate(v.dv.row(r, 0, n), line)
	if b.DParam[reverbTaps].Sum != nil {
		k := v.length - 1
		ahead := v.ahead[r*k:][:k]
		copy(v.line[n:], ahead)
		dsp.AddCorrelation(v.sums[r*v.length:][:v.length], x, v.line[:n+k])
		copy(ahead, v.line)
	}
	for k, other := range [...][]F{x, w} {
		if p := &b.DParam[k]; p.Framed.Data != nil || p.Sum != nil {
			dsp.Mul(line, dy, other)
			if p.Framed.Data != nil {
				copy(p.Framed.Row(r), line)
			} else {
				p.Sum[r] = node.SumBack(p.Sum[r], line)
			}
		}
	}
}

// FinishAdjoint adds the sums of all rows of a channel, or of all.
func (v *reverb[F]) FinishAdjoint(p []node.Grad[F]) {
	node.AddFolded(p[reverbTaps].Sum, v.sums)
	clear(v.sums)
}
