package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// refineHarmonic describes HarmonicSynth: a token takes a frame of control and
// gives hop frames of sound.
func refineHarmonic(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	spec.Prod = []int{s.Int("hop")}
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if in[0].C != 1 || in[0].B != in[1].B {
			return nil, node.Mismatch(n, "f0 has one channel, and as many batches as harmonics")
		}
		return in[:1:1], nil
	}
	spec.Rows = node.RowsOfOutput
	return nil
}

// A harmonic is the additive synthesiser of Engel et al., DDSP: Differentiable
// digital signal processing, 2020:
//
//	y[n] = loudness[n] sum over k of a_k[n] sin(2 pi k phase[n])
//	phase[n+1] = phase[n] + f0[n] / rate
//
// f0, the amplitudes a_k (one channel each) and the loudness come once a token.
// Within the token they go in a straight line from the last token's values to its
// own, which they reach with its last frame. A harmonic at or above half the rate
// is silent. Phases are float64 for either F, and every frame's is the sum of all
// f0 before it, so that the gradient of f0 is one over all later frames.
type harmonic[F node.Float] struct {
	node.Reporter
	batches, count, hop int
	rate                float64   // frames of sound per second
	state               []float64 // [batches, 3 + harmonics] phase, 0 before the first token, controls
	now                 []float64 // controls: f0, loudness, amplitudes
	way                 []float64 // the same, from the last token's
	before              []float64 // a snapshot
	phases              []float64 // [MaxTokens, hop] of a batch
	controls            []float64 // [MaxTokens + 1, controls] of a batch
	lambda              []float64 // [batches] gradient of the phase after the call
	owed                []float64 // [batches, controls] what the next token's way adds to the gradient of the last controls
	from, to            []float64 // gradients of a token's controls, and the last token's
}

// Places in a list of controls; amplitudes follow.
const (
	pitch = iota
	level
	firstHarmonic
)

func newHarmonic[F node.Float](cfg node.Config) (node.Instance[F], error) {
	h := &harmonic[F]{Reporter: node.NewReporter(cfg, 0), batches: cfg.Node.InShape[0].B, count: firstHarmonic + cfg.Node.InShape[1].C, hop: cfg.Settings.Int("hop")}
	h.rate = cfg.SampleRate * float64(cfg.Node.Rate.Num) / float64(cfg.Node.Rate.Den) * float64(h.hop)
	h.state, h.now, h.way = make([]float64, h.batches*h.size()), make([]float64, h.count), make([]float64, h.count)
	if cfg.Training {
		h.before, h.lambda, h.owed = make([]float64, len(h.state)), make([]float64, h.batches), make([]float64, h.batches*h.count)
		h.phases, h.controls = make([]float64, cfg.MaxTokens*h.hop), make([]float64, (cfg.MaxTokens+1)*h.count)
		h.from, h.to = make([]float64, h.count), make([]float64, h.count)
	}
	return h, nil
}

// size is the number of a batch's numbers in the state.
func (h *harmonic[F]) size() int { return 2 + h.count }

// read takes the controls of token t.
func (h *harmonic[F]) read(c *node.Call[F], to []float64, b, t int) {
	to[pitch] = float64(c.In[0].Row(b)[t])
	loud := rowValuesOf(c, 0, b, 1)
	to[level] = float64(loud.At(t))
	x := &c.In[1]
	for k := range x.C {
		to[firstHarmonic+k] = float64(x.Row(b*x.C + k)[t])
	}
}

// audible returns how many harmonics are below half the rate.
func (h *harmonic[F]) audible(f0 float64) int {
	n := h.count - firstHarmonic
	if f0 = math.Abs(f0); f0*float64(n) < h.rate/2 {
		return n
	}
	k := 0
	for k < n && f0*float64(k+1) < h.rate/2 {
		k++
	}
	return k
}

// step advances a batch's state by token t, and writes its sound to y and the
// phases to phases unless they are nil.
func (h *harmonic[F]) step(c *node.Call[F], state, phases []float64, y []F, b, t int) {
	h.read(c, h.now, b, t)
	phase, last := state[0], state[2:]
	if state[1] == 0 {
		state[1] = 1
		copy(last, h.now)
	}
	for i := range h.hop {
		by := float64(i+1) / float64(h.hop)
		f0 := last[pitch] + float64(by*(h.now[pitch]-last[pitch]))
		if y != nil {
			sum := 0.0
			for k := range h.audible(f0) {
				at := firstHarmonic + k
				a := last[at] + float64(by*(h.now[at]-last[at]))
				sum += float64(a * dsp.SinTurn(fraction(float64(k+1)*phase)))
			}
			y[i] = F(sum * (last[level] + float64(by*(h.now[level]-last[level]))))
		}
		if phases != nil {
			phases[i] = phase
		}
		phase = fraction(phase + f0/h.rate)
	}
	state[0] = phase
	copy(last, h.now)
}

func (h *harmonic[F]) Forward(c *node.Call[F]) graph.Code {
	for b := range h.batches {
		y := c.Out[0].Row(b)
		for t := range c.Tokens {
			h.step(c, h.state[b*h.size():][:h.size()], nil, y[t*h.hop:][:h.hop], b, t)
		}
	}
	node.Report(h.Reporter, c)
	return graph.Success
}

func (h *harmonic[F]) Reset()                       { clear(h.state) }
func (h *harmonic[F]) StateBytes() int              { return node.FloatBytes[float64](len(h.state)) }
func (h *harmonic[F]) Save(dst []byte) int          { return node.PutFloats(dst, h.state) }
func (h *harmonic[F]) Load(src []byte) graph.Code   { return takeRowState(h.state, src) }
func (h *harmonic[F]) Needs() node.Needs            { return node.NeedX | node.NeedS0 }
func (h *harmonic[F]) FinishAdjoint([]node.Grad[F]) {}
func (h *harmonic[F]) ResetAdjoint() {
	clear(h.lambda)
	clear(h.owed)
}

// Backward computes the phases of the call again and goes back through them.
func (h *harmonic[F]) Backward(b *node.Back[F]) graph.Code {
	if code := takeRowState(h.before, b.State0); code != graph.Success {
		return code
	}
	for batch := range h.batches {
		state := h.before[batch*h.size():][:h.size()]
		copy(h.controls, state[2:])
		if state[1] == 0 && b.Tokens > 0 {
			h.read(&b.Call, h.controls[:h.count], batch, 0)
		}
		first := state[1] == 0
		for t := range b.Tokens {
			h.step(&b.Call, state, h.phases[t*h.hop:][:h.hop], nil, batch, t)
			copy(h.controls[(t+1)*h.count:], h.now)
		}
		for t := b.Tokens - 1; t >= 0; t-- {
			h.back(b, batch, t, first && t == 0)
		}
	}
	node.Report(h.Reporter, &b.Call)
	return graph.Success
}

// back goes back over token t of a batch.
func (h *harmonic[F]) back(b *node.Back[F], batch, t int, first bool) {
	last, now, owed := h.controls[t*h.count:][:h.count], h.controls[(t+1)*h.count:][:h.count], h.owed[batch*h.count:][:h.count]
	clear(h.from)
	copy(h.to, owed)
	lambda, dy := h.lambda[batch], b.DOut[0].Row(batch)[t*h.hop:]
	for i := h.hop - 1; i >= 0; i-- {
		by, phase, d := float64(i+1)/float64(h.hop), h.phases[t*h.hop+i], float64(dy[i])
		give := func(at int, g float64) {
			h.from[at] += float64((1 - by) * g)
			h.to[at] += float64(by * g)
		}
		at := func(k int) float64 { return last[k] + float64(by*(now[k]-last[k])) }
		f0, loud, sum, turn := at(pitch), at(level), 0.0, 0.0
		for k := range h.audible(f0) {
			sin, cos := dsp.Turn(fraction(float64(k+1) * phase))
			a := at(firstHarmonic + k)
			sum += float64(a * sin)
			turn += float64(a * cos * float64(k+1))
			give(firstHarmonic+k, d*loud*sin)
		}
		give(level, d*sum)
		give(pitch, lambda/h.rate)
		lambda += float64(d * loud * turn * 2 * math.Pi)
	}
	h.lambda[batch] = lambda
	if first { // the way began where it ended
		for k, g := range h.from {
			h.to[k] += g
			h.from[k] = 0
		}
	}
	copy(owed, h.from)
	if b.DIn[0].Data != nil {
		b.DIn[0].Row(batch)[t] = F(h.to[pitch])
	}
	if x := &b.DIn[1]; x.Data != nil {
		for k := range h.count - firstHarmonic {
			x.Row(batch*x.C + k)[t] = F(h.to[firstHarmonic+k])
		}
	}
	switch g := &b.DParam[0]; {
	case g.Framed.Data != nil:
		g.Framed.Row(batch)[t] = F(h.to[level])
	case g.Sum != nil:
		g.Sum[batch] += h.to[level]
	}
}
