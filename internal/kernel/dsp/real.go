package dsp

// This file holds the transform of real sequences and its adjoints.

// A RealFFT transforms real sequences of one length n to the n/2+1 numbers that
// determine their spectrum, and back. It owns scratch memory, like a [fft].
type RealFFT[F Float] struct {
	n      int
	plan   *fft[F] // of n/2 when n is even, else of n
	wr, wi []F     // [n/4+1] exp(-2 pi i k / n), even n
	ar, ai []F     // scratch [plan.Len()]
	gr, gi []F     // scratch [n/2+1] of the adjoints
}

// NewRealFFT returns a plan for real sequences of n numbers; with n below one it
// does nothing.
func NewRealFFT[F Float](n int) *RealFFT[F] {
	n = max(n, 0)
	r := &RealFFT[F]{n: n}
	inner := n
	if n%2 == 0 {
		inner = n / 2
		r.wr, r.wi = make([]F, n/4+1), make([]F, n/4+1)
		for k := range r.wr {
			if n > 0 {
				c, s := unit(k, n)
				r.wr[k], r.wi[k] = F(c), F(s)
			}
		}
	}
	r.plan = newFFT[F](inner)
	r.ar, r.ai = make([]F, r.plan.Len()), make([]F, r.plan.Len())
	r.gr, r.gi = make([]F, r.Bins()), make([]F, r.Bins())
	return r
}

// Len returns the length n of the sequences.
func (r *RealFFT[F]) Len() int { return r.n }

// Bins returns the length n/2+1 of a spectrum, 0 if n is 0.
func (r *RealFFT[F]) Bins() int {
	if r.n == 0 {
		return 0
	}
	return r.n/2 + 1
}

// Forward writes the spectrum of x [n] to re, im [n/2+1]. The imaginary parts
// of bin 0 and, for even n, of the last bin are zero.
func (r *RealFFT[F]) Forward(re, im, x []F) {
	if r.n == 0 {
		return
	}
	re, im, x = re[:r.Bins()], im[:r.Bins()], x[:r.n]
	if r.n%2 == 1 {
		copy(r.ar, x)
		clear(r.ai)
		r.plan.Forward(r.ar, r.ai, r.ar, r.ai)
		copy(re, r.ar)
		copy(im, r.ai)
		im[0] = 0
		return
	}
	h, j := r.n/2, 0
	if single[F]() {
		j = pairs2rows32(as32(r.ar), as32(r.ai), as32(x))
	}
	for ; j < h; j++ {
		r.ar[j], r.ai[j] = x[2*j], x[2*j+1]
	}
	r.plan.Forward(re, im, r.ar, r.ai)
	zr, zi := re[0], im[0]
	re[0], im[0], re[h], im[h] = zr+zi, 0, zr-zi, 0
	done := 0
	if single[F]() {
		done = unpack32(as32(re), as32(im), as32(r.wr), as32(r.wi), h)
	}
	unpack(re, im, r.wr, r.wi, 1+done, h, h/2-done)
}

// unpack replaces n bins from k on and their mirrors of h.
func unpack[F Float](re, im, wr, wi []F, k, h, n int) {
	for l := h - k; n > 0 && k <= l; k, l, n = k+1, l-1, n-1 {
		// e is the spectrum of the even samples, o of the odd ones.
		er, ei := (re[k]+re[l])/2, (im[k]-im[l])/2
		or, oi := (im[k]+im[l])/2, (re[l]-re[k])/2
		w, v := wr[k], wi[k]
		tr, ti := F(or*w)-F(oi*v), F(or*v)+F(oi*w)
		re[k], im[k], re[l], im[l] = er+tr, ei+ti, er-tr, ti-ei
	}
}

// Inverse inverts [RealFFT.Forward]: it writes the sequence x [n] with the
// spectrum re, im [n/2+1], whose imaginary parts at bin 0 and, for even n, at
// the last bin are ignored.
func (r *RealFFT[F]) Inverse(x, re, im []F) { r.inverse(x, re, im, 1/F(max(r.n, 1))) }

// inverse computes the sum over all n bins times scale.
func (r *RealFFT[F]) inverse(x, re, im []F, scale F) {
	if r.n == 0 {
		return
	}
	re, im, x = re[:r.Bins()], im[:r.Bins()], x[:r.n]
	if r.n%2 == 1 {
		r.ar[0], r.ai[0] = re[0], 0
		for k := 1; k < r.Bins(); k++ {
			r.ar[k], r.ai[k] = re[k], im[k]
			r.ar[r.n-k], r.ai[r.n-k] = re[k], -im[k]
		}
		r.plan.InverseSum(r.ar, r.ai, r.ar, r.ai)
		for j := range x {
			x[j] = r.ar[j] * scale
		}
		return
	}
	h := r.n / 2
	r.ar[0], r.ai[0] = re[0]+re[h], re[0]-re[h]
	done := 0
	if single[F]() {
		done = pack32(as32(r.ar), as32(r.ai), as32(re), as32(im), as32(r.wr), as32(r.wi), h)
	}
	pack(r.ar, r.ai, re, im, r.wr, r.wi, 1+done, h, h/2-done)
	r.plan.InverseSum(r.ar, r.ai, r.ar, r.ai)
	j := 0
	if single[F]() {
		j = rows2pairs32(as32(x), as32(r.ar), as32(r.ai), float32(scale))
	}
	for ; j < h; j++ {
		x[2*j], x[2*j+1] = r.ar[j]*scale, r.ai[j]*scale
	}
}

// pack writes n pairs from k on and their mirrors of h, doubled.
func pack[F Float](ar, ai, re, im, wr, wi []F, k, h, n int) {
	for l := h - k; n > 0 && k <= l; k, l, n = k+1, l-1, n-1 {
		er, ei := re[k]+re[l], im[k]-im[l]
		tr, ti := re[k]-re[l], im[k]+im[l]
		w, v := wr[k], wi[k]
		or, oi := F(tr*w)+F(ti*v), F(ti*w)-F(tr*v)
		ar[k], ai[k] = er-oi, ei+or
		ar[l], ai[l] = er+oi, or-ei
	}
}

// ForwardAdjoint is the transpose of [RealFFT.Forward]: it writes to dx [n] the
// gradient of a loss whose gradient at the spectrum is dre, dim [n/2+1].
func (r *RealFFT[F]) ForwardAdjoint(dx, dre, dim []F) {
	for k := range r.gr {
		w := r.weight(k)
		r.gr[k], r.gi[k] = dre[k]/w, dim[k]/w
	}
	r.inverse(dx, r.gr, r.gi, 1)
}

// InverseAdjoint is the transpose of [RealFFT.Inverse]: dre, dim [n/2+1] from the
// gradient dx [n] at the sequence.
func (r *RealFFT[F]) InverseAdjoint(dre, dim, dx []F) {
	r.Forward(dre, dim, dx)
	for k := range r.gr {
		w := r.weight(k) / F(r.n)
		dre[k] *= w
		dim[k] *= w
	}
}

// weight returns how many of the n bins the k-th of the half spectrum
// represents.
func (r *RealFFT[F]) weight(k int) F {
	if k == 0 || 2*k == r.n {
		return 1
	}
	return 2
}
