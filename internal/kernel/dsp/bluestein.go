package dsp

// This file holds the transform of lengths with a prime factor above five:
// jk = (j² + k² - (k-j)²)/2 turns the sum into a convolution with a chirp
// (L. Bluestein, A linear filtering approach to the computation of the
// discrete Fourier transform, 1970).

type bluestein[F Float] struct {
	n      int
	inner  *fft[F] // of a power of two, at least 2n-1
	cr, ci []F     // [n] exp(-pi i j²/n)
	fr, fi []F     // spectrum of the conjugate chirp, divided by its length
	ar, ai []F     // scratch
}

func newBluestein[F Float](n int) *bluestein[F] {
	m := 1
	for m < 2*n-1 {
		m *= 2
	}
	b := &bluestein[F]{n: n, inner: newFFT[F](m), cr: make([]F, n), ci: make([]F, n),
		fr: make([]F, m), fi: make([]F, m), ar: make([]F, m), ai: make([]F, m)}
	// The chirp's spectrum is computed in float64, whatever F is.
	wide := newFFT[float64](m)
	re, im := make([]float64, m), make([]float64, m)
	square := 0 // j² mod 2n, kept small
	for j := range n {
		c, s := unit(square, 2*n)
		b.cr[j], b.ci[j] = F(c), F(s)
		re[j], im[j] = c, -s
		if j > 0 {
			re[m-j], im[m-j] = c, -s
		}
		square = (square + 2*j + 1) % (2 * n)
	}
	wide.Forward(re, im, re, im)
	for i := range re {
		b.fr[i], b.fi[i] = F(re[i]/float64(m)), F(im[i]/float64(m))
	}
	return b
}

func (b *bluestein[F]) transform(yr, yi, xr, xi []F) {
	for j := range b.n {
		r, i := xr[j], xi[j]
		b.ar[j], b.ai[j] = r*b.cr[j]-i*b.ci[j], r*b.ci[j]+i*b.cr[j]
	}
	clear(b.ar[b.n:])
	clear(b.ai[b.n:])
	b.inner.Forward(b.ar, b.ai, b.ar, b.ai)
	for j := range b.ar {
		r, i := b.ar[j], b.ai[j]
		b.ar[j], b.ai[j] = r*b.fr[j]-i*b.fi[j], r*b.fi[j]+i*b.fr[j]
	}
	b.inner.InverseSum(b.ar, b.ai, b.ar, b.ai)
	for k := range b.n {
		r, i := b.ar[k], b.ai[k]
		yr[k], yi[k] = r*b.cr[k]-i*b.ci[k], r*b.ci[k]+i*b.cr[k]
	}
}
