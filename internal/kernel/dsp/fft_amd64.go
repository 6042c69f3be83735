//go:build !noasm

package dsp

// What assembly computes of float32 transforms; results are those of the Go code, bit
// for bit.

// assembled reports whether assembly has computed a stage.
func assembled(st *stage[float32], yr, yi, xr, xi []float32) bool {
	s, n := st.s, st.m*st.s
	switch lanes := wide(); {
	case lanes == 0:
	case st.radix == 4 && s%laneCount == 0 && lanes == 16:
		fft4WideAVX512(&yr[0], &yi[0], &xr[0], &xi[0], &st.wr[0], &st.wi[0], st.m, s)
		return true
	case st.radix == 4 && s%laneCount == 0:
		fft4WideAVX2(&yr[0], &yi[0], &xr[0], &xi[0], &st.wr[0], &st.wi[0], st.m, s)
		return true
	case st.radix == 2 && s%laneCount == 0 && lanes == 16:
		fft2WideAVX512(&yr[0], &yi[0], &xr[0], &xi[0], &st.wr[0], &st.wi[0], st.m, s)
		return true
	case st.radix == 2 && s%laneCount == 0:
		fft2WideAVX2(&yr[0], &yi[0], &xr[0], &xi[0], &st.wr[0], &st.wi[0], st.m, s)
		return true
	case st.planes == nil:
	case s == 1 && lanes == 16:
		fft4OneAVX512(&yr[0], &yi[0], &xr[0], &xi[0], &st.planes[0], n)
		return true
	case s == 1:
		fft4OneAVX2(&yr[0], &yi[0], &xr[0], &xi[0], &st.planes[0], n)
		return true
	case lanes == 16:
		fft4FourAVX512(&yr[0], &yi[0], &xr[0], &xi[0], &st.planes[0], n)
		return true
	default:
		fft4FourAVX2(&yr[0], &yi[0], &xr[0], &xi[0], &st.planes[0], n)
		return true
	}
	return false
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
