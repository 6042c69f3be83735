package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// loudnessType is the entry of a loudness meter in EBU mode (EBU R 128, Tech 3341 and 3342). Each output has one number
// for each hop frames, of all channels of a batch:
//
//	momentary    LUFS over the last 0.4 s
//	short_term   LUFS over the last 3 s
//	integrated   LUFS since the start, gated as in ITU-R BS.1770-4
//	range        loudness range in LU since the start: from the 10th to the 95th percentile of gated short-term loudness
//	true_peak    dBTP, the largest since the start, at four times the rate
//
// Loudness is -120 LUFS before the first window is full. The windows are whole numbers of hops, so a hop should be a
// divisor of a tenth of a second.
func loudnessType() node.Type {
	return node.Type{Name: "Loudness",
		Doc: "EBU R 128 meter; every hop frames: momentary (0.4 s), short-term (3 s) and integrated loudness in LUFS, loudness range in LU, largest true peak in dBTP",
		Ins: []string{"in"}, Outs: []string{"momentary", "short_term", "integrated", "range", "true_peak"},
		Settings: []node.Setting{{Name: "hop", Least: 1, Value: 4800}},
		Refine:   refineLoudness, New32: newLoudness[float32], New64: newLoudness[float64]}
}

func refineLoudness(_ *graph.Node, s node.Settings, spec *graph.Spec) error {
	spec.Cons = []int{s.Int("hop")}
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		one := graph.Shape{B: in[0].B, C: 1}
		return []graph.Shape{one, one, one, one, one}, nil
	}
	return nil
}

// rangeGate is the relative gate of the loudness range in LU.
const rangeGate = -20.0

// A loudnessMeter is a Loudness node.
type loudnessMeter[F node.Float] struct {
	node.Reporter
	shape            graph.Shape
	hop              int
	momentary, short int // hops
	step             int // hops between blocks of a histogram: a tenth of a second
	shelf, low       section
	weights          []float64 // [C]
	interpolator     *interpolator[F]
	x, tops          []F // [11 + hop] frames of a row, [hop] peaks

	state   []float64 // all of the following, as a snapshot
	tokens  []float64 // [1]
	highest []float64 // [B] linear true peaks
	filters []float64 // [B, C, 4] states of the two filters
	past    []float64 // [B, C, 11] the last frames
	ring    []float64 // [B, short] weighted mean squares of hops
	gated   []float64 // [B, 4, bins] powers and numbers of momentary, then of short-term blocks by their loudness
}

func newLoudness[F node.Float](cfg node.Config) (node.Instance[F], error) {
	m := &loudnessMeter[F]{Reporter: node.NewReporter(cfg, 0), shape: cfg.Node.InShape[0], hop: cfg.Settings.Int("hop"),
		shelf: shelf(cfg.SampleRate), low: highpassWeighting(cfg.SampleRate)}
	hops := func(seconds float64) int { return max(1, int(math.Round(seconds*cfg.SampleRate/float64(m.hop)))) }
	m.momentary, m.short, m.step = hops(0.4), hops(3), hops(0.1)
	for c := range m.shape.C {
		m.weights = append(m.weights, channelWeight(c, m.shape.C))
	}
	m.interpolator = newInterpolator[F](m.hop, standardPhases())
	m.x, m.tops = make([]F, peakTaps-1+m.hop), make([]F, m.hop)
	rows := m.shape.B * m.shape.C
	sizes := []int{1, m.shape.B, rows * 4, rows * (peakTaps - 1), m.shape.B * m.short, m.shape.B * 4 * bins}
	total := 0
	for _, n := range sizes {
		total += n
	}
	m.state = make([]float64, total)
	rest := m.state
	for i, part := range []*[]float64{&m.tokens, &m.highest, &m.filters, &m.past, &m.ring, &m.gated} {
		*part, rest = rest[:sizes[i]:sizes[i]], rest[sizes[i]:]
	}
	return m, nil
}

func (m *loudnessMeter[F]) Forward(c *node.Call[F]) graph.Code {
	for t := range c.Tokens {
		for b := range m.shape.B {
			sum := 0.0
			for ch := range m.shape.C {
				r := b*m.shape.C + ch
				x := c.In[0].Row(r)[t*m.hop:][:m.hop]
				sum += m.weights[ch] * m.weighted(x, m.filters[r*4:][:4])
				m.highest[b] = max(m.highest[b], m.top(x, m.past[r*(peakTaps-1):][:peakTaps-1]))
			}
			m.ring[b*m.short+int(m.tokens[0])%m.short] = sum
			m.report(c, t, b)
		}
		m.tokens[0]++
	}
	node.Report(m.Reporter, c)
	return graph.Success
}

// weighted returns the K-weighted mean square of a hop.
func (m *loudnessMeter[F]) weighted(x []F, state []float64) float64 {
	s1, s2, sum := [2]float64{state[0], state[1]}, [2]float64{state[2], state[3]}, 0.0
	for _, v := range x {
		k := m.low.run(&s2, m.shelf.run(&s1, float64(v)))
		sum += float64(k * k)
	}
	state[0], state[1], state[2], state[3] = s1[0], s1[1], s2[0], s2[1]
	return sum / float64(len(x))
}

// top returns the true peak of a hop.
func (m *loudnessMeter[F]) top(x []F, past []float64) float64 {
	for i, v := range past {
		m.x[i] = F(v)
	}
	copy(m.x[len(past):], x)
	m.interpolator.peaks(m.tops, m.x)
	for i := range past {
		past[i] = float64(m.x[len(x)+i])
	}
	return float64(dsp.Peak(m.tops))
}

// report writes the outputs of batch b for token t of the call.
func (m *loudnessMeter[F]) report(c *node.Call[F], t, b int) {
	h := m.gated[b*4*bins:][:4*bins]
	momentary := m.window(b, m.momentary, h[:2*bins])
	short := m.window(b, m.short, h[2*bins:])
	for i, v := range [...]float64{momentary, short, integrated(h[:bins], h[bins:2*bins]),
		loudnessRange(h[2*bins:3*bins], h[3*bins:]), 20 * math.Log10(max(m.highest[b], 1e-6))} {
		c.Out[i].Row(b)[t] = F(v)
	}
}

// window returns the loudness of the last n hops, and adds them to a histogram [2, bins] if they are a block of it.
func (m *loudnessMeter[F]) window(b, n int, h []float64) float64 {
	now := int(m.tokens[0])
	if now+1 < n {
		return silence
	}
	power := 0.0
	for i := range n {
		power += m.ring[b*m.short+(now-i)%m.short]
	}
	power /= float64(n)
	level := loudness(power)
	if level > absolute && (now+1-n)%m.step == 0 {
		i := bin(level)
		h[i] += power
		h[bins+i]++
	}
	return level
}

// gate returns the first bin above the mean of all blocks plus a gate in LU.
func gate(sums, counts []float64, by float64) (first int, ok bool) {
	mean, ok := above(sums, counts, 0)
	return int(min(max(0, math.Ceil((loudness(mean)+by-absolute)/finest)), bins-1)), ok
}

// integrated returns the gated loudness of a histogram of blocks.
func integrated(sums, counts []float64) float64 {
	first, ok := gate(sums, counts, relative)
	if !ok {
		return silence
	}
	mean, _ := above(sums, counts, first)
	return loudness(mean)
}

// loudnessRange returns the loudness range of a histogram of short-term blocks (EBU Tech 3342): the distance between
// the 10th and the 95th percentile of those above the gate. A bin stands for the mean power of its blocks.
func loudnessRange(sums, counts []float64) float64 {
	first, ok := gate(sums, counts, rangeGate)
	if !ok {
		return 0
	}
	n := 0.0
	for _, v := range counts[first:] {
		n += v
	}
	at := func(share float64) float64 {
		left := math.Round((n - 1) * share)
		for i := first; i < bins; i++ {
			if left -= counts[i]; left < 0 {
				return loudness(sums[i] / counts[i])
			}
		}
		return silence
	}
	return at(0.95) - at(0.10)
}

func (m *loudnessMeter[F]) Reset()              { clear(m.state) }
func (m *loudnessMeter[F]) StateBytes() int     { return node.FloatBytes[float64](len(m.state)) }
func (m *loudnessMeter[F]) Save(dst []byte) int { return node.PutFloats(dst, m.state) }
func (m *loudnessMeter[F]) Load(src []byte) graph.Code {
	if len(src) != m.StateBytes() {
		return graph.State
	}
	node.GetFloats(m.state, src)
	if !(m.tokens[0] >= 0) || m.tokens[0] != math.Trunc(m.tokens[0]) {
		m.Reset()
		return graph.State
	}
	return graph.Success
}
