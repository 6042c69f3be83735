package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// A quantizer rounds to the numbers of a format.
type quantizer struct {
	name      string
	mantissa  int     // bits, without the leading one
	smallest  int     // exponent of the smallest normal number
	low, high float64 // what it saturates to
}

// quantizers are the two formats of the OCP 8-bit floating point specification
// (OFP8, revision 1.0, 2023), and integers.
var quantizers = []quantizer{
	{"e4m3", 3, -6, -448, 448},
	{"e5m2", 2, -14, -57344, 57344},
	{"int8", 0, 0, -128, 127},
}

// round returns the nearest number of the format, of two equally near ones that
// with an even last digit. Numbers outside its range, and infinities, become the
// largest; NaN stays.
func (q *quantizer) round(v float64) float64 {
	if math.IsNaN(v) {
		return v
	}
	if v >= q.high {
		return q.high
	}
	if v <= q.low {
		return q.low
	}
	step := 0
	if q.mantissa > 0 {
		_, e := math.Frexp(v) // v = f 2^e, 0.5 <= |f| < 1
		step = max(e-1, q.smallest) - q.mantissa
	}
	return math.Ldexp(math.RoundToEven(math.Ldexp(v, -step)), step)
}

// A quantize is y = scale round(x / scale). The gradient of x is the
// straight-through estimate (Bengio, Léonard, Courville, Estimating or propagating
// gradients through stochastic neurons, 2013): rounding counts as the identity,
// and nothing passes where x saturates. That of the scale follows from the same
// rule (Esser et al., Learned step size quantization, 2020).
type quantize[F node.Float] struct {
	node.Reporter
	quantizer
	channels int
}

func newQuantize[F node.Float](cfg node.Config) (node.Instance[F], error) {
	q := &quantize[F]{Reporter: node.NewReporter(cfg, 0), channels: cfg.Node.Rows.C}
	for _, f := range quantizers {
		if f.name == cfg.Settings.Word("kind") {
			q.quantizer = f
		}
	}
	return q, nil
}

// refineQuantize checks the scale.
func refineQuantize(n *graph.Node, _ node.Settings, spec *graph.Spec) error {
	for _, v := range spec.Params[0].Value.Data {
		if !(v > 0) || math.IsInf(v, 1) {
			return node.Bad(n, "scale", "a positive number wanted")
		}
	}
	return nil
}

func (q *quantize[F]) Forward(c *node.Call[F]) graph.Code {
	x := &c.In[0]
	for r := range x.B * x.C {
		scale, y := rowValuesOf(c, 0, r, q.channels), c.Out[0].Row(r)
		for t, v := range x.Row(r) {
			s := float64(scale.At(t))
			if !(s > 0) {
				return graph.InvalidArg // a modulated scale that is not positive
			}
			y[t] = F(s * q.round(float64(v)/s))
		}
	}
	node.Report(q.Reporter, c)
	return graph.Success
}

func (q *quantize[F]) Reset()                       {}
func (q *quantize[F]) Needs() node.Needs            { return node.NeedX }
func (q *quantize[F]) ResetAdjoint()                {}
func (q *quantize[F]) FinishAdjoint([]node.Grad[F]) {}

func (q *quantize[F]) Backward(b *node.Back[F]) graph.Code {
	for r := range b.In[0].B * b.In[0].C {
		x, dy, scale := b.In[0].Row(r), b.DOut[0].Row(r), rowValuesOf(&b.Call, 0, r, q.channels)
		for t := len(x) - 1; t >= 0; t-- {
			v := float64(x[t]) / float64(scale.At(t))
			rounded := q.round(v)
			inside := v >= q.low && v <= q.high
			if b.DIn[0].Data != nil {
				b.DIn[0].Row(r)[t] = 0
				if inside {
					b.DIn[0].Row(r)[t] = dy[t]
				}
			}
			d := float64(dy[t]) * rounded
			if inside {
				d = float64(dy[t]) * (rounded - v)
			}
			switch g := &b.DParam[0]; {
			case g.Framed.Data != nil:
				g.Framed.Row(r)[t] = F(d)
			case g.Sum != nil:
				g.Sum[r] += d
			}
		}
	}
	node.Report(q.Reporter, &b.Call)
	return graph.Success
}
