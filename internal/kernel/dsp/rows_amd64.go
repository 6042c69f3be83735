//go:build !noasm

package dsp

import "atenia/internal/kernel"

//go:generate go run -C ../../../tools ./asm -family dsp -out ../internal/kernel/dsp/zdsp_amd64.s -stubs ../internal/kernel/dsp/zdsp_amd64.go -pkg dsp

// wide returns the number of lanes of the registers that may be used.
func wide() int { return kernel.VectorLanes() }

// whole returns how many of n frames assembly processes.
func whole(n int) int {
	if wide() == 0 {
		return 0
	}
	return n &^ (laneCount - 1)
}

// Each function here returns how many frames it processed.

func scale32(dst, x []float32, g float32) int {
	n := whole(len(x))
	switch {
	case n == 0:
	case wide() == 16:
		scaleAVX512(&dst[0], &x[0], n, g)
	default:
		scaleAVX2(&dst[0], &x[0], n, g)
	}
	return n
}

// bindScale32 returns nil if assembly does not process all frames.
func bindScale32(dst, x []float32, g *float32) func() {
	n := whole(len(x))
	if n == 0 || n < len(x) {
		return nil
	}
	to, from := &dst[0], &x[0]
	if wide() == 16 {
		return func() { scaleAVX512(to, from, n, *g) }
	}
	return func() { scaleAVX2(to, from, n, *g) }
}

func mul32(dst, a, b []float32) int {
	n := whole(len(a))
	switch {
	case n == 0:
	case wide() == 16:
		mulAVX512(&dst[0], &a[0], &b[0], n)
	default:
		mulAVX2(&dst[0], &a[0], &b[0], n)
	}
	return n
}

func add32(dst, a, b []float32) int {
	n := whole(len(a))
	switch {
	case n == 0:
	case wide() == 16:
		addAVX512(&dst[0], &a[0], &b[0], n)
	default:
		addAVX2(&dst[0], &a[0], &b[0], n)
	}
	return n
}

func addScaled32(dst, x []float32, s float32) int {
	n := whole(len(x))
	switch {
	case n == 0:
	case wide() == 16:
		addScaledAVX512(&dst[0], &x[0], n, s)
	default:
		addScaledAVX2(&dst[0], &x[0], n, s)
	}
	return n
}

func addMul32(dst, a, b []float32) int {
	n := whole(len(a))
	switch {
	case n == 0:
	case wide() == 16:
		addMulAVX512(&dst[0], &a[0], &b[0], n)
	default:
		addMulAVX2(&dst[0], &a[0], &b[0], n)
	}
	return n
}

// correlate32 computes the last 16 results again rather than the remainder in
// Go.
func correlate32(dst, x, h []float32) int {
	n := whole(len(dst))
	if n == 0 || len(h) == 0 {
		return 0
	}
	correlate16s(dst[:n], x, h)
	if n < len(dst) {
		last := len(dst) - laneCount
		correlate16s(dst[last:], x[last:], h)
	}
	return len(dst)
}

func correlate16s(dst, x, h []float32) {
	if wide() == 16 {
		correlateAVX512(&dst[0], &x[0], &h[0], len(dst), len(h))
	} else {
		correlateAVX2(&dst[0], &x[0], &h[0], len(dst), len(h))
	}
}

// addCorrelation32 computes the last 16 sums again in scratch memory, to take
// the remaining ones from there.
func addCorrelation32(sum []float64, y, x []float32) int {
	n := whole(len(sum))
	if n == 0 {
		return 0
	}
	var beside Lanes
	last := len(sum) - laneCount
	copy(beside[:], sum[last:])
	addCorrelation16s(sum[:n], y, x)
	if n < len(sum) {
		addCorrelation16s(beside[:], y, x[last:])
		copy(sum[n:], beside[n-last:])
	}
	return len(sum)
}

func addCorrelation16s(sum []float64, y, x []float32) {
	if wide() == 16 {
		addCorrelationAVX512(&sum[0], &y[0], &x[0], len(sum), len(y))
	} else {
		addCorrelationAVX2(&sum[0], &y[0], &x[0], len(sum), len(y))
	}
}

func peak32(x []float32) (n int, peak float32) {
	n = whole(len(x))
	switch {
	case n == 0:
	case wide() == 16:
		peak = peakAVX512(&x[0], n)
	default:
		peak = peakAVX2(&x[0], n)
	}
	return n, peak
}

func finite32(x []float32) (int, bool) {
	n, most := whole(len(x)), uint32(0)
	switch {
	case n == 0:
	case wide() == 16:
		most = exponentAVX512(&x[0], n)
	default:
		most = exponentAVX2(&x[0], n)
	}
	return n, most != 0xff<<23
}

func dot32(a, b []float32) float32 {
	switch {
	case len(a) == 0:
		return 0
	case wide() == 16:
		return dotAVX512(&a[0], &b[0], len(a))
	case wide() == 8:
		return dotAVX2(&a[0], &b[0], len(a))
	default:
		return dotGeneric(a, b)
	}
}

// These two process the last frames, and return how many are left.

func addDot32(l *Lanes, a, b []float32) int {
	n := whole(len(a))
	left := len(a) - n
	switch {
	case n == 0:
	case wide() == 16:
		addDotAVX512(&l[0], &a[left], &b[left], n)
	default:
		addDotAVX2(&l[0], &a[left], &b[left], n)
	}
	return left
}

func addSum32(l *Lanes, x []float32) int {
	n := whole(len(x))
	left := len(x) - n
	switch {
	case n == 0:
	case wide() == 16:
		addSumAVX512(&l[0], &x[left], n)
	default:
		addSumAVX2(&l[0], &x[left], n)
	}
	return left
}
