package quant

// Searches for scales. All of them minimize a weighted sum of squared errors
//
//	Σ w·(x - y)²
//
// over a run of values that share a scale. Arithmetic that decides between
// candidates goes through mul, so that every machine writes the same file.

import "math"

// mul returns a product rounded before it is added to anything; the compiler may
// fuse a bare one with the addition on some processors.
func mul(a, b float32) float32 { return float32(a * b) }

// peakIndex returns the position of the first value of largest magnitude.
func peakIndex(x []float32) int {
	at, peak := 0, float32(0)
	for i, v := range x {
		if v = abs(v); v > peak {
			at, peak = i, v
		}
	}
	return at
}

func abs(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }

// inverse returns 1/d, or zero if that is infinite: a block whose scale is too
// small to invert becomes zero.
func inverse(d float32) float32 {
	if inv := 1 / d; abs(inv) <= math.MaxFloat32 {
		return inv
	}
	return 0
}

// roundEven rounds a value of magnitude below 2²² to the nearest integer,
// ties to even. Adding 1.5·2²³ leaves the integer in the low bits.
func roundEven(v float32) int32 {
	return int32(math.Float32bits(float32(v)+12582912)&0x7fffff) - 0x400000
}

// roundAway rounds to the nearest integer, ties away from zero.
func roundAway(v float32) int32 {
	t := int32(v)
	switch rest := v - float32(t); {
	case rest >= 0.5:
		return t + 1
	case rest <= -0.5:
		return t - 1
	}
	return t
}

// weigh fills w with the weight of each value's squared error: importance times
// sqrt(σ²+x²), σ² the mean square. The error of a large weight matters more, but
// not in proportion to its square.
func weigh(w, x, imp []float32) {
	var sum float32
	for _, v := range x {
		sum += mul(v, v)
	}
	mean, total := sum/float32(len(x)), float32(0)
	for i, v := range x {
		w[i] = float32(math.Sqrt(float64(mean + mul(v, v))))
		if imp != nil {
			w[i] = mul(w[i], imp[i])
		}
		total += w[i]
	}
	if imp != nil && total == 0 { // all-zero importance must not ruin the run
		weigh(w, x, nil)
	}
}

// A ladder is the set of levels that a digit can represent, as multiples of the
// scale: integers lo to hi, or those of a codebook.
type ladder struct {
	lo, hi int32
	level  []float32 // of the integer lo+i: its nearest level
	code   []uint8   // its digit
	span   float32   // distance between the lowest two levels
}

// linear returns the ladder of the integers from -n to n-1.
func linear(n int32) *ladder {
	l := &ladder{lo: -n, hi: n - 1, span: 1}
	for i := range 2 * n {
		l.level = append(l.level, float32(i-n))
		l.code = append(l.code, uint8(i))
	}
	return l
}

// rungs returns the ladder of an ascending codebook.
func rungs(codebook []int8) *ladder {
	n := len(codebook)
	l := &ladder{lo: int32(codebook[0]), hi: int32(codebook[n-1]), span: float32(codebook[1]) - float32(codebook[0])}
	k := 0
	for v := l.lo; v <= l.hi; v++ {
		for k+1 < n && 2*v > int32(codebook[k])+int32(codebook[k+1]) {
			k++
		}
		l.level = append(l.level, float32(codebook[k]))
		l.code = append(l.code, uint8(k))
	}
	return l
}

var (
	ladder3   = linear(4)
	ladder4   = linear(8)
	ladder5   = linear(16)
	ladder6   = linear(32)
	ladderIQ4 = rungs(iq4[:])
)

// at returns the index of the level nearest to v.
func (l *ladder) at(v float32) int32 {
	return min(max(roundEven(v), l.lo), l.hi) - l.lo
}

// fit returns the scale with the smallest error for x. It tries to map the value
// of largest magnitude on, above and below the lowest level, and refines each
// trial with the best scale for the resulting digits.
func (l *ladder) fit(x, w []float32) float32 {
	const trials = 9
	peak := x[peakIndex(x)]
	var best, scale float32
	for k := -trials; k <= trials; k++ {
		inv := inverse(peak / (float32(l.lo) + mul(0.1*float32(k), l.span)))
		if s, gain := l.project(x, w, inv); gain > best {
			best, scale = gain, s
		}
	}
	if s, gain := l.project(x, w, inverse(scale)); gain > best {
		scale = s
	}
	return scale
}

// project quantizes x with the scale 1/inv and returns the best scale for the
// resulting digits and by how much it lowers the error.
func (l *ladder) project(x, w []float32, inv float32) (scale, gain float32) {
	var xy, yy float32
	w = w[:len(x)]
	for i, v := range x {
		y := l.level[l.at(mul(v, inv))]
		wy := mul(w[i], y)
		xy += mul(wy, v)
		yy += mul(wy, y)
	}
	if yy <= 0 {
		return 0, 0
	}
	scale = xy / yy
	return scale, mul(scale, xy)
}

// loss returns the error of representing x with the given scale.
func (l *ladder) loss(x, w []float32, scale float32) float32 {
	inv, sum := inverse(scale), float32(0)
	w = w[:len(x)]
	for i, v := range x {
		e := v - mul(scale, l.level[l.at(mul(v, inv))])
		sum += mul(mul(e, e), w[i])
	}
	return sum
}

// digits writes the codes of x.
func (l *ladder) digits(q []uint8, x []float32, scale float32) {
	inv := inverse(scale)
	for i, v := range x {
		q[i] = l.code[l.at(mul(v, inv))]
	}
}

// digit rounds v to one of 0 … top.
func digit(v float32, top int32) float32 {
	return float32(min(max(roundEven(v), 0), top))
}

// fitAffine returns the scale and offset with the smallest error of scale·q +
// offset, q in 0 … top, for x. With below set the offset must not be positive,
// as in the formats that store its magnitude.
func fitAffine(x, w []float32, top int32, below bool) (scale, offset float32) {
	lo, hi := x[0], x[0]
	for _, v := range x {
		lo, hi = min(lo, v), max(hi, v)
	}
	if below {
		lo = min(lo, 0)
	}
	if inverse(hi-lo) == 0 {
		return 0, lo
	}
	scale, offset = (hi-lo)/float32(top), lo
	s, o, most := scale, offset, float32(0)
	const trials = 5
	for k := -trials; k <= trials; k++ {
		ts, to, gain := (hi-lo)/(float32(top)+mul(0.2, float32(k))), lo, float32(0)
		for range 2 { // refit, then once more with the digits of the refit
			if ts, to, gain = affineProject(x, w, top, ts, to, below); gain > most {
				s, o, most = ts, to, gain
			}
		}
	}
	// A gain is a difference of large sums and thus imprecise; the plain fit may
	// still be better.
	if affineLoss(x, w, top, s, o) < affineLoss(x, w, top, scale, offset) {
		return s, o
	}
	return scale, offset
}

// affineProject quantizes x and returns the best scale and offset for the
// resulting digits and by how much they lower the error.
func affineProject(x, w []float32, top int32, scale, offset float32, below bool) (s, o, gain float32) {
	inv := inverse(scale)
	var sw, sx, sq, sqq, sxq float32
	w = w[:len(x)]
	for i, v := range x {
		q := digit(mul(v-offset, inv), top)
		wq := mul(w[i], q)
		sw += w[i]
		sx += mul(w[i], v)
		sq += wq
		sqq += mul(wq, q)
		sxq += mul(wq, v)
	}
	det := mul(sw, sqq) - mul(sq, sq)
	if det <= 0 {
		return scale, offset, 0
	}
	s, o = (mul(sw, sxq)-mul(sq, sx))/det, (mul(sqq, sx)-mul(sq, sxq))/det
	if below && o > 0 {
		s, o = sxq/sqq, 0
	}
	if s <= 0 {
		return scale, offset, 0
	}
	return s, o, mul(s, sxq) + mul(o, sx)
}

func affineLoss(x, w []float32, top int32, scale, offset float32) float32 {
	inv, sum := inverse(scale), float32(0)
	w = w[:len(x)]
	for i, v := range x {
		v -= offset
		e := v - mul(scale, digit(mul(v, inv), top))
		sum += mul(mul(e, e), w[i])
	}
	return sum
}
