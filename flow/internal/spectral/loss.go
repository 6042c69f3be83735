package spectral

import (
	"math"
	"strconv"
	"strings"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// lossSettings are those of STFT, the sizes of several transforms, and the
// distance of magnitudes.
var lossSettings = append(windowSettings[:len(windowSettings):len(windowSettings)], node.Setting{Name: "sizes", Text: true},
	node.Setting{Name: "distance", Among: []string{"squared", "absolute"}})

// most sizes of one loss, and the largest.
const (
	mostSizes   = 16
	largestSize = 1 << 16
)

// lossSizes reads the sizes of the transforms, separated by spaces or commas:
// n_fft without them.
func lossSizes(n *graph.Node, s node.Settings) ([]int, error) {
	words := strings.FieldsFunc(s.Word("sizes"), func(r rune) bool { return r == ',' || r == ' ' })
	if len(words) == 0 {
		return []int{s.Int("n_fft")}, nil
	}
	var sizes []int
	for _, w := range words {
		size, err := strconv.Atoi(w)
		if err != nil || size < 1 || size > largestSize || len(sizes) == mostSizes {
			return nil, node.Bad(n, "sizes", "at most "+strconv.Itoa(mostSizes)+" integers in 1.."+strconv.Itoa(largestSize)+" wanted, as in 2048 1024 512")
		}
		sizes = append(sizes, size)
	}
	return sizes, nil
}

// lossFramings returns how each transform cuts the signal. All have the hop that
// the plan gives; else each has about a quarter of its size, a divisor of the
// largest one's, which is that of a token.
func lossFramings(s node.Settings, sizes []int) (all []framing, hop int) {
	if hop = s.Int("hop"); hop == 0 {
		for _, n := range sizes {
			hop = max(hop, n/4, 1)
		}
	}
	for _, n := range sizes {
		f := framing{n: n, hop: hop, bins: n/2 + 1}
		for s.Int("hop") == 0 && (f.hop > max(1, n/4) || hop%f.hop != 0) {
			f.hop--
		}
		all = append(all, f)
	}
	return all, hop
}

func refineLoss(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	sizes, err := lossSizes(n, s)
	if err != nil {
		return err
	}
	_, hop := lossFramings(s, sizes)
	spec.Cons = []int{hop, hop}
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if in[0] != in[1] {
			return nil, node.Mismatch(n, "in and target have different shapes")
		}
		return []graph.Shape{{B: in[0].B, C: 1}}, nil
	}
	spec.Rows = node.RowsOfOutput
	return nil
}

// least is added to squared magnitudes, so that their roots and logarithms have
// derivatives everywhere. A full-scale sine has n_fft²/16 under a Hann window.
const least = 1e-4

// A loss compares magnitudes m of two spectra: the mean over bins, channels and
// the frames of a token of (m - m')² + (ln m - ln m')², or of |m - m'| +
// |ln m - ln m'|, summed over the sizes of transforms. The absolute distance of
// sizes 2048 to 64 is the spectral loss of Engel et al., DDSP: Differentiable
// digital signal processing, 2020, but for the overlap; squares have a continuous
// derivative.
//
//	token          ├────────────── hop ──────────────┤
//	size 512   ├───────────────── 512 ───────────────┤    one frame a token
//	size 128                   ├─ 128 ─┤                  four of them
//	                                   ├─ 128 ─┤ …
type loss[F node.Float] struct {
	node.Reporter
	framing           // hop of a token, n: how far back its frames reach from its end
	scales            []scale[F]
	batches, channels int
	absolute          bool
	past              []F    // [2, rows, n] frames of in and target before the call
	before            []F    // a snapshot of past
	ahead             []F    // [2, rows, n] gradients that later tokens contribute to frames
	x                 [2][]F // [n + MaxTokens hop] of a row: before the call and its own
}

// A scale is one of the transforms of a loss.
type scale[F node.Float] struct {
	framing
	frames int // of a token
	window []F // [n]
	plan   *dsp.RealFFT[F]
	frame  []F
	sides  [2]spectrum[F]
}

func newLoss[F node.Float](cfg node.Config) (node.Instance[F], error) {
	l := &loss[F]{Reporter: node.NewReporter(cfg, 0), batches: cfg.Node.InShape[0].B, channels: cfg.Node.InShape[0].C,
		absolute: cfg.Settings.Word("distance") == "absolute"}
	sizes, err := lossSizes(cfg.Node.Node, cfg.Settings)
	if err != nil {
		return nil, err
	}
	framings, hop := lossFramings(cfg.Settings, sizes)
	l.hop = hop
	for _, f := range framings {
		s := scale[F]{framing: f, frames: hop / f.hop, window: windowFor[F](cfg.Settings, f.n), plan: dsp.NewRealFFT[F](f.n), frame: make([]F, f.n)}
		for k := range s.sides {
			s.sides[k] = newSpectrum[F](f.bins)
		}
		l.scales = append(l.scales, s)
		l.n = max(l.n, hop-f.hop+f.n)
	}
	l.past = make([]F, 2*l.batches*l.channels*l.n)
	for k := range l.x {
		l.x[k] = make([]F, l.n+cfg.MaxTokens*l.hop)
	}
	if cfg.Training {
		l.before, l.ahead = make([]F, len(l.past)), make([]F, len(l.past))
	}
	return l, nil
}

// row returns row r of side k of a buffer shaped like past.
func (l *loss[F]) row(b []F, k, r int) []F { return b[(k*l.batches*l.channels+r)*l.n:][:l.n] }

// fill concatenates the history and the call's frames of row r.
func (l *loss[F]) fill(past []F, c *node.Call[F], r int) {
	for k := range l.x {
		copy(l.x[k], l.row(past, k, r))
		copy(l.x[k][l.n:], c.In[k].Row(r))
	}
}

// start returns where frame j of a token begins in the n frames before its end.
func (l *loss[F]) start(s *scale[F], j int) int { return l.n - (s.frames-1-j)*s.hop - s.n }

// spectra computes both spectra of frame j of token t.
func (l *loss[F]) spectra(s *scale[F], t, j int) {
	for k := range s.sides {
		x := l.x[k][(t+1)*l.hop+l.start(s, j):][:s.n]
		for i, w := range s.window {
			s.frame[i] = w * x[i]
		}
		s.plan.Forward(s.sides[k].re, s.sides[k].im, s.frame)
	}
}

// magnitude returns the magnitude of bin i of side k.
func (s *scale[F]) magnitude(k, i int) float64 {
	re, im := float64(s.sides[k].re[i]), float64(s.sides[k].im[i])
	return math.Sqrt(float64(re*re) + float64(im*im) + least)
}

// distance returns the sum over the bins.
func (s *scale[F]) distance(absolute bool) (sum float64) {
	for i := range s.bins {
		m, want := s.magnitude(0, i), s.magnitude(1, i)
		d, ratio := m-want, math.Log(m/want)
		if absolute {
			sum += math.Abs(d) + math.Abs(ratio)
		} else {
			sum += float64(d*d) + float64(ratio*ratio)
		}
	}
	return sum
}

func (l *loss[F]) Forward(c *node.Call[F]) graph.Code {
	for b := range l.batches {
		y := c.Out[0].Row(b)
		clear(y)
		for ch := range l.channels {
			r := b*l.channels + ch
			l.fill(l.past, c, r)
			for t := range y {
				for i := range l.scales {
					s, sum := &l.scales[i], 0.0
					for j := range s.frames {
						l.spectra(s, t, j)
						sum += s.distance(l.absolute)
					}
					y[t] += F(sum / float64(l.channels*s.bins*s.frames))
				}
			}
			for k := range l.x {
				copy(l.row(l.past, k, r), l.x[k][c.Tokens*l.hop:])
			}
		}
	}
	node.Report(l.Reporter, c)
	return graph.Success
}

func (l *loss[F]) Reset()              { clear(l.past) }
func (l *loss[F]) StateBytes() int     { return node.FloatBytes[F](len(l.past)) }
func (l *loss[F]) Save(dst []byte) int { return node.PutFloats(dst, l.past) }
func (l *loss[F]) Load(src []byte) graph.Code {
	if len(src) != l.StateBytes() {
		return graph.State
	}
	node.GetFloats(l.past, src)
	return graph.Success
}

func (l *loss[F]) Needs() node.Needs            { return node.NeedX | node.NeedS0 }
func (l *loss[F]) ResetAdjoint()                { clear(l.ahead) }
func (l *loss[F]) FinishAdjoint([]node.Grad[F]) {}

// Backward computes the spectra again and goes back through them as an STFT
// does.
func (l *loss[F]) Backward(b *node.Back[F]) graph.Code {
	if len(b.State0) != l.StateBytes() {
		return graph.State
	}
	node.GetFloats(l.before, b.State0)
	for r := range l.batches * l.channels {
		l.fill(l.before, &b.Call, r)
		dy := b.DOut[0].Row(r / l.channels)
		for t := b.Tokens - 1; t >= 0; t-- {
			for i := range l.scales {
				s := &l.scales[i]
				for j := s.frames - 1; j >= 0; j-- {
					l.spectra(s, t, j)
					s.compare(float64(dy[t])/float64(l.channels*s.bins*s.frames), l.absolute)
					for k := range s.sides {
						ahead := l.row(l.ahead, k, r)[l.start(s, j):]
						s.plan.ForwardAdjoint(s.frame, s.sides[k].re, s.sides[k].im)
						for i, w := range s.window {
							ahead[i] += F(w * s.frame[i])
						}
					}
				}
			}
			for k := range l.x {
				giveOut(l.framing, &b.DIn[k], l.row(l.ahead, k, r), r, t)
			}
		}
	}
	node.Report(l.Reporter, &b.Call)
	return graph.Success
}

// compare replaces the spectra by the loss's gradients.
func (s *scale[F]) compare(dy float64, absolute bool) {
	for i := range s.bins {
		m := [2]float64{s.magnitude(0, i), s.magnitude(1, i)}
		d, ratio, factor := m[0]-m[1], math.Log(m[0]/m[1]), 2.0
		if absolute {
			d, ratio, factor = signum(d), signum(ratio), 1
		}
		for k, sign := range [...]float64{factor, -factor} {
			by := F(dy * sign * (d + ratio/m[k]) / m[k])
			s.sides[k].re[i] *= by
			s.sides[k].im[i] *= by
		}
	}
}

// signum returns the derivative of |x|, 0 at the kink.
func signum(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}
