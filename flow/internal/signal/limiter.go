package signal

import (
	"math"

	"atenia/flow/node"
)

// A limiter keeps every sample within its ceiling. p is the largest |x| of this
// frame and the look-ahead before it; the level e follows p up at once and down
// with the release; y[n] = x[n-lookahead] min(1, ceiling/e). As
// |x[n-lookahead]| <= p <= e, no output exceeds the ceiling.
type limiter[F node.Float] struct {
	rate                float64
	channels, lookahead int
}

func newLimiter[F node.Float](cfg node.Config) (node.Instance[F], error) {
	if cfg.Settings.Word("true_peak") == "yes" {
		return newPeakLimiter[F](cfg), nil
	}
	l := &limiter[F]{cfg.SampleRate, cfg.Node.Rows.C, cfg.Settings.Int("lookahead")}
	return newRowwise(cfg, l, l.lookahead), nil
}

func (l *limiter[F]) States() int  { return 1 + l.lookahead }
func (l *limiter[F]) Scratch() int { return 4 }

// A peak finds the largest magnitude in a window that slides over a line and
// the frames of a call; of equal ones the latest.
type peak[F node.Float] struct {
	line, x []F
	at      int // index in line ++ x
}

func (p *peak[F]) value(j int) F {
	if j < len(p.line) {
		return abs(p.line[j])
	}
	return abs(p.x[j-len(p.line)])
}

// next advances the window's end to frame i.
func (p *peak[F]) next(i int) F {
	if p.at < i || i == 0 { // the maximum has left the window, or is unknown
		p.at = i
		for j := i + 1; j <= i+len(p.line); j++ {
			if p.value(j) >= p.value(p.at) {
				p.at = j
			}
		}
	} else if p.value(i+len(p.line)) >= p.value(p.at) {
		p.at = i + len(p.line)
	}
	return p.value(p.at)
}

// step returns the level after a peak, and the factor of the frame.
func (l *limiter[F]) step(e, p, k, ceiling F) (level, gain F) {
	e = max(p, F(k*e)+F((1-k)*p))
	if e > ceiling {
		return e, ceiling / e
	}
	return e, 1
}

func (l *limiter[F]) params(c *node.Call[F], r int) (ceiling, release rowValues[F]) {
	return rowValuesOf(c, 0, r, l.channels), rowValuesOf(c, 1, r, l.channels)
}

func linearGain[F node.Float](db F) F { return F(math.Exp(decibel * float64(db))) }

func (l *limiter[F]) keep(t F) F { return F(math.Exp(-1 / (l.rate * float64(t)))) }

func (l *limiter[F]) Forward(c *node.Call[F], r int, s []F) {
	x, y, line, level := c.In[0].Row(r), c.Out[0].Row(r), s[1:], s[0]
	ceilingDB, release := l.params(c, r)
	p := peak[F]{line: line, x: x}
	ceiling, k := linearGain(ceilingDB.At(0)), l.keep(release.At(0))
	for i := range x {
		if ceilingDB.Step+release.Step > 0 {
			ceiling, k = linearGain(ceilingDB.At(i)), l.keep(release.At(i))
		}
		var gain F
		level, gain = l.step(level, p.next(i), k, ceiling)
		y[i] = min(max(delayed(line, x, i)*gain, -ceiling), ceiling) // clamps the rounding error of the product
	}
	s[0] = level
	shift(line, x)
}

// Backward accumulates the gradients of the frames from the look-ahead before
// the call to its end: each output contributes to the frame it is computed from
// and to the one that was the peak.
func (l *limiter[F]) Backward(b *node.Back[F], r int, w *RowWork[F]) {
	x, dy, line := b.In[0].Row(r), b.DOut[0].Row(r), w.S[1:]
	ceilingDB, release := l.params(&b.Call, r)
	n := len(x)
	before, tops, where := w.T[0][:n], w.T[1][:n], w.T[2][:n]
	sums := w.T[3][:n+len(line)]
	clear(sums[:n])
	copy(sums[n:], w.L[1:])
	p, level := peak[F]{line: line, x: x}, w.S[0]
	for i := range x {
		before[i], tops[i] = level, p.next(i)
		where[i] = F(p.at - i) // small, so exact in F
		level, _ = l.step(level, tops[i], l.keep(release.At(i)), 1)
	}
	lambda := w.L[0]
	for i := n - 1; i >= 0; i-- {
		ceiling, k, e0, top := linearGain(ceilingDB.At(i)), l.keep(release.At(i)), before[i], tops[i]
		e, gain := l.step(e0, top, k, ceiling)
		w.DP[0][i], w.DP[1][i] = 0, 0
		t := lambda
		if e > ceiling {
			dGain := dy[i] * delayed(line, x, i)
			w.DP[0][i] = F(dGain*gain) * decibel
			t -= F(dGain*gain) / e
		}
		d := t // of the peak
		lambda = 0
		if e0 > top {
			lambda, d = k*t, (1-k)*t
			at := release.At(i)
			w.DP[1][i] = t * (e0 - top) * k / F(l.rate) / F(at*at)
		}
		sums[i] += dy[i] * gain
		at := i + int(where[i])
		loud := delayed(line, x, at)
		sums[at] += signed(d, loud)
		w.DX[i] = sums[i+len(line)]
	}
	w.L[0] = lambda
	copy(w.L[1:], sums)
}
