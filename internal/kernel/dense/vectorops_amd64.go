//go:build !noasm

package dense

import "atenia/internal/kernel"

// Each function passes whole vectors to assembly and the remainder to its
// portable counterpart.

// whole returns how many of n values assembly processes.
func whole(n int) int {
	if !some() {
		return 0
	}
	return n &^ (tileCols - 1)
}

func addMul32(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	n := whole(len(dst))
	switch {
	case n == 0:
	case wide():
		addMulAVX512(&dst[0], &a[0], &b[0], n)
	default:
		addMulAVX2(&dst[0], &a[0], &b[0], n)
	}
	addMulGeneric(dst[n:], a[n:], b[n:])
}

func weigh32(d, p []float32, c float32) {
	p = p[:len(d)]
	n := whole(len(d))
	switch {
	case n == 0:
	case wide():
		weighAVX512(&d[0], &p[0], n, c)
	default:
		weighAVX2(&d[0], &p[0], n, c)
	}
	weighGeneric(d[n:], p[n:], c)
}

func addWeighed32(dst, p, d []float32, c float32) {
	p, d = p[:len(dst)], d[:len(dst)]
	n := whole(len(dst))
	switch {
	case n == 0:
	case wide():
		addWeighedAVX512(&dst[0], &p[0], &d[0], n, c)
	default:
		addWeighedAVX2(&dst[0], &p[0], &d[0], n, c)
	}
	addWeighedGeneric(dst[n:], p[n:], d[n:], c)
}

func scaled32(dst, x []float32, s float32) {
	x = x[:len(dst)]
	n := whole(len(dst))
	switch {
	case n == 0:
	case wide():
		scaledAVX512(&dst[0], &x[0], n, s)
	default:
		scaledAVX2(&dst[0], &x[0], n, s)
	}
	scaledGeneric(dst[n:], x[n:], s)
}

func exps32(x []float32, c float32) {
	n := whole(len(x))
	switch {
	case n == 0:
	case wide():
		expsAVX512(&x[0], n, c)
	default:
		expsAVX2(&x[0], n, c)
	}
	expsGeneric(x[n:], c)
}

func addExps32(dst, x []float32, c, s float32) {
	x = x[:len(dst)]
	n := whole(len(dst))
	switch {
	case n == 0:
	case wide():
		addExpsAVX512(&dst[0], &x[0], n, c, s)
	default:
		addExpsAVX2(&dst[0], &x[0], n, c, s)
	}
	addExpsGeneric(dst[n:], x[n:], c, s)
}

func slopes32(a Activation, dst, x []float32) bool {
	n := whole(len(x))
	dst = dst[:len(x)]
	if n > 0 {
		d, s := &dst[0], &x[0]
		switch {
		case a == Sigmoid && wide():
			sigmoidSlopeAVX512(d, s, n)
		case a == Sigmoid:
			sigmoidSlopeAVX2(d, s, n)
		case a == Tanh && wide():
			tanhSlopeAVX512(d, s, n)
		case a == Tanh:
			tanhSlopeAVX2(d, s, n)
		case a == SiLU && wide():
			siluSlopeAVX512(d, s, n)
		case a == SiLU:
			siluSlopeAVX2(d, s, n)
		case a == GELUTanh && wide():
			geluTanhSlopeAVX512(d, s, n)
		case a == GELUTanh:
			geluTanhSlopeAVX2(d, s, n)
		default:
			n = 0
		}
	}
	return slopesGeneric(a, dst[n:], x[n:])
}

func sumExps32(acc *kernel.Lanes, x []float32, c float32) {
	n := whole(len(x))
	switch {
	case n == 0:
	case wide():
		sumExpsAVX512(&acc[0], &x[0], n, c)
	default:
		sumExpsAVX2(&acc[0], &x[0], n, c)
	}
	sumExpsGeneric(acc, x[n:], c)
}

func dotLanes32(acc *[2]kernel.Lanes, a, b []float32) {
	b = b[:len(a)]
	n := whole(len(a))
	switch {
	case n == 0:
	case wide():
		dotLanesAVX512(&acc[0][0], &a[0], &b[0], n)
	default:
		dotLanesAVX2(&acc[0][0], &a[0], &b[0], n)
	}
	dotLanesGeneric(acc, a[n:], b[n:], n)
}

func matVec32(dst, m, x []float32) {
	n := whole(len(x))
	m = m[:len(dst)*len(x)]
	switch {
	case n < len(x) || len(m) == 0:
		matVecGeneric(dst, m, x)
	case wide():
		matVecAVX512(&dst[0], &m[0], &x[0], len(dst), n)
	default:
		matVecAVX2(&dst[0], &m[0], &x[0], len(dst), n)
	}
}

func matVecT32(dst, m, x []float32) {
	n := whole(len(dst))
	m = m[:len(dst)*len(x)]
	switch {
	case n == 0 || len(x) == 0:
		n = 0
	case wide():
		matVecTAVX512(&dst[0], &m[0], &x[0], len(x), 4*len(dst), n)
	default:
		matVecTAVX2(&dst[0], &m[0], &x[0], len(x), 4*len(dst), n)
	}
	matVecTGeneric(dst, m, x, n)
}

func addOuter32(m []float32, s float32, x, y []float32) {
	n := whole(len(y))
	m = m[:len(x)*len(y)]
	switch {
	case n == 0 || len(x) == 0:
		n = 0
	case wide():
		addOuterAVX512(&m[0], &x[0], &y[0], len(x), 4*len(y), n, s)
	default:
		addOuterAVX2(&m[0], &x[0], &y[0], len(x), 4*len(y), n, s)
	}
	addOuterGeneric(m, s, x, y, n)
}

func scaleAddOuter32(m []float32, r, s float32, x, y []float32) {
	n := whole(len(y))
	m = m[:len(x)*len(y)]
	switch {
	case n == 0 || len(x) == 0:
		n = 0
	case wide():
		scaleAddOuterAVX512(&m[0], &x[0], &y[0], len(x), 4*len(y), n, s, r)
	default:
		scaleAddOuterAVX2(&m[0], &x[0], &y[0], len(x), 4*len(y), n, s, r)
	}
	scaleAddOuterGeneric(m, r, s, x, y, n)
}

// siluMulBack32 processes a prefix and returns its length.
func siluMulBack32(dgate, dup, gate, up, dy []float32) int {
	n := whole(len(dy))
	if n == 0 {
		return 0
	}
	dgate, dup, gate, up = dgate[:n], dup[:n], gate[:n], up[:n]
	if wide() {
		siluMulBackAVX512(&dgate[0], &dup[0], &gate[0], &up[0], &dy[0], n)
	} else {
		siluMulBackAVX2(&dgate[0], &dup[0], &gate[0], &up[0], &dy[0], n)
	}
	return n
}
