package kernel

import "math"

// Lanes are the partial sums of one output.
type Lanes [16]float32

// Sum folds the lanes: 16 to 8 and 8 to 4 by halves, then neighbours, as vector
// units do.
func (a *Lanes) Sum() float32 {
	var b [4]float32
	for i := range b {
		b[i] = float32(a[i]+a[i+8]) + float32(a[i+4]+a[i+12])
	}
	return float32(b[0]+b[1]) + float32(b[2]+b[3])
}

// Sum8 folds the first eight lanes; the others must be unused.
func (a *Lanes) Sum8() float32 {
	var b [4]float32
	for i := range b {
		b[i] = a[i] + a[i+4]
	}
	return float32(b[0]+b[1]) + float32(b[2]+b[3])
}

// Lanes64 are [Lanes] of sums in float64, folded in the same order.
type Lanes64 [16]float64

// Sum folds the lanes.
func (a *Lanes64) Sum() float64 {
	var b [4]float64
	for i := range b {
		b[i] = (a[i] + a[i+8]) + (a[i+4] + a[i+12])
	}
	return (b[0] + b[1]) + (b[2] + b[3])
}

// fmaSlow returns a·b+c rounded once. The product is exact in float64; rounding
// the sum to odd there makes the rounding to float32 the only one (Boldo and
// Melquiond, "When double rounding is odd").
func fmaSlow(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	t := s - p
	err := (p - (s - t)) + (q - t) // Knuth's TwoSum: p+q = s+err
	if err != 0 && math.Float64bits(s)&1 == 0 && err == err && !math.IsInf(s, 0) {
		s = math.Nextafter(s, math.Copysign(math.Inf(1), err))
	}
	return float32(s)
}
