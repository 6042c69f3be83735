package signal

import (
	"math"
	"slices"

	"atenia/flow/graph"
	"atenia/flow/node"

	"atenia/internal/kernel/dsp"
)

// WaveTypes returns the table of the band-limited oscillators.
//
//	frequency ─▶ Σ ─▶ phase ─▶ sine, saw, square, triangle ─▶ × amplitude ─▶
//	                            │ rounded at steps and corners
//
// An Oscillator of ratio r works at r times its rate and decimates; an
// OversampledOsc leaves decimation to the nodes behind it. A phase is the sum of
// the frequency over all frames so far, so a frequency may be modulated, and its
// gradient is a sum over all later frames.
func WaveTypes() node.Table {
	settings := []node.Setting{{Name: "kind", Among: shapes}, {Name: "batches", Least: 1, Value: 1}, {Name: "channels", Least: 1, Value: 1}}
	params := []node.Default{{Name: "frequency_hz", Value: 440}, {Name: "amplitude", Value: 1}, {Name: "phase"}}
	return node.Table{
		{Name: "Oscillator", Doc: "band-limited periodic wave; with oversample_ratio r computed at r times the rate and decimated",
			Outs: []string{"out"}, Framed: params, Settings: settings, Adjoint: true,
			Refine: refineOscillator, New32: newOscillator[float32], New64: newOscillator[float64]},
		{Name: "OversampledOsc", Doc: "Oscillator without decimation: oversample_ratio frames per token",
			Outs: []string{"out"}, Framed: params, Settings: settings, Adjoint: true,
			Refine: refineOscillator, New32: newOscillator[float32], New64: newOscillator[float64]},
	}
}

func refineOscillator(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	shape := graph.Shape{B: s.Int("batches"), C: s.Int("channels")}
	spec.Shapes = func([]graph.Shape) ([]graph.Shape, error) { return []graph.Shape{shape}, nil }
	if n.Type == "OversampledOsc" {
		spec.Prod = []int{n.OversampleRatio}
	}
	return nil
}

// The parameters in table order.
const (
	frequency = iota
	amplitude
	phase
)

// An oscillator is an Oscillator or an OversampledOsc. Phases are float64 for
// either F: in float32 a tone would drift.
type oscillator[F node.Float] struct {
	node.Reporter
	shape    shape
	rate     float64 // frames computed per second
	ratio    int     // frames computed per token
	channels int
	acc      []float64            // by row: phase of the next frame
	decimate *resamplingFilter[F] // nil: no decimation
	made     []F                  // of one row, before decimation

	lambda []float64 // gradient of acc after the call
	accs   []float64 // of the frames of one row of a call
}

func newOscillator[F node.Float](cfg node.Config) (node.Instance[F], error) {
	rows, ratio := cfg.Node.Rows.B*cfg.Node.Rows.C, cfg.Node.OversampleRatio
	o := &oscillator[F]{
		Reporter: node.NewReporter(cfg, 0), shape: shape(slices.Index(shapes, cfg.Settings.Word("kind"))),
		rate: cfg.SampleRate * float64(ratio), ratio: ratio, channels: cfg.Node.Rows.C, acc: make([]float64, rows),
	}
	if cfg.Training {
		o.lambda, o.accs = make([]float64, rows), make([]float64, cfg.MaxTokens*ratio)
	}
	if ratio > 1 && cfg.Node.Type == "Oscillator" {
		var h []F
		for _, v := range KaiserTaps(96, ratio) {
			h = append(h, F(v))
		}
		o.decimate = newResamplingFilter[F](1, ratio, len(h), rows, cfg.MaxTokens, cfg.Training)
		o.decimate.SetTaps(h)
		o.made = make([]F, cfg.MaxTokens*ratio)
	}
	return o, nil
}

// A voice is one row's parameters.
type voice[F node.Float] struct {
	values [3][]F
	framed [3]bool
}

func (o *oscillator[F]) voice(p []node.Param[F], r int) (v voice[F]) {
	for k := range v.values {
		v.values[k], v.framed[k] = p[k].Row(r, o.channels), p[k].Framed
	}
	return v
}

// still reports whether all parameters are constant.
func (v *voice[F]) still() bool { return v.framed == [3]bool{} }

// at returns the parameters of token i.
func (v *voice[F]) at(i int) (p [3]float64) {
	for k, row := range v.values {
		if v.framed[k] {
			p[k] = float64(row[i])
		} else {
			p[k] = float64(row[0])
		}
	}
	return p
}

// fraction returns t modulo 1.
func fraction(t float64) float64 { return t - math.Floor(t) }

// wrap returns t modulo 1 for 0 <= t < 2, without the latency of rounding.
func wrap(t float64) float64 {
	if t >= 1 {
		return t - 1
	}
	return t
}

func (o *oscillator[F]) Forward(c *node.Call[F]) graph.Code {
	o.run(c)
	node.Report(o.Reporter, c)
	return graph.Success
}

func (o *oscillator[F]) run(c *node.Call[F]) {
	for r := range o.acc {
		y := c.Out[0].Row(r)
		made := y
		if o.decimate != nil {
			made = o.made[:c.Tokens*o.ratio]
		}
		v, acc := o.voice(c.Param, r), o.acc[r]
		if v.still() {
			acc = fill(o.shape, made, acc, v.at(0), o.rate)
		} else {
			for i := range c.Tokens {
				acc = fill(o.shape, made[i*o.ratio:(i+1)*o.ratio], acc, v.at(i), o.rate)
			}
		}
		o.acc[r] = acc
		if o.decimate != nil {
			o.decimate.Forward(r, y, made)
		}
	}
}

// fill computes frames with constant parameters, and returns the phase after
// them.
func fill[F node.Float](s shape, y []F, acc float64, p [3]float64, rate float64) float64 {
	by, amp, start := p[frequency]/rate, p[amplitude], fraction(p[phase])
	d := math.Abs(by)
	by = fraction(by)
	if s == sine {
		for i := range y {
			y[i] = F(amp * dsp.SinTurn(wrap(acc+start)))
			acc = wrap(acc + by)
		}
		return acc
	}
	for i := range y {
		y[i] = F(amp * s.value(wrap(acc+start), d))
		acc = wrap(acc + by)
	}
	return acc
}

func (o *oscillator[F]) Bind(c *node.Call[F]) func() {
	return node.Bind(o.Reporter, c, func() { o.run(c) })
}

func (o *oscillator[F]) Reset() {
	clear(o.acc)
	if o.decimate != nil {
		o.decimate.Reset()
	}
}

func (o *oscillator[F]) StateBytes() int {
	n := node.FloatBytes[float64](len(o.acc))
	if o.decimate != nil {
		n += o.decimate.StateBytes()
	}
	return n
}

func (o *oscillator[F]) Save(dst []byte) int {
	n := node.PutFloats(dst, o.acc)
	if o.decimate != nil {
		n += o.decimate.Save(dst[n:])
	}
	return n
}

func (o *oscillator[F]) Load(src []byte) graph.Code {
	if len(src) != o.StateBytes() {
		return graph.State
	}
	n := node.GetFloats(o.acc, src)
	if o.decimate != nil {
		return o.decimate.Load(src[n:])
	}
	return graph.Success
}

// Needs returns the state: phases are recomputed from the one at the start of
// the call.
func (o *oscillator[F]) Needs() node.Needs { return node.NeedS0 }

func (o *oscillator[F]) ResetAdjoint() {
	clear(o.lambda)
	if o.decimate != nil {
		o.decimate.ResetAdjoint()
	}
}

func (o *oscillator[F]) FinishAdjoint([]node.Grad[F]) {}

func (o *oscillator[F]) Backward(b *node.Back[F]) graph.Code {
	for r := range o.acc {
		dy := b.DOut[0].Row(r)
		if o.decimate != nil {
			made := o.made[:b.Tokens*o.ratio]
			o.decimate.Backward(r, made, dy)
			dy = made
		}
		v := o.voice(b.Param, r)
		o.phases(b, r, &v)
		lambda := o.lambda[r]
		for i := b.Tokens - 1; i >= 0; i-- {
			p := v.at(i)
			by, sign := p[frequency]/o.rate, 1.0
			if by < 0 {
				by, sign = -by, -1
			}
			var d [3]float64
			start := fraction(p[phase])
			for k := (i+1)*o.ratio - 1; k >= i*o.ratio; k-- {
				w, byT, byD := o.shape.slope(wrap(o.accs[k]+start), by)
				g := float64(dy[k])
				turn := g * p[amplitude] * byT
				d[frequency] += (lambda + sign*g*p[amplitude]*byD) / o.rate
				d[amplitude] += g * w
				d[phase] += turn
				lambda += turn
			}
			give(b.DParam, r, i, d)
		}
		o.lambda[r] = lambda
	}
	node.Report(o.Reporter, &b.Call)
	return graph.Success
}

// phases recomputes the phases of all frames of a row.
func (o *oscillator[F]) phases(b *node.Back[F], r int, v *voice[F]) {
	var acc [1]float64
	node.GetFloats(acc[:], b.State0[node.FloatBytes[float64](r):])
	for i := range b.Tokens {
		by := fraction(v.at(i)[frequency] / o.rate)
		for k := i * o.ratio; k < (i+1)*o.ratio; k++ {
			o.accs[k] = acc[0]
			acc[0] = wrap(acc[0] + by)
		}
	}
}

// give stores the gradient of the parameters of token i of row r.
func give[F node.Float](to []node.Grad[F], r, i int, d [3]float64) {
	for k := range d {
		switch g := &to[k]; {
		case g.Framed.Data != nil:
			g.Framed.Data[r*g.Framed.N+i] = F(d[k])
		case g.Sum != nil:
			g.Sum[r] += d[k]
		}
	}
}
