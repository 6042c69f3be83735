//go:build !noasm

package dsp

// What assembly computes of float32 transforms; results are those of the Go code, bit
// for bit.

// assembled reports whether assembly has computed a stage.
func assembled(st *stage[float32], yr, yi, xr, xi []float32) bool {
	lanes := wide()
	switch {
	case lanes == 0:
		return false
	case lanes == 16 && st.s%16 == 0:
		wideAVX512(st, yr, yi, xr, xi)
		return true
	case st.s%8 == 0:
		wideAVX2(st, yr, yi, xr, xi)
		return true
	case st.planes == nil:
		return false
	}
	n := st.m * st.s
	if n < lanes {
		lanes = 8
	}
	whole := n &^ (lanes - 1)
	near(st, lanes, yr, yi, xr, xi, 0, whole)
	if whole < n { // the last ones again, which writes the same numbers
		near(st, lanes, yr, yi, xr, xi, n-lanes, lanes)
	}
	return true
}

func wideAVX512(st *stage[float32], yr, yi, xr, xi []float32) {
	f := fft5WideAVX512
	switch st.radix {
	case 2:
		f = fft2WideAVX512
	case 3:
		f = fft3WideAVX512
	case 4:
		f = fft4WideAVX512
	}
	f(&yr[0], &yi[0], &xr[0], &xi[0], &st.wr[0], &st.wi[0], st.m, st.s)
}

func wideAVX2(st *stage[float32], yr, yi, xr, xi []float32) {
	f := fft5WideAVX2
	switch st.radix {
	case 2:
		f = fft2WideAVX2
	case 3:
		f = fft3WideAVX2
	case 4:
		f = fft4WideAVX2
	}
	f(&yr[0], &yi[0], &xr[0], &xi[0], &st.wr[0], &st.wi[0], st.m, st.s)
}

// near computes n numbers of a stage of stride 1 or 4, from number at on.
func near(st *stage[float32], lanes int, yr, yi, xr, xi []float32, at, n int) {
	w, all := st.planes[at:], st.m*st.s
	xr, xi, yr, yi = xr[at:], xi[at:], yr[st.radix*at:], yi[st.radix*at:]
	switch {
	case st.radix == 2 && lanes == 16:
		fft2FourAVX512(&yr[0], &yi[0], &xr[0], &xi[0], &w[0], all, n)
	case st.radix == 2:
		fft2FourAVX2(&yr[0], &yi[0], &xr[0], &xi[0], &w[0], all, n)
	case st.s == 1 && lanes == 16:
		fft4OneAVX512(&yr[0], &yi[0], &xr[0], &xi[0], &w[0], all, n)
	case st.s == 1:
		fft4OneAVX2(&yr[0], &yi[0], &xr[0], &xi[0], &w[0], all, n)
	case lanes == 16:
		fft4FourAVX512(&yr[0], &yi[0], &xr[0], &xi[0], &w[0], all, n)
	default:
		fft4FourAVX2(&yr[0], &yi[0], &xr[0], &xi[0], &w[0], all, n)
	}
}

// eights returns how many of n pairs assembly takes.
func eights(n int) int {
	if wide() == 0 {
		return 0
	}
	return n &^ 7
}

// pairs2rows32 and what follows return how many pairs they processed.
func pairs2rows32(re, im, x []float32) int {
	n := eights(len(re))
	if n > 0 {
		pairs2rowsAVX2(&re[0], &im[0], &x[0], n)
	}
	return n
}

func rows2pairs32(x, re, im []float32, scale float32) int {
	n := eights(len(re))
	if n > 0 {
		rows2pairsAVX2(&x[0], &re[0], &im[0], n, scale)
	}
	return n
}

// unpack32 has h bins, of which it processes 1 to n and h-n to h-1.
func unpack32(re, im, wr, wi []float32, h int) int {
	n := eights((h - 1) / 2)
	if n > 0 {
		unpackSpectrumAVX2(&re[0], &im[0], &wr[0], &wi[0], h, n)
	}
	return n
}

func pack32(ar, ai, re, im, wr, wi []float32, h int) int {
	n := eights((h - 1) / 2)
	if n > 0 {
		packSpectrumAVX2(&ar[0], &ai[0], &re[0], &im[0], &wr[0], &wi[0], h, n)
	}
	return n
}
