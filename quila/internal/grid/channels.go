package grid

import (
	"math"
	"slices"

	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/tensor"
)

// Kinds of neurons, S4.attention_type. Those of a modality hear its boundary,
// and Any hears all.
const (
	Any uint8 = iota
	Text
	Image
	Audio
	Video
	Analysis
)

// Lengths of the rings of S1 and S8.
const (
	activationRing   = 16
	contributionRing = 32
)

// activeTicks is for how many ticks a source that was heard counts as active.
const activeTicks = 16

// fade is the rate of the moving averages of S6.
const fade = .9

// Channels are the S channels of a session that steps 2 to 8 do not need.
type Channels struct {
	N, D int

	Activation   []float32 // [N] S1: mean |h_smooth| of the last firing
	History      []float32 // [N][16] S1: of the last firings, a ring
	Firings      []uint32  // [N]; modulo a ring's length where the next value goes
	Attention    []uint8   // [N] S4
	GraphPos     []uint32  // [N][2] S4: community, rank in it
	Reliability  []float32 // [N] S5: 1 − mean uncertainty of the input
	Uncertainty  []float32 // [N][D] S5
	Doubt        []float32 // [D] of neurons: scratch of a tick, the input's uncertainty [N][D]
	doubted      []bool    // [N]
	DRC          []float32 // [N][D] S2: what stream D changed
	Load         []float32 // [E] S6: moving average of mean |message|
	Heard        []uint64  // [E] S6: tick at which a message was last read; 0 never
	Neighbour    []float32 // [N][D] S6: moving average of the senders' h_final
	Contribution []float32 // [N][32] S8: utilities of the last firings, a ring
}

func newChannels(c *config.Config, edges int) *Channels {
	n, d := c.N, c.D
	k := &Channels{
		N: n, D: d, Activation: make([]float32, n), History: make([]float32, n*activationRing), Firings: make([]uint32, n),
		Attention: make([]uint8, n), GraphPos: make([]uint32, 2*n), Reliability: make([]float32, n),
		DRC: make([]float32, n*d), Load: make([]float32, edges), Heard: make([]uint64, edges), Neighbour: make([]float32, n*d),
		Contribution: make([]float32, n*contributionRing),
	}
	if c.Uncertainty {
		k.Uncertainty, k.Doubt, k.doubted = make([]float32, n*d), make([]float32, n*d), make([]bool, n)
	}
	for i := range k.Reliability {
		k.Reliability[i] = 1
	}
	return k
}

// floats are the channels that hold floats.
func (k *Channels) floats() [][]float32 {
	return [][]float32{k.Activation, k.History, k.Reliability, k.Uncertainty, k.DRC, k.Load, k.Neighbour, k.Contribution}
}

func (k *Channels) copyFrom(from *Channels) {
	src := from.floats()
	for i, v := range k.floats() {
		copy(v, src[i])
	}
	copy(k.Firings, from.Firings)
	copy(k.Attention, from.Attention)
	copy(k.GraphPos, from.GraphPos)
	copy(k.Heard, from.Heard)
}

// Clone copies channels.
func (k *Channels) Clone() *Channels {
	out := *k
	for _, v := range []*[]float32{&out.Activation, &out.History, &out.Reliability, &out.Uncertainty, &out.Doubt, &out.DRC, &out.Load, &out.Neighbour, &out.Contribution} {
		*v = slices.Clone(*v)
	}
	out.Firings, out.Attention, out.GraphPos = slices.Clone(k.Firings), slices.Clone(k.Attention), slices.Clone(k.GraphPos)
	out.Heard, out.doubted = slices.Clone(k.Heard), slices.Clone(k.doubted)
	return &out
}

// hears reports whether a neuron reads the boundary of a modality.
func (k *Channels) hears(n, modality int) bool {
	a := k.Attention[n]
	return a == Any || int(a) == int(Text)+modality
}

// inputs marks who hears the boundary of a modality; nil is all.
func (k *Channels) inputs(modality int) []bool {
	all, in := true, make([]bool, k.N)
	for n := range in {
		in[n] = k.hears(n, modality)
		all = all && in[n]
	}
	if all {
		return nil
	}
	return in
}

// Recent appends the activations of a neuron's last firings, the oldest first.
func (k *Channels) Recent(dst []float32, n int) []float32 {
	return unroll(dst, k.History[n*activationRing:][:activationRing], k.Firings[n])
}

// Contributions appends the utilities of a neuron's last firings, the oldest
// first.
func (k *Channels) Contributions(dst []float32, n int) []float32 {
	return unroll(dst, k.Contribution[n*contributionRing:][:contributionRing], k.Firings[n])
}

func unroll(dst, ring []float32, count uint32) []float32 {
	size := uint32(len(ring))
	if count <= size {
		return append(dst, ring[:count]...)
	}
	at := count % size
	return append(append(dst, ring[at:]...), ring[:at]...)
}

// Routing writes the weights of a neuron's outgoing edges: softmax of the moving
// averages of their messages. They order sending and scale no payload.
func (k *Channels) Routing(dst []float32, lo, hi int) {
	var sum float64
	top := float32(math.Inf(-1))
	for _, x := range k.Load[lo:hi] {
		top = max(top, x)
	}
	for i, x := range k.Load[lo:hi] {
		dst[i] = float32(math.Exp(float64(x - top)))
		sum += float64(dst[i])
	}
	for i := range dst[:hi-lo] {
		dst[i] = float32(float64(dst[i]) / sum)
	}
}

// Active reports whether a message of an edge was read in the last 16 ticks
// before tick.
func (k *Channels) Active(edge int, tick uint64) bool {
	return k.Heard[edge] != 0 && tick-k.Heard[edge] < activeTicks
}

// Eviction writes 1 − the utility, from 0 to 1 over the grid; equal utilities
// are .5 each.
func Eviction(dst, utility []float32) {
	low, high := slices.Min(utility), slices.Max(utility)
	for i, u := range utility {
		dst[i] = .5
		if high > low {
			dst[i] = 1 - (u-low)/(high-low)
		}
	}
}

// listen notes whom a neuron hears at this tick: S6.
func (k *Channels) listen(s *Session, b *batch, n int) {
	g, d := s.g, k.D
	st := b.state
	mean := k.Neighbour[n*d : (n+1)*d]
	count := 0
	for pass := range 2 { // how many there are, then their mean
		scale := float32(0)
		if pass == 1 {
			if count == 0 {
				return
			}
			scale = (1 - fade) / float32(count)
			for j := range mean {
				mean[j] *= fade
			}
		}
		for _, e := range g.graph.Incoming(n) {
			src := int(g.graph.Src[e])
			if g.composed {
				if !st.Sent[src*st.B+s.slot] {
					continue
				}
				count++
				k.Heard[e] = s.tick
				k.mix(mean, st.HFinal[(src*st.B+s.slot)*d:][:d], scale)
				continue
			}
			for a := s.Schedule.Since[n]; a <= s.tick; a++ {
				at := s.at(a)
				if !s.ring.sent[at*k.N+src] || s.lost(at, int(e)) {
					continue
				}
				count++
				k.Heard[e] = s.tick
				k.mix(mean, s.ring.h[(at*k.N+src)*d:][:d], scale)
			}
		}
	}
}

func (k *Channels) mix(dst, h []float32, scale float32) {
	if scale == 0 {
		return
	}
	for j, x := range h {
		dst[j] += scale * x
	}
}

// update writes the channels of those who fired, after step 8.
func (k *Channels) update(s *Session, b *batch) {
	g, d := s.g, k.D
	st, c := b.state, s.g.c
	for n, f := range s.fire {
		if !f {
			continue
		}
		i := n*st.B + s.slot
		var sum float32
		for _, x := range st.Hidden[i*d : (i+1)*d] {
			sum += float32(math.Abs(float64(x)))
		}
		k.Activation[n] = sum / float32(d)
		k.History[n*activationRing+int(k.Firings[n]%activationRing)] = k.Activation[n]
		k.Contribution[n*contributionRing+int(k.Firings[n]%contributionRing)] = b.util[i]
		k.Firings[n]++
		copy(k.DRC[n*d:(n+1)*d], b.drc[i*d:])
		h := st.HFinal[i*d : (i+1)*d]
		if c.Uncertainty {
			k.doubt(n, st.Conf[i], h)
		}
		lo, hi := g.graph.Outgoing(n)
		for e := lo; e < hi; e++ {
			if x := g.loudness(e, h); x-x == 0 { // a message that is dropped weighs nothing
				k.Load[e] = fade*k.Load[e] + (1-fade)*x
			}
		}
		if c.Numerics == "fp16" { // S3 is stored in half precision
			newest := st.Frames[i*st.Depth*d:][:d]
			for j, x := range newest {
				newest[j] = tensor.F16ToF32(tensor.F32ToF16(x))
			}
		}
	}
}

// doubt writes S5's uncertainty and reliability.
func (k *Channels) doubt(n int, conf float32, h []float32) {
	var in []float32
	k.Reliability[n] = 1
	if k.doubted[n] {
		in = k.Doubt[n*k.D : (n+1)*k.D]
		var sum float32
		for _, u := range in {
			sum += u
		}
		k.Reliability[n] = 1 - sum/float32(k.D)
	}
	neuron.Doubt(k.Uncertainty[n*k.D:(n+1)*k.D], in, conf, h)
}

// loudness is the mean magnitude of an edge's message. Where the kernel is as
// wide as the stride it is the mean magnitude of the seeds times that of the
// kernel; wider kernels overlap, and it is a bound.
func (g *Grid) loudness(e int, h []float32) float32 {
	w := g.wOut[e*g.c.WOutLen() : (e+1)*g.c.WOutLen()]
	var sum float32
	k := 0
	for _, x := range w {
		sum += float32(math.Abs(float64(x * h[k])))
		if k++; k == len(h) {
			k = 0
		}
	}
	return sum / float32(g.c.A*g.c.A) * g.gain[e]
}

// A Baseline is what a call begins with: the channels of block 2 and the
// persistent traces.
type Baseline struct {
	State    *neuron.State[float32] // of one session
	Channels *Channels
}

func newBaseline(c *config.Config, edges int) *Baseline {
	return &Baseline{State: neuron.NewState[float32](c, 1), Channels: newChannels(c, edges)}
}

// Baseline is what calls begin with. Changes are seen by the next session and
// the next Reset; S2, confidence and reliability are defaults whatever a file
// holds [R-5.1a].
func (g *Grid) Baseline() *Baseline { return g.baseline }
