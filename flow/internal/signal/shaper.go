package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// A bend is a waveshaping function with its derivatives, and its
// antiderivative, which is zero at zero. All are odd or even, so they are
// written for magnitudes where that is shorter.
type bend interface {
	value(v float64) float64
	slope(v float64) float64
	curvature(v float64) float64
	integral(v float64) float64
}

// A hyperbolic is tanh.
type hyperbolic struct{}

func (hyperbolic) value(v float64) float64     { return math.Tanh(v) }
func (hyperbolic) slope(v float64) float64     { t := math.Tanh(v); return 1 - t*t }
func (hyperbolic) curvature(v float64) float64 { t := math.Tanh(v); return -2 * t * (1 - t*t) }
func (hyperbolic) integral(v float64) float64 {
	v = math.Abs(v)
	return v + math.Log1p(math.Exp(-2*v)) - math.Ln2
}

// A cubic is v - v³/3, ±2/3 from 1 on.
type cubic struct{}

func (cubic) value(v float64) float64 {
	if math.Abs(v) >= 1 {
		return math.Copysign(2.0/3, v)
	}
	return v - v*v*v/3
}

func (cubic) slope(v float64) float64 {
	if math.Abs(v) >= 1 {
		return 0
	}
	return 1 - v*v
}

func (cubic) curvature(v float64) float64 {
	if math.Abs(v) >= 1 {
		return 0
	}
	return -2 * v
}

func (cubic) integral(v float64) float64 {
	if v = math.Abs(v); v >= 1 {
		return v*2/3 - 0.25
	}
	return v * v * (0.5 - v*v/12)
}

// A clip is v, ±1 beyond.
type clip struct{}

func (clip) value(v float64) float64 { return min(max(v, -1), 1) }
func (clip) slope(v float64) float64 {
	if math.Abs(v) >= 1 {
		return 0
	}
	return 1
}
func (clip) curvature(float64) float64 { return 0 }
func (clip) integral(v float64) float64 {
	if v = math.Abs(v); v >= 1 {
		return v - 0.5
	}
	return v * v / 2
}

// A shaper is y = f(drive x). With antialiasing adaa it is the mean of f over
// the line between two frames (Parker, Zavalishin, Le Bivic: Reducing the
// aliasing of nonlinear waveshaping using continuous-time convolution, 2016),
// which is also half a frame of delay.
type shaper[F node.Float] struct {
	f        bend
	adaa     bool
	channels int
}

func newShaper[F node.Float](cfg node.Config) (node.Instance[F], error) {
	s := &shaper[F]{adaa: cfg.Settings.Word("antialiasing") == "adaa", channels: cfg.Node.Rows.C}
	switch cfg.Settings.Word("kind") {
	case "tanh":
		s.f = hyperbolic{}
	case "soft":
		s.f = cubic{}
	case "hard":
		s.f = clip{}
	}
	return newRowwise(cfg, s, 0), nil
}

// States holds the previous driven sample if the antialiasing needs it.
func (s *shaper[F]) States() int {
	if s.adaa {
		return 1
	}
	return 0
}

func (s *shaper[F]) Scratch() int { return 0 }

func (s *shaper[F]) Forward(c *node.Call[F], r int, st []F) {
	x, y, drive := c.In[0].Row(r), c.Out[0].Row(r), rowValuesOf(c, 0, r, s.channels)
	if !s.adaa {
		for i, v := range x {
			y[i] = F(s.f.value(float64(drive.At(i) * v)))
		}
		return
	}
	last := st[0]
	for i, v := range x {
		v *= drive.At(i)
		m, _, _ := s.mean(float64(last), float64(v))
		y[i], last = F(m), v
	}
	st[0] = last
}

// near is the distance of two samples below which the mean between them is
// evaluated at the midpoint, since the difference quotient loses precision.
const near = 1e-3

// mean returns the mean of f between u and v and its derivatives by both.
func (s *shaper[F]) mean(u, v float64) (m, dU, dV float64) {
	d := v - u
	if math.Abs(d) < near {
		mid := u + d/2
		half, turn := s.f.slope(mid)/2, s.f.curvature(mid)*d/12
		return s.f.value(mid) + turn*d/2, half - turn, half + turn
	}
	m = (s.f.integral(v) - s.f.integral(u)) / d
	return m, (m - s.f.value(u)) / d, (s.f.value(v) - m) / d
}

func (s *shaper[F]) Backward(b *node.Back[F], r int, w *RowWork[F]) {
	x, dy, drive := b.In[0].Row(r), b.DOut[0].Row(r), rowValuesOf(&b.Call, 0, r, s.channels)
	for i := len(x) - 1; i >= 0; i-- {
		g, v := drive.At(i), drive.At(i)*x[i]
		var d F
		if s.adaa {
			last := w.S[0]
			if i > 0 {
				last = drive.At(i-1) * x[i-1]
			}
			_, dU, dV := s.mean(float64(last), float64(v))
			d = F(dy[i]*F(dV)) + w.L[0]
			w.L[0] = dy[i] * F(dU)
		} else {
			d = dy[i] * F(s.f.slope(float64(v)))
		}
		w.DX[i], w.DP[0][i] = d*g, d*x[i]
	}
}

// refineShaper classes the derivative: antialiasing reads the frame before, too.
func refineShaper(_ *graph.Node, s node.Settings, spec *graph.Spec) error {
	if spec.Jacobian = graph.Diagonal; s.Word("antialiasing") == "adaa" {
		spec.Jacobian = graph.Banded
	}
	return nil
}
