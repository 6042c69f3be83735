package quant

// Writers of the formats with blocks of 32 values, and of Q8_K. Without
// importance they follow ggml's reference functions to the last bit.

import (
	"encoding/binary"
	"math"

	"atenia/tensor"
)

// packNibbles stores 32 digits, the second half in the upper four bits.
func packNibbles(dst []byte, q *[32]uint8) {
	for i := range dst[:16] {
		dst[i] = q[i]&15 | q[i+16]<<4
	}
}

// packFifth stores the fifth bit of 32 digits.
func packFifth(dst []byte, q *[32]uint8) {
	var bits uint32
	for i, v := range q {
		bits |= uint32(v>>4&1) << i
	}
	binary.LittleEndian.PutUint32(dst, bits)
}

// centred quantizes a block to the ladder's integers -n … n-1.
func centred(x, imp []float32, l *ladder) (d float32, q [32]uint8) {
	if imp != nil {
		var w [32]float32
		weigh(w[:], x, imp)
		d = storedHalf(l.fit(x, w[:]))
		l.digits(q[:], x, d)
		return d, q
	}
	d = x[peakIndex(x)] / float32(l.lo)
	inv, half := inverse(d), float32(0.5-float32(l.lo))
	for i, v := range x {
		q[i] = uint8(min(int32(mul(v, inv)+half), l.hi-l.lo))
	}
	return d, q
}

// storedHalf rounds v to half precision.
func storedHalf(v float32) float32 { return tensor.F16ToF32(tensor.F32ToF16(v)) }

// coverHalf returns the nearest half-precision number of no smaller magnitude. A
// block's scale is rounded up so that integer multiples of it reach the largest
// scale of a run, which matters where halves are subnormal and sparse.
func coverHalf(v float32) float32 {
	h := tensor.F32ToF16(v)
	if abs(tensor.F16ToF32(h)) < abs(v) {
		h++ // the next magnitude, of either sign
	}
	return tensor.F16ToF32(h)
}

// ranged quantizes a block to 0 … top above an offset m.
func ranged(x, imp []float32, top int32) (d, m float32, q [32]uint8) {
	if imp != nil {
		var w [32]float32
		weigh(w[:], x, imp)
		d, m = fitAffine(x, w[:], top, false)
		d, m = storedHalf(d), storedHalf(m)
		inv := inverse(d)
		for i, v := range x {
			q[i] = uint8(digit(mul(v-m, inv), top))
		}
		return d, m, q
	}
	m, hi := x[0], x[0]
	for _, v := range x {
		m, hi = min(m, v), max(hi, v)
	}
	d = (hi - m) / float32(top)
	inv := inverse(d)
	for i, v := range x {
		q[i] = uint8(min(int32(mul(v-m, inv)+0.5), top))
	}
	return d, m, q
}

func encodeQ4_0(dst []byte, x, imp []float32) {
	d, q := centred(x, imp, ladder4)
	putHalf(dst, d)
	packNibbles(dst[2:], &q)
}

func encodeQ4_1(dst []byte, x, imp []float32) {
	d, m, q := ranged(x, imp, 15)
	putHalf(dst, d)
	putHalf(dst[2:], m)
	packNibbles(dst[4:], &q)
}

func encodeQ5_0(dst []byte, x, imp []float32) {
	d, q := centred(x, imp, ladder5)
	putHalf(dst, d)
	packFifth(dst[2:], &q)
	packNibbles(dst[6:], &q)
}

func encodeQ5_1(dst []byte, x, imp []float32) {
	d, m, q := ranged(x, imp, 31)
	putHalf(dst, d)
	putHalf(dst[2:], m)
	packFifth(dst[4:], &q)
	packNibbles(dst[8:], &q)
}

// bytes127 quantizes a block to signed bytes and returns scale and digit sum.
func bytes127(dst []byte, x []float32) (d float32, sum int32) {
	d = abs(x[peakIndex(x)]) / 127
	inv := inverse(d)
	dst = dst[:len(x)]
	for i, v := range x {
		q := roundAway(mul(v, inv))
		dst[i], sum = byte(q), sum+q
	}
	return d, sum
}

func encodeQ8_0(dst []byte, x, _ []float32) {
	d, _ := bytes127(dst[2:], x)
	putHalf(dst, d)
}

// encodeQ8_1 also stores the scale times the sum of the digits, which a
// product with an affine format needs.
func encodeQ8_1(dst []byte, x, _ []float32) {
	d, sum := bytes127(dst[4:], x)
	putHalf(dst, d)
	putHalf(dst[2:], d*float32(sum))
}

// encodeQ8_K puts the value of largest magnitude on -127 and stores the sums
// of every 16 digits.
func encodeQ8_K(dst []byte, x, _ []float32) {
	inv := inverse(x[peakIndex(x)] / -127)
	if inv != 0 {
		inv = -127 / x[peakIndex(x)]
	}
	binary.LittleEndian.PutUint32(dst, math.Float32bits(inverse(inv)))
	for g := range 16 {
		var sum int32
		for i, v := range x[16*g : 16*g+16] {
			q := min(roundEven(mul(v, inv)), 127)
			dst[4+16*g+i], sum = byte(q), sum+q
		}
		binary.LittleEndian.PutUint16(dst[260+2*g:], uint16(sum))
	}
}

// encodeIQ4_NL searches with or without importance: no plain rule gives a
// codebook's scale.
func encodeIQ4_NL(dst []byte, x, imp []float32) {
	var w [32]float32
	var q [32]uint8
	weigh(w[:], x, imp)
	d := storedHalf(ladderIQ4.fit(x, w[:]))
	ladderIQ4.digits(q[:], x, d)
	putHalf(dst, d)
	packNibbles(dst[2:], &q)
}

// encodeMXFP4 uses the exponent of the OCP specification, which puts the largest
// magnitude into the topmost binade. With importance weights it also tries the
// neighbours: clipping a peak may lower the error.
func encodeMXFP4(dst []byte, x, imp []float32) {
	var e int
	if peak := abs(x[peakIndex(x)]); peak > 0 {
		// The logarithm is rounded to float32, as in the reference: a peak
		// just below a power of two counts as that power.
		e = int(math.Floor(float64(float32(math.Log2(float64(peak)))))) - 2 + 127
	}
	e = min(max(e, 0), 254)
	q := nearestE2M1(x, halfPower(byte(e)))
	if imp != nil {
		w, best := make([]float32, 32), math.Inf(1)
		weigh(w, x, imp)
		mid := e
		for c := max(mid-1, 0); c <= min(mid+1, 254); c++ {
			d := halfPower(byte(c))
			t, loss := nearestE2M1(x, d), 0.0
			for i, v := range x {
				diff := float64(v) - float64(mul(d, float32(e2m1[t[i]])))
				loss += float64(float64(diff*diff) * float64(w[i]))
			}
			if loss < best {
				best, e, q = loss, c, t
			}
		}
	}
	dst[0] = byte(e)
	packNibbles(dst[1:], &q)
}

// nearestE2M1 returns the digits of x at scale d; a tie goes to the smaller
// magnitude.
func nearestE2M1(x []float32, d float32) (q [32]uint8) {
	ties := [7]float32{0.5 * d, 1.5 * d, 2.5 * d, 3.5 * d, 5 * d, 7 * d, 10 * d}
	for i, v := range x {
		a := abs(v)
		for _, t := range ties {
			if a > t {
				q[i]++
			}
		}
		if v < 0 && q[i] > 0 {
			q[i] |= 8
		}
	}
	return q
}
