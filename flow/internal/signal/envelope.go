package signal

// This file holds the peak follower and its node.

import (
	"math"

	"atenia/flow/node"
)

// A follower is e += (1-k)(|x|-e), k = exp(-1/(rate T)), where T in seconds is
// the attack if |x| > e, else the release.
type follower[F node.Float] struct {
	attack, release rowValues[F]
	rate            float64
	ka, kr          F
}

func follow[F node.Float](rate float64, attack, release rowValues[F]) follower[F] {
	f := follower[F]{attack: attack, release: release, rate: rate}
	f.ka, f.kr = f.keep(attack.At(0)), f.keep(release.At(0))
	return f
}

func (f *follower[F]) keep(t F) F { return F(math.Exp(-1 / (f.rate * float64(t)))) }

// at loads the parameters of frame i.
func (f *follower[F]) at(i int) {
	if f.attack.Step > 0 {
		f.ka = f.keep(f.attack.At(i))
	}
	if f.release.Step > 0 {
		f.kr = f.keep(f.release.At(i))
	}
}

// step returns the level after a frame of magnitude a.
func (f *follower[F]) step(e, a F) F {
	k := f.kr
	if a > e {
		k = f.ka
	}
	return F(k*e) + F((1-k)*a)
}

// trace writes the level before each frame of x.
func (f *follower[F]) trace(before, x []F, level F) {
	for i, v := range x {
		f.at(i)
		before[i] = level
		level = f.step(level, abs(v))
	}
}

// back returns the derivatives of step times t with respect to e, a and the two
// times.
func (f *follower[F]) back(i int, e, a, t F) (dE, dA, dAttack, dRelease F) {
	k, dK := f.kr, t*(e-a)
	if a > e {
		k = f.ka
		at := f.attack.At(i)
		dAttack = dK * k / F(f.rate) / F(at*at)
	} else {
		at := f.release.At(i)
		dRelease = dK * k / F(f.rate) / F(at*at)
	}
	return k * t, (1 - k) * t, dAttack, dRelease
}

func abs[F node.Float](x F) F {
	if x < 0 {
		return -x
	}
	return x
}

// signed returns d with the sign of x.
func signed[F node.Float](d, x F) F {
	if x < 0 {
		return -d
	}
	return d
}

type envelope[F node.Float] struct {
	rate     float64
	channels int
}

func newEnvelope[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return newRowwise(cfg, &envelope[F]{cfg.SampleRate, cfg.Node.Rows.C}, 0), nil
}

func (e *envelope[F]) States() int  { return 1 }
func (e *envelope[F]) Scratch() int { return 1 }

func (e *envelope[F]) follower(c *node.Call[F], r int) follower[F] {
	return follow(e.rate, rowValuesOf(c, 0, r, e.channels), rowValuesOf(c, 1, r, e.channels))
}

func (e *envelope[F]) Forward(c *node.Call[F], r int, s []F) {
	f, y, level := e.follower(c, r), c.Out[0].Row(r), s[0]
	for i, v := range c.In[0].Row(r) {
		f.at(i)
		level = f.step(level, abs(v))
		y[i] = level
	}
	s[0] = level
}

func (e *envelope[F]) Backward(b *node.Back[F], r int, w *RowWork[F]) {
	f, x, dy := e.follower(&b.Call, r), b.In[0].Row(r), b.DOut[0].Row(r)
	before := w.T[0]
	f.trace(before, x, w.S[0])
	l := w.L[0]
	for i := len(x) - 1; i >= 0; i-- {
		f.at(i)
		var d F
		l, d, w.DP[0][i], w.DP[1][i] = f.back(i, before[i], abs(x[i]), dy[i]+l)
		w.DX[i] = signed(d, x[i])
	}
	w.L[0] = l
}
