package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// Parameters of a compressor in the order of the table.
const (
	threshold = iota
	ratio
	knee
	attack
	release
	makeup
)

const (
	decibel = math.Ln10 / 20 // nepers
	quiet   = 1e-9           // floor of levels
)

// A compressor attenuates what exceeds a threshold, by 1 - 1/ratio of the
// excess in decibels, with a soft knee (Giannoulis, Massberg, Reiss: Digital
// dynamic range compressor design, 2012; feed-forward, peak level). The level is
// that of the signal, or of a second input, the side chain.
type compressor[F node.Float] struct {
	rate                float64
	channels, lookahead int
	key                 graph.Shape // of the side chain; zero without one
}

// refineCompressor adds the input of the side chain.
func refineCompressor(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	if s.Word("sidechain") == "no" {
		return nil
	}
	spec.Ins = []string{"in", "sidechain"}
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if in[1].B != in[0].B || in[1].C != 1 && in[1].C != in[0].C {
			return nil, node.Mismatch(n, "a side chain has one channel or those of in")
		}
		return in[:1:1], nil
	}
	return nil
}

func newCompressor[F node.Float](cfg node.Config) (node.Instance[F], error) {
	c := &compressor[F]{rate: cfg.SampleRate, channels: cfg.Node.Rows.C, lookahead: cfg.Settings.Int("lookahead")}
	if len(cfg.Node.InShape) > 1 {
		c.key = cfg.Node.InShape[1]
	}
	return newRowwise(cfg, c, c.lookahead), nil
}

// level returns the signal whose level drives row r.
func (k *compressor[F]) level(in []node.Tensor[F], r int) []F {
	if k.key.C == 0 {
		return in[0].Row(r)
	}
	return in[1].Row(keyRow(k.key, r, k.channels))
}

func (k *compressor[F]) States() int  { return 1 + k.lookahead }
func (k *compressor[F]) Scratch() int { return 2 }

func (k *compressor[F]) follower(c *node.Call[F], r int) follower[F] {
	return follow(k.rate, rowValuesOf(c, attack, r, k.channels), rowValuesOf(c, release, r, k.channels))
}

// A curve holds the parameters of the static curve.
type curve[F node.Float] struct{ threshold, ratio, knee, makeup rowValues[F] }

func (k *compressor[F]) curve(c *node.Call[F], r int) curve[F] {
	of := func(p int) rowValues[F] { return rowValuesOf(c, p, r, k.channels) }
	return curve[F]{of(threshold), of(ratio), of(knee), of(makeup)}
}

// over returns the excess in decibels after a knee of width w, and its
// derivatives.
func over(o, w float64) (v, dO, dW float64) {
	switch {
	case 2*o < -w || w <= 0 && o <= 0:
		return 0, 0, 0
	case 2*o > w:
		return o, 1, 0
	}
	h := o + w/2
	return h * h / (2 * w), h / w, h/(2*w) - h*h/(2*w*w)
}

// gain returns the factor for level e in frame i.
func (k *curve[F]) gain(i int, e F) F {
	o := math.Log(max(float64(e), quiet))/decibel - float64(k.threshold.At(i))
	v, _, _ := over(o, float64(k.knee.At(i)))
	return F(math.Exp(decibel * (float64(k.makeup.At(i)) - (1-1/float64(k.ratio.At(i)))*v)))
}

func (k *compressor[F]) Forward(c *node.Call[F], r int, s []F) {
	f, shape, x, y := k.follower(c, r), k.curve(c, r), c.In[0].Row(r), c.Out[0].Row(r)
	level, line := s[0], s[1:]
	for i, v := range k.level(c.In, r) {
		f.at(i)
		level = f.step(level, abs(v))
		y[i] = delayed(line, x, i) * shape.gain(i, level)
	}
	s[0] = level
	shift(line, x)
}

func (k *compressor[F]) Backward(b *node.Back[F], r int, w *RowWork[F]) {
	f, shape, x, dy := k.follower(&b.Call, r), k.curve(&b.Call, r), b.In[0].Row(r), b.DOut[0].Row(r)
	key, dKey := k.level(b.In, r), w.DX
	if k.key.C > 0 {
		clear(w.DX)
		dKey = w.DKey
	}
	before, dLate, line := w.T[0], w.T[1][:len(x)], w.S[1:]
	f.trace(before, key, w.S[0])
	l := w.L[0]
	for i := len(x) - 1; i >= 0; i-- {
		f.at(i)
		e := f.step(before[i], abs(key[i]))
		dLate[i] = dy[i] * shape.gain(i, e)
		dE := shape.back(i, e, dLate[i]*delayed(line, x, i), w.DP)
		var d F
		l, d, w.DP[attack][i], w.DP[release][i] = f.back(i, before[i], abs(key[i]), dE+l)
		dKey[i] = signed(d, key[i])
	}
	w.L[0] = l
	undelay(w.L[1:], w.DX, dLate)
}

// back maps the gradient at the logarithm of the gain to those of the curve's
// parameters and of the level, which it returns.
func (k *curve[F]) back(i int, e, dLog F, dp [][]F) F {
	d := float64(dLog) * decibel
	rt := float64(k.ratio.At(i))
	o := math.Log(max(float64(e), quiet))/decibel - float64(k.threshold.At(i))
	v, dO, dW := over(o, float64(k.knee.At(i)))
	dV := -(1 - 1/rt) * d
	dp[makeup][i], dp[ratio][i] = F(d), F(-d*v/(rt*rt))
	dp[threshold][i], dp[knee][i] = F(-dV*dO), F(dV*dW)
	if float64(e) <= quiet {
		return 0
	}
	return F(dV * dO / (decibel * float64(e)))
}
