package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// vadType is the entry of a voice activity detector by a statistical model (J. Sohn, N. S. Kim, W. Sung, A statistical
// model-based voice activity detection, IEEE Signal Processing Letters 6(1), 1999). Every hop, and for each channel, the
// spectrum X of the last n_fft frames under a Hann window is compared with noise of variance λ; over its bins, without
// the first and the last,
//
//	γ = |X|²/λ                                    a posteriori SNR
//	ξ = 0.98 A²/λ' + 0.02 max(γ-1, 0)             a priori SNR, decision-directed (Ephraim and Malah, 1984), at least -25 dB
//	A = ξ/(1+ξ) |X|                               amplitude by Wiener's rule; A' and λ' are those of the hop before
//	ln Λ = mean of γ ξ/(1+ξ) - ln(1+ξ)            likelihood ratio of speech and noise
//	Γ = (on + (1-off) Γ') / (1-on + off Γ') Λ     hang-over: a Markov chain of two states
//
// probability is Γ/(1+Γ), and speech is 1 where that exceeds threshold. on and off are the chances per hop that speech
// begins and ends; a signal that tells nothing, Λ = 1, has odds of on/off, and after loud speech the odds pass 1 in about
// 1/off hops or less. (The paper has 0.2 and 0.1, and compares with a threshold times on/off.) The variance is the mean of the first noise_hops hops, which are taken for noise and have probability
// 0, and then follows |X|² with the time constant noise_time as far as the probability says noise (J. Sohn, W. Sung, A
// voice activity detector employing soft decision based noise spectrum adaptation, ICASSP 1998, with one probability
// for all bins). It is at least that of white noise of -100 dBFS.
//
// There is no gradient: speech is a decision, and the probability saturates at 0 and 1 in nearly every hop, where its
// derivative is 0 in floating point.
func vadType() node.Type {
	return node.Type{Name: "VAD",
		Doc: "voice activity every hop frames, by channel: probability of speech (Sohn, Kim, Sung 1999), and speech 1 where it exceeds threshold, else 0; on and off are chances per hop, noise_time is in seconds",
		Ins: []string{"in"}, Outs: []string{"speech", "probability"},
		Framed:   []node.Default{{Name: "threshold", Value: 0.5}, {Name: "on", Value: 0.02}, {Name: "off", Value: 0.1}, {Name: "noise_time", Value: 0.5}},
		Settings: []node.Setting{{Name: "n_fft", Least: 4, Value: 960}, {Name: "hop", Least: 1, Value: 480}, {Name: "noise_hops", Least: 1, Value: 10}},
		Refine:   refineVAD, New32: newVAD[float32], New64: newVAD[float64]}
}

func refineVAD(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	if s.Int("hop") > s.Int("n_fft") {
		return node.Bad(n, "hop", "at most n_fft wanted")
	}
	spec.Cons = []int{s.Int("hop")}
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) { return []graph.Shape{in[0], in[0]}, nil }
	return nil
}

// Constants of the detector.
const (
	directed  = 0.98
	leastSNR  = 0.0031622776601683794 // -25 dB
	quietest  = 1e-10                 // variance of a frame of noise
	certainty = 1e8                   // largest odds that are carried from hop to hop
)

// A vad is a VAD node.
type vad[F node.Float] struct {
	node.Reporter
	rate                 float64
	rows, channels       int
	size, hop, noiseHops int
	plan                 *dsp.RealFFT[float64]
	window, x, re, im    []float64
	floor                float64   // least variance
	state                []float64 // [rows] of vadRow
}

// A vadRow is a row's part of the state.
type vadRow struct {
	hops, odds      *float64
	past            []float64 // [size - hop]
	variance, prior []float64 // [bins] λ, and A²/λ of the hop before
}

func newVAD[F node.Float](cfg node.Config) (node.Instance[F], error) {
	shape := cfg.Node.InShape[0]
	v := &vad[F]{Reporter: node.NewReporter(cfg, 0), rate: cfg.SampleRate * float64(cfg.Node.Rate.Num) / float64(cfg.Node.Rate.Den), rows: shape.B * shape.C, channels: shape.C,
		size: cfg.Settings.Int("n_fft"), hop: cfg.Settings.Int("hop"), noiseHops: cfg.Settings.Int("noise_hops")}
	v.plan = dsp.NewRealFFT[float64](v.size)
	v.window, v.x = make([]float64, v.size), make([]float64, v.size)
	v.re, v.im = make([]float64, v.plan.Bins()), make([]float64, v.plan.Bins())
	for i := range v.window {
		s := math.Sin(math.Pi * float64(i) / float64(v.size))
		v.window[i] = s * s
		v.floor += quietest * float64(v.window[i]*v.window[i])
	}
	v.state = make([]float64, v.rows*v.perRow())
	return v, nil
}

func (v *vad[F]) perRow() int { return 2 + v.size - v.hop + 2*len(v.re) }

func (v *vad[F]) row(r int) vadRow {
	s, k := v.state[r*v.perRow():][:v.perRow()], 2+v.size-v.hop
	return vadRow{&s[0], &s[1], s[2:k], s[k : k+len(v.re)], s[k+len(v.re):]}
}

func (v *vad[F]) Forward(c *node.Call[F]) graph.Code {
	for r := range v.rows {
		s := v.row(r)
		of := func(k, t int) float64 { p := rowValuesOf(c, k, r, v.channels); return float64(p.At(t)) }
		for t := range c.Tokens {
			v.spectrum(c.In[0].Row(r)[t*v.hop:][:v.hop], s.past)
			p := v.probability(&s, of(1, t), of(2, t))
			v.adapt(&s, p, math.Exp(-float64(v.hop)/(v.rate*of(3, t))))
			speech := F(0)
			if p > of(0, t) {
				speech = 1
			}
			c.Out[0].Row(r)[t], c.Out[1].Row(r)[t] = speech, F(p)
		}
	}
	node.Report(v.Reporter, c)
	return graph.Success
}

// spectrum computes the power of each bin, in re, of the last frames up to those of a hop.
func (v *vad[F]) spectrum(x []F, past []float64) {
	copy(v.x, past)
	for i, w := range x {
		v.x[len(past)+i] = float64(w)
	}
	copy(past, v.x[v.hop:])
	for i, w := range v.window {
		v.x[i] *= w
	}
	v.plan.Forward(v.re, v.im, v.x)
	for k, a := range v.re {
		v.re[k] = float64(a*a) + float64(v.im[k]*v.im[k])
	}
}

// probability returns that of speech in the hop whose powers are in re.
func (v *vad[F]) probability(s *vadRow, on, off float64) float64 {
	if *s.hops < float64(v.noiseHops) {
		return 0
	}
	sum, bins := 0.0, len(v.re)-2
	for k := 1; k <= bins; k++ {
		post := v.re[k] / s.variance[k]
		prior := max(leastSNR, float64(directed*s.prior[k])+float64((1-directed)*max(0, post-1)))
		gain := prior / (1 + prior)
		sum += float64(post*gain) - math.Log1p(prior)
		s.prior[k] = float64(gain*gain) * post
	}
	odds := (on + (1-off)**s.odds) / (1 - on + off**s.odds) * math.Exp(min(sum/float64(bins), 50))
	*s.odds = max(1/certainty, min(odds, certainty))
	return *s.odds / (1 + *s.odds)
}

// adapt moves the variances of noise.
func (v *vad[F]) adapt(s *vadRow, p, keep float64) {
	if n := *s.hops; n < float64(v.noiseHops) {
		*s.hops, keep, p = n+1, n/(n+1), 0
	}
	rate := (1 - keep) * (1 - p)
	for k, power := range v.re {
		s.variance[k] = max(v.floor, s.variance[k]+float64(rate*(power-s.variance[k])))
	}
}

func (v *vad[F]) Reset()              { clear(v.state) }
func (v *vad[F]) StateBytes() int     { return node.FloatBytes[float64](len(v.state)) }
func (v *vad[F]) Save(dst []byte) int { return node.PutFloats(dst, v.state) }
func (v *vad[F]) Load(src []byte) graph.Code {
	if len(src) != v.StateBytes() {
		return graph.State
	}
	node.GetFloats(v.state, src)
	return graph.Success
}
