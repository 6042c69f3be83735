package signal

import (
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// A line is a ring of frames addressed by their index in the stream. It holds
// the frames of a call and as many before or after it as may still be read.
type line[F node.Float] struct {
	ring []F // length is a power of two
}

// at returns the element of a frame.
func (l line[F]) at(n int64) *F { return &l.ring[n&int64(len(l.ring)-1)] }

// write stores frames from index n on.
func (l line[F]) write(n int64, x []F) {
	at := int(n & int64(len(l.ring)-1))
	k := copy(l.ring[at:], x)
	copy(l.ring, x[k:])
}

// add adds w times the frames from index n on to y, or overwrites y.
func (l line[F]) add(y []F, n int64, w F, write bool) {
	at := int(n & int64(len(l.ring)-1))
	k := min(len(y), len(l.ring)-at)
	part(y[:k], l.ring[at:at+k], w, write)
	part(y[k:], l.ring[:len(y)-k], w, write)
}

func part[F node.Float](y, x []F, w F, write bool) {
	switch {
	case !write:
		dsp.AddScaled(y, x, w)
	case w == 1:
		copy(y, x)
	default:
		dsp.Scale(y, x, w)
	}
}

// taps is the weighted sum that makes one interpolated frame: frame k and those
// before it, with weights and their derivatives by the delay.
type taps[F node.Float] struct {
	k    int64
	n    int
	w, d [4]F
}

// An interpolation is the method for fractional delays.
type interpolation int

const (
	none             interpolation = iota // the preceding frame
	lineInterpolated                      // a straight line through two frames
	lagrange                              // the cubic through four frames
)

// places returns the taps of a delay in frames.
func places[F node.Float](how interpolation, delay float64) (t taps[F]) {
	t.k = int64(delay)
	a := delay - float64(t.k)
	switch how {
	case none:
		t.n, t.w[0] = 1, 1
	case lineInterpolated:
		t.n = 2
		t.w[0], t.w[1] = F(1-a), F(a)
		t.d[0], t.d[1] = -1, 1
	case lagrange:
		t.n = 4
		if t.k > 0 {
			t.k--
			a++
		}
		b, c, e := a-1, a-2, a-3
		t.w = [4]F{F(b * c * e / -6), F(a * c * e / 2), F(a * b * e / -2), F(a * b * c / 6)}
		t.d = [4]F{F((c*e + b*e + b*c) / -6), F((c*e + a*e + a*c) / 2), F((b*e + a*e + a*b) / -2), F((b*c + a*c + a*b) / 6)}
	}
	return t
}
