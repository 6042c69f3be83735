package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
)

var waves = []string{"sine", "saw", "square", "triangle"}

// wave returns the value of a wave at a phase in cycles.
func wave(kind string, t float64) float64 {
	t -= math.Floor(t)
	switch kind {
	case "sine":
		return math.Sin(2 * math.Pi * t)
	case "saw":
		return 2*t - 1
	case "square":
		if t < 0.5 {
			return 1
		}
		return -1
	}
	return 1 - 4*math.Abs(t-0.5)
}

// An lfo is y[n] = amplitude wave(acc + phase). acc counts cycles, in float64
// whatever F is, and grows by frequency/rate each frame.
type lfo[F node.Float] struct {
	node.Reporter
	rate           float64
	kind           string
	rows, channels int
	acc            []float64 // [rows]
}

func newLFO[F node.Float](cfg node.Config) (node.Instance[F], error) {
	shape := cfg.Node.Rows
	return &lfo[F]{Reporter: node.NewReporter(cfg, 0), rate: cfg.SampleRate, kind: cfg.Settings.Word("kind"),
		rows: shape.B * shape.C, channels: shape.C, acc: make([]float64, shape.B*shape.C)}, nil
}

func (l *lfo[F]) Forward(c *node.Call[F]) graph.Code {
	for r, acc := range l.acc {
		if c.Tokens == 0 {
			break
		}
		frequency, amplitude, phase := rowValuesOf(c, 0, r, l.channels), rowValuesOf(c, 1, r, l.channels), rowValuesOf(c, 2, r, l.channels)
		y := c.Out[0].Row(r)
		for i := range y {
			y[i] = F(float64(amplitude.At(i)) * wave(l.kind, acc+float64(phase.At(i))))
			acc += float64(frequency.At(i)) / l.rate
			acc -= math.Floor(acc)
		}
		l.acc[r] = acc
	}
	node.Report(l.Reporter, c)
	return graph.Success
}

func (l *lfo[F]) Reset()                     { clear(l.acc) }
func (l *lfo[F]) StateBytes() int            { return node.FloatBytes[float64](len(l.acc)) }
func (l *lfo[F]) Save(dst []byte) int        { return node.PutFloats(dst, l.acc) }
func (l *lfo[F]) Load(src []byte) graph.Code { return takeRowState(l.acc, src) }
