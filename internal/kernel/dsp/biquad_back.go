// The transpose of the biquads of a Bank, and the gradients of their
// coefficients.

package dsp

import "unsafe"

// Backward maps the gradient dy of n frames of output to dx, the gradient of
// the input, frame by frame from the last to the first. The slices of a stream
// must come in reverse order; the first frame of this one has index frame0.
// Rows are stride frames apart, and dx may be dy. If x and y, the input and
// output of the same frames, are not nil, the gradients of the coefficients are
// accumulated as well.
//
//	t  = dy − a1·λ1 − a2·λ2
//	dx = b0·dy + c1·λ1 + c2·λ2
//	db += (t, λ1, λ2)·x     da −= (λ1, λ2)·y
//	λ1, λ2 = t, λ1
func (b *Bank[F]) Backward(dx, dy, x, y []F, stride, n int, frame0 int64) {
	if n == 0 || b.rows == 0 {
		return
	}
	end := (b.rows-1)*stride + n - 1
	_, _ = dx[end], dy[end]
	if x != nil {
		_, _ = x[end], y[end]
	}
	for i := range b.groups {
		var p [4]pointers[F]
		used, at := b.in(i), i*laneRows*stride
		p[0].strided(dx[at:], stride, used)
		p[1].strided(dy[at:], stride, used)
		if x != nil {
			p[2].strided(x[at:], stride, used)
			p[3].strided(y[at:], stride, used)
		}
		b.groups[i].backward(&p, x != nil, used, n, frame0)
	}
}

// backward splits at the frames where sums are flushed.
func (g *group[F]) backward(p *[4]pointers[F], sums bool, used, n int, frame0 int64) {
	for n > 0 {
		last := uint64(frame0) + uint64(n) - 1
		start := max(0, n-1-int(last%flushFrames))
		g.segment(p, sums, used, start, n)
		if sums && (uint64(frame0)+uint64(start))%flushFrames == 0 {
			g.flush()
		}
		n = start
	}
}

// flush moves the float32 sums to the float64 ones.
func (g *group[F]) flush() {
	if single[F]() && flush32((*group[float32])(unsafe.Pointer(g))) {
		return
	}
	for k := range g.part {
		for l, v := range &g.part[k] {
			g.sum[k][l] += float64(v)
		}
	}
	g.part = [5][laneRows]F{}
}

// segment processes frames from start to end. The last ones, beyond a multiple
// of four, are processed in Go.
func (g *group[F]) segment(p *[4]pointers[F], sums bool, used, start, end int) {
	whole := 0
	if single[F]() {
		whole = backwardFrames32(end - start)
	}
	if at := start + whole; at < end {
		g.tail(p, sums, used, at, end)
	}
	if whole > 0 {
		backward32((*group[float32])(unsafe.Pointer(g)), (*[4]pointers[float32])(unsafe.Pointer(p)), sums, used, start, whole)
	}
}

// tail processes frames in Go.
func (g *group[F]) tail(p *[4]pointers[F], sums bool, used, at, end int) {
	for l := range used {
		row := func(k int) []F { return unsafe.Slice(p[k][l], end)[at:] }
		if sums {
			g.backwardGeneric(l, row(0), row(1), row(2), row(3))
		} else {
			g.backwardGeneric(l, row(0), row(1), nil, nil)
		}
	}
	for l := used; l < laneRows; l++ {
		g.adjoint[0][l], g.adjoint[1][l] = g.adjoint[0][repeated(used)], g.adjoint[1][repeated(used)]
	}
}

// backwardGeneric processes one row.
func (g *group[F]) backwardGeneric(l int, dx, dy, x, y []F) {
	dx = dx[:len(dy)]
	b0, c1, c2, a1, a2 := g.coef[0][l], g.coef[1][l], g.coef[2][l], g.coef[3][l], g.coef[4][l]
	l1, l2 := g.adjoint[0][l], g.adjoint[1][l]
	var s [5]F
	for k := range s {
		s[k] = g.part[k][l]
	}
	for i := len(dy) - 1; i >= 0; i-- {
		d := dy[i]
		t := fma(-a1, l1, fma(-a2, l2, d))
		dx[i] = fma(c1, l1, fma(c2, l2, b0*d))
		if x != nil {
			s[0] = fma(t, x[i], s[0])
			s[1] = fma(l1, x[i], s[1])
			s[2] = fma(l2, x[i], s[2])
			s[3] = fma(l1, y[i], s[3])
			s[4] = fma(l2, y[i], s[4])
		}
		l1, l2 = t, l1
	}
	g.adjoint[0][l], g.adjoint[1][l] = l1, l2
	for k := range s {
		g.part[k][l] = s[k]
	}
}
