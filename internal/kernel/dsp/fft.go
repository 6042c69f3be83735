package dsp

// This file holds the complex transform: the factorization of a length and the
// loop over its stages.

import "math"

// A fft transforms complex sequences of one length. It owns scratch memory and
// may be used by one goroutine at a time.
type fft[F Float] struct {
	n      int
	stages []stage[F]
	sr, si []F // [n] the other buffer of the stages
	chirp  *bluestein[F]
}

// A stage is one pass: radix butterflies of m groups at stride s.
type stage[F Float] struct {
	radix, m, s int
	wr, wi      []F // [m, radix-1] exp(-2 pi i p k / (m radix)), k from 1
	// planes are the same numbers for strides shorter than a vector: real and imaginary
	// part in turn for each k, every number s times. nil = not needed.
	planes []F // [2 (radix-1), m, s]
}

// newFFT returns a plan for sequences of n numbers. With n below one its
// transforms do nothing.
func newFFT[F Float](n int) *fft[F] {
	n = max(n, 0)
	p := &fft[F]{n: n}
	radices, rest := factor(n)
	if rest > 1 {
		p.chirp = newBluestein[F](n)
		return p
	}
	left, stride := n, 1
	for _, r := range radices {
		m := left / r
		st := stage[F]{radix: r, m: m, s: stride, wr: make([]F, m*(r-1)), wi: make([]F, m*(r-1))}
		for g := range m {
			for k := 1; k < r; k++ {
				c, s := unit(g*k, left)
				st.wr[g*(r-1)+k-1], st.wi[g*(r-1)+k-1] = F(c), F(s)
			}
		}
		st.spread()
		p.stages = append(p.stages, st)
		left, stride = m, stride*r
	}
	p.sr, p.si = make([]F, n), make([]F, n)
	return p
}

// spread makes the planes of a stage that assembly may compute.
func (st *stage[F]) spread() {
	near := st.radix == 4 && (st.s == 1 || st.s == 4) || st.radix == 2 && st.s == 4
	if !single[F]() || !near || st.m*st.s < 8 {
		return
	}
	for k := range st.radix - 1 {
		for _, w := range [][]F{st.wr, st.wi} {
			for p := range st.m {
				for range st.s {
					st.planes = append(st.planes, w[p*(st.radix-1)+k])
				}
			}
		}
	}
}

// Len returns the length of the sequences.
func (p *fft[F]) Len() int { return p.n }

// Forward writes the transform of (xr, xi) to (yr, yi), all of length n. The
// slices of y may be those of x; otherwise x is not modified.
func (p *fft[F]) Forward(yr, yi, xr, xi []F) { p.transform(yr[:p.n], yi[:p.n], xr[:p.n], xi[:p.n]) }

// InverseSum is n times the inverse of [fft.Forward], and its adjoint.
// Exchanging real and imaginary parts on both sides turns exp(-i t) into exp(+i
// t), so no second set of tables is needed.
func (p *fft[F]) InverseSum(yr, yi, xr, xi []F) {
	p.transform(yi[:p.n], yr[:p.n], xi[:p.n], xr[:p.n])
}

// transform runs the stages, alternating between y and the scratch so that the
// last one writes y.
func (p *fft[F]) transform(yr, yi, xr, xi []F) {
	if p.chirp != nil {
		p.chirp.transform(yr, yi, xr, xi)
		return
	}
	k := len(p.stages)
	if k == 0 {
		copyPair(yr, yi, xr, xi)
		return
	}
	inPlace := &yr[0] == &xr[0] || &yr[0] == &xi[0]
	if k%2 == 1 && inPlace {
		copyPair(p.sr, p.si, xr, xi)
		xr, xi = p.sr, p.si
	}
	for i := range p.stages {
		outR, outI := yr, yi
		if (k-i)%2 == 0 {
			outR, outI = p.sr, p.si
		}
		p.stages[i].run(outR, outI, xr, xi)
		xr, xi = outR, outI
	}
}

// copyPair copies the two parts elementwise, since they may be exchanged in
// place (y is x with real and imaginary part swapped).
func copyPair[F Float](yr, yi, xr, xi []F) {
	for i := range yr {
		yr[i], yi[i] = xr[i], xi[i]
	}
}

// factor splits n into the radices of the stages, fours first because the first
// stage has the shortest runs; rest is the remaining factor.
func factor(n int) (radices []int, rest int) {
	if n < 1 {
		return nil, 1
	}
	for _, r := range [...]int{4, 2, 3, 5} {
		for n%r == 0 {
			radices = append(radices, r)
			n /= r
		}
	}
	return radices, n
}

// unit returns exp(-2 pi i k / n), reduced to the first eighth of the circle so
// that symmetric tables are symmetric to the last bit.
func unit(k, n int) (re, im float64) {
	k %= n
	if k < 0 {
		k += n
	}
	// t counts eighths: k/n = (e + t)/8 with e whole.
	e, r := 8*k/n, 8*k%n
	t := float64(r) / float64(n)
	s, c := math.Sincos(t * (math.Pi / 4))
	if e%2 == 1 { // measured from the other end of the eighth
		s, c = math.Sincos((1 - t) * (math.Pi / 4))
	}
	switch e {
	case 0:
		return c, -s
	case 1:
		return s, -c
	case 2:
		return -s, -c
	case 3:
		return -c, -s
	case 4:
		return -c, s
	case 5:
		return -s, c
	case 6:
		return s, c
	}
	return c, s
}
