package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// MeterTypes returns the table of the meters: Meter, Loudness in EBU mode, and the voice activity detector VAD. Of a
// Meter:
//
//	            ┌──► rms        per channel, linear
//	in ──► hop ─┼──► peak       per channel, linear: the largest |x|
//	            ├──► momentary  of all channels, LUFS, over the last blocks reports
//	            └──► integrated of all channels, LUFS, gated, since the start
//
// A token is hop frames and gives one number to each output. With a hop of a
// tenth of a second and 4 blocks, momentary and integrated follow ITU-R
// BS.1770-4 and EBU R 128: K weighting (a shelf for the head, a highpass),
// channels summed with their weights, and gating that leaves out blocks below
// -70 LUFS, then blocks more than 10 LU below the mean of the rest.
func MeterTypes() node.Table {
	return node.Table{{
		Name: "Meter", Doc: "every hop frames: RMS, peak, and BS.1770 loudness, momentary over the last blocks hops and integrated since the start",
		Ins: []string{"in"}, Outs: []string{"rms", "peak", "momentary", "integrated"},
		Settings: []node.Setting{{Name: "hop", Least: 1, Value: 4800}, {Name: "blocks", Least: 1, Value: 4}},
		Refine:   refineMeter, New32: newMeter[float32], New64: newMeter[float64],
	}, loudnessType(), vadType()}
}

func refineMeter(_ *graph.Node, s node.Settings, spec *graph.Spec) error {
	spec.Cons = []int{s.Int("hop")}
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		one := graph.Shape{B: in[0].B, C: 1}
		return []graph.Shape{in[0], in[0], one, one}, nil
	}
	return nil
}

// The gates of integrated loudness, in LUFS and LU, and the histogram of blocks
// above the absolute gate.
const (
	absolute = -70.0
	relative = -10.0
	finest   = 0.1 // LU per bin of the histogram
	bins     = 800
)

type meter[F node.Float] struct {
	node.Reporter
	shape        graph.Shape
	hop, blocks  int
	shelf, low   section
	state        []float64 // all of the following, as a snapshot
	ring         []float64 // [B, blocks] weighted mean squares of reports
	tokens       []float64 // [1]
	sums, counts []float64 // [B, bins] powers of blocks by their loudness
	weights      []float64 // [C]
	filters      []float64 // [B*C*4] states of the two filters
}

func newMeter[F node.Float](cfg node.Config) (node.Instance[F], error) {
	m := &meter[F]{Reporter: node.NewReporter(cfg, 0), shape: cfg.Node.InShape[0], hop: cfg.Settings.Int("hop"), blocks: cfg.Settings.Int("blocks")}
	m.shelf, m.low = shelf(cfg.SampleRate), highpassWeighting(cfg.SampleRate)
	for c := range m.shape.C {
		m.weights = append(m.weights, channelWeight(c, m.shape.C))
	}
	rows := m.shape.B * m.shape.C
	sizes := []int{1, rows * 4, m.shape.B * m.blocks, m.shape.B * bins, m.shape.B * bins}
	total := 0
	for _, n := range sizes {
		total += n
	}
	m.state = make([]float64, total)
	rest := m.state
	for i, part := range []*[]float64{&m.tokens, &m.filters, &m.ring, &m.sums, &m.counts} {
		*part, rest = rest[:sizes[i]:sizes[i]], rest[sizes[i]:]
	}
	return m, nil
}

func (m *meter[F]) Forward(c *node.Call[F]) graph.Code {
	for t := range c.Tokens {
		slot := int(m.tokens[0]) % m.blocks
		for b := range m.shape.B {
			sum := 0.0
			for ch := range m.shape.C {
				r := b*m.shape.C + ch
				x := c.In[0].Row(r)[t*m.hop:][:m.hop]
				rms, peak, weighted := m.measure(x, m.filters[r*4:][:4])
				c.Out[0].Row(r)[t], c.Out[1].Row(r)[t] = F(rms), F(peak)
				sum += m.weights[ch] * weighted
			}
			m.ring[b*m.blocks+slot] = sum
			c.Out[2].Row(b)[t], c.Out[3].Row(b)[t] = m.loudness(b)
		}
		m.tokens[0]++
	}
	node.Report(m.Reporter, c)
	return graph.Success
}

// measure returns the root mean square, the peak and the K-weighted mean square
// of a report's frames.
func (m *meter[F]) measure(x []F, state []float64) (rms, peak, weighted float64) {
	s1, s2 := [2]float64{state[0], state[1]}, [2]float64{state[2], state[3]}
	for _, v := range x {
		k := m.low.run(&s2, m.shelf.run(&s1, float64(v)))
		weighted += float64(k * k)
	}
	state[0], state[1], state[2], state[3] = s1[0], s1[1], s2[0], s2[1]
	n := float64(len(x))
	return math.Sqrt(dsp.SumSquares(x) / n), float64(dsp.Peak(x)), weighted / n
}

// loudness returns the momentary loudness of a batch, once there are enough
// reports, and the gated loudness of all its blocks.
func (m *meter[F]) loudness(b int) (momentary, integrated F) {
	if int(m.tokens[0])+1 < m.blocks {
		return F(silence), F(silence)
	}
	power := 0.0
	for _, v := range m.ring[b*m.blocks:][:m.blocks] {
		power += v
	}
	power /= float64(m.blocks)
	level := loudness(power)
	sums, counts := m.sums[b*bins:][:bins], m.counts[b*bins:][:bins]
	if level > absolute {
		i := bin(level)
		sums[i] += power
		counts[i]++
	}
	mean, ok := above(sums, counts, 0)
	if !ok {
		return F(level), F(silence)
	}
	gate := loudness(mean) + relative
	mean, _ = above(sums, counts, max(0, int(math.Ceil((gate-absolute)/finest))))
	return F(level), F(loudness(mean))
}

// bin returns the bin of a level above the absolute gate, which may be infinite.
func bin(level float64) int { return int(min((level-absolute)/finest, bins-1)) }

// above returns the mean power of the blocks in bins from first on.
func above(sums, counts []float64, first int) (mean float64, ok bool) {
	n := 0.0
	for i := first; i < len(sums); i++ {
		mean, n = mean+sums[i], n+counts[i]
	}
	if n == 0 {
		return 0, false
	}
	return mean / n, true
}

func (m *meter[F]) Reset()              { clear(m.state) }
func (m *meter[F]) StateBytes() int     { return node.FloatBytes[float64](len(m.state)) }
func (m *meter[F]) Save(dst []byte) int { return node.PutFloats(dst, m.state) }
func (m *meter[F]) Load(src []byte) graph.Code {
	if len(src) != m.StateBytes() {
		return graph.State
	}
	node.GetFloats(m.state, src)
	return graph.Success
}
