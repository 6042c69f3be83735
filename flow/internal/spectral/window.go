package spectral

// This file holds the settings that the transforms share.

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// A framing says how a signal is cut into frames of a spectrum.
type framing struct{ n, hop, bins int }

var blockSettings = []node.Setting{{Name: "n_fft", Least: 1, Value: 512}}

// windowSettings are the settings of STFT and ISTFT. hop 0 stands for a quarter
// of n_fft, win 0 for n_fft.
var windowSettings = append(blockSettings[:1:1], node.Setting{Name: "hop"}, node.Setting{Name: "win"},
	node.Setting{Name: "window", Among: []string{"hann", "rectangle"}})

// framingOf reads the settings of a transform. FFT and IFFT have no hop.
func framingOf(s node.Settings, windowed bool) framing {
	f := framing{n: s.Int("n_fft")}
	f.hop, f.bins = f.n, f.n/2+1
	if windowed {
		if f.hop = s.Int("hop"); f.hop == 0 {
			f.hop = max(1, f.n/4)
		}
	}
	return f
}

// windowOf returns the n_fft weights of a frame, with the window centred.
func windowOf[F node.Float](s node.Settings, windowed bool) []F {
	return windowLike[F](s, s.Int("n_fft"), windowed)
}

// windowFor is windowOf for a transform of another size than n_fft.
func windowFor[F node.Float](s node.Settings, n int) []F { return windowLike[F](s, n, true) }

func windowLike[F node.Float](s node.Settings, n int, windowed bool) []F {
	w := make([]F, n)
	win := n
	if windowed && s.Int("win") > 0 {
		win = min(n, s.Int("win"))
	}
	for i := range win {
		v := 1.0
		if windowed && s.Word("window") == "hann" {
			v = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(win))
		}
		w[(n-win)/2+i] = F(v)
	}
	return w
}

// refineForward describes FFT and STFT.
func refineForward(windowed bool) func(*graph.Node, node.Settings, *graph.Spec) error {
	return func(_ *graph.Node, s node.Settings, spec *graph.Spec) error {
		f := framingOf(s, windowed)
		spec.Cons = []int{f.hop}
		spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
			return []graph.Shape{{B: in[0].B, C: in[0].C * 2 * f.bins}}, nil
		}
		return nil
	}
}

// faintest is the smallest sum of squared windows over a frame that ISTFT
// divides by.
const faintest = 1e-6

// refineInverse describes IFFT and ISTFT.
func refineInverse(windowed bool) func(*graph.Node, node.Settings, *graph.Spec) error {
	return func(n *graph.Node, s node.Settings, spec *graph.Spec) error {
		f := framingOf(s, windowed)
		if f.hop > f.n {
			return node.Bad(n, "hop", "at most n_fft wanted")
		}
		for _, v := range overlap(windowOf[float64](s, windowed), f.hop) {
			if v < faintest {
				return node.Bad(n, "hop", "some frames would be under no window")
			}
		}
		spec.Prod = []int{f.hop}
		spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
			if in[0].C%(2*f.bins) != 0 {
				return nil, node.Mismatch(n, "a spectrum has n_fft + 2 channels for each of the signal's")
			}
			return []graph.Shape{{B: in[0].B, C: in[0].C / (2 * f.bins)}}, nil
		}
		spec.Rows = node.RowsOfOutput
		return nil
	}
}

// overlap returns the sum of the squared windows over each frame of a hop.
func overlap[F node.Float](w []F, hop int) []F {
	sum := make([]F, hop)
	for i, v := range w {
		sum[i%hop] += v * v
	}
	return sum
}

// A spectrum is the spectrum of one frame.
type spectrum[F node.Float] struct{ re, im []F }

func newSpectrum[F node.Float](bins int) spectrum[F] {
	return spectrum[F]{make([]F, bins), make([]F, bins)}
}

// put writes the spectrum to frame t of the channels of row r.
func (b *spectrum[F]) put(x *node.Tensor[F], r, t int) {
	bins := len(b.re)
	re, im := x.Data[r*2*bins*x.N+t:], x.Data[(r*2+1)*bins*x.N+t:]
	for k := range b.re {
		re[k*x.N], im[k*x.N] = b.re[k], b.im[k]
	}
}

// take reads what put writes.
func (b *spectrum[F]) take(x *node.Tensor[F], r, t int) {
	bins := len(b.re)
	re, im := x.Data[r*2*bins*x.N+t:], x.Data[(r*2+1)*bins*x.N+t:]
	for k := range b.re {
		b.re[k], b.im[k] = re[k*x.N], im[k*x.N]
	}
}
