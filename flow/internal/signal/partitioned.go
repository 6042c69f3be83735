package signal

// This file holds the partitioned convolution of one row.

import (
	"slices"

	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// A sizes describes the partition of taps: parts partitions of part taps,
// length taps in total.
type sizes struct{ length, part, parts int }

func (z sizes) bins() int { return z.part + 1 }

// A spectrometer holds the transform of two blocks and its scratch memory,
// which the rows of a node share.
type spectrometer[F node.Float] struct {
	plan   *dsp.RealFFT[F]
	x      []F // [2 part]
	re, im []F // [bins] sums of products
}

func newSpectrometer[F node.Float](z sizes) *spectrometer[F] {
	return &spectrometer[F]{dsp.NewRealFFT[F](2 * z.part), make([]F, 2*z.part), make([]F, z.bins()), make([]F, z.bins())}
}

// A response is a row of taps: the first partition in reverse, and the spectra
// of the others.
type response[F node.Float] struct {
	sizes
	taps          []F // [length] as given
	head          []F // [part]
	re, im, minus []F // [parts-1, bins]; minus is -im
	spectrometer  *spectrometer[F]
}

func newResponse[F node.Float](z sizes, s *spectrometer[F]) *response[F] {
	n := (z.parts - 1) * z.bins()
	return &response[F]{sizes: z, taps: make([]F, z.length), head: make([]F, z.part),
		re: make([]F, n), im: make([]F, n), minus: make([]F, n), spectrometer: s}
}

// set stores taps and reports whether they changed.
func (r *response[F]) set(taps []F) bool {
	if slices.Equal(r.taps, taps) {
		return false
	}
	copy(r.taps, taps)
	clear(r.head)
	for i, t := range taps[:min(r.part, len(taps))] {
		r.head[r.part-1-i] = t
	}
	for j := 1; j < r.parts; j++ {
		at := (j - 1) * r.bins()
		x := r.spectrometer.x
		clear(x)
		copy(x[:r.part], taps[j*r.part:])
		r.spectrometer.plan.Forward(r.re[at:], r.im[at:], x)
	}
	for i, v := range r.im {
		r.minus[i] = -v
	}
	return true
}

// A partitioned is the convolution of one row with a response. The first
// partition is computed directly, the others as products of spectra of blocks:
//
//	y[n] = Σ h[k] x[n-k]                     k < P      per frame
//	     + IFFT( Σ_j H_j X_{b-j} )[n - bP]   j >= 1     once a block b of P frames
//
// Blocks are aligned to the stream, so results do not depend on how the row is
// cut.
type partitioned[F node.Float] struct {
	*response[F]
	window []F // [2 part] the block before the open one, and the open one
	past   []F // [parts, part] ring of closed blocks
	re, im []F // [parts, bins] ring of their spectra, each with the block before it
	newest int // index into the rings
	tail   []F // [part] contribution of closed blocks to the open one, without the head's
}

func newPartitioned[F node.Float](r *response[F]) *partitioned[F] {
	return &partitioned[F]{response: r, window: make([]F, 2*r.part), past: make([]F, r.parts*r.part),
		re: make([]F, r.parts*r.bins()), im: make([]F, r.parts*r.bins()), tail: make([]F, r.part)}
}

func (p *partitioned[F]) reset() {
	for _, b := range [...][]F{p.window, p.past, p.re, p.im, p.tail} {
		clear(b)
	}
	p.newest = 0
}

// run writes the convolution of x to y. The open block has at frames; run
// returns how many it has afterwards.
func (p *partitioned[F]) run(y, x []F, at int) int {
	for len(x) > 0 {
		n := min(p.part-at, len(x))
		copy(p.window[p.part+at:], x[:n])
		dsp.Correlate(y[:n], p.window[at+1:p.part+at+n], p.head)
		dsp.Add(y[:n], y[:n], p.tail[at:at+n])
		x, y, at = x[n:], y[n:], at+n
		if at == p.part {
			p.close()
			at = 0
		}
	}
	return at
}

// close ends the open block.
func (p *partitioned[F]) close() {
	p.push()
	p.sum()
}

// push moves the open block into the rings.
func (p *partitioned[F]) push() {
	p.newest = (p.newest + 1) % p.parts
	copy(p.past[p.newest*p.part:][:p.part], p.window[p.part:])
	at := p.newest * p.bins()
	p.spectrometer.plan.Forward(p.re[at:], p.im[at:], p.window)
	copy(p.window, p.window[p.part:])
}

// sum computes the tail from the spectra.
func (p *partitioned[F]) sum() {
	if p.parts == 1 {
		return
	}
	s, n := p.spectrometer, p.bins()
	clear(s.re)
	clear(s.im)
	for j := range p.parts - 1 {
		at := (p.newest - j + p.parts) % p.parts * n
		xr, xi := p.re[at:][:n], p.im[at:][:n]
		hr, hi, minus := p.response.re[j*n:][:n], p.response.im[j*n:][:n], p.minus[j*n:][:n]
		dsp.AddMul(s.re, hr, xr)
		dsp.AddMul(s.re, minus, xi)
		dsp.AddMul(s.im, hr, xi)
		dsp.AddMul(s.im, hi, xr)
	}
	s.plan.Inverse(s.x, s.re, s.im)
	copy(p.tail, s.x[p.part:])
}

// save writes the closed blocks, oldest first, and the open one: [parts+1, part].
func (p *partitioned[F]) save(dst []F) {
	for j := range p.parts {
		from := (p.newest + 1 + j) % p.parts * p.part
		copy(dst[j*p.part:], p.past[from:][:p.part])
	}
	copy(dst[p.parts*p.part:], p.window[p.part:])
}

// load takes what save wrote and computes the spectra again.
func (p *partitioned[F]) load(src []F) {
	p.reset()
	for j := range p.parts {
		copy(p.window[p.part:], src[j*p.part:][:p.part])
		p.push()
	}
	copy(p.window[p.part:], src[p.parts*p.part:])
	p.sum()
}
