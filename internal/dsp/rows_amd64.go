//go:build !noasm

package dsp

import (
	"atenia/internal/kernel"
	"atenia/internal/kernel/exact"
)

//go:generate go run -C ../kernel/_asm . -family dsp -out ../../dsp/zdsp_amd64.s -stubs ../../dsp/zdsp_amd64.go -pkg dsp

// wide is how many lanes the registers have that may be used.
func wide() int { return kernel.Lanes() }

// whole is how many of n frames assembly does.
func whole(n int) int {
	if wide() == 0 {
		return 0
	}
	return n &^ (laneCount - 1)
}

// Each function here returns how many frames it did.

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

func correlate32(dst, x, h []float32) int {
	n := whole(len(dst))
	switch {
	case n == 0 || len(h) == 0:
		return 0
	case wide() == 16:
		correlateAVX512(&dst[0], &x[0], &h[0], n, len(h))
	default:
		correlateAVX2(&dst[0], &x[0], &h[0], n, len(h))
	}
	return n
}

func addCorrelation32(sum []float64, y, x []float32) int {
	n := whole(len(sum))
	switch {
	case n == 0:
	case wide() == 16:
		addCorrelationAVX512(&sum[0], &y[0], &x[0], n, len(y))
	default:
		addCorrelationAVX2(&sum[0], &y[0], &x[0], n, len(y))
	}
	return n
}

func peak32(x []float32) (int, float32) {
	n := whole(len(x))
	var l exact.Lanes
	switch {
	case n == 0:
	case wide() == 16:
		peakLanesAVX512(&l[0], &x[0], n)
	default:
		peakLanesAVX2(&l[0], &x[0], n)
	}
	peak := float32(0)
	for _, v := range l {
		peak = max(peak, v)
	}
	return n, peak
}

func finite32(x []float32) (int, bool) {
	n := whole(len(x))
	var l [laneCount]uint32
	switch {
	case n == 0:
	case wide() == 16:
		exponentLanesAVX512(&l[0], &x[0], n)
	default:
		exponentLanesAVX2(&l[0], &x[0], n)
	}
	most := uint32(0)
	for _, v := range l {
		most = max(most, v)
	}
	return n, most != 0xff<<23
}

func dot32(a, b []float32) float32 {
	n := whole(len(a))
	var l exact.Lanes
	switch {
	case n == 0:
	case wide() == 16:
		dotLanesAVX512(&l[0], &a[0], &b[0], n)
	default:
		dotLanesAVX2(&l[0], &a[0], &b[0], n)
	}
	dotGeneric(&l, a[n:], b[n:])
	return l.Sum()
}

// These two do the last frames, and return how many are left.

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
