// Matrix products in three orientations.

package dense

// chainCols is the length of one chain of additions in a float32 product.
const chainCols = 256

// MulT writes a·bᵀ: dst[m, n] = a[m, k]·b[n, k]ᵀ. dst must not overlap a or b.
func (w *Work[F]) MulT(dst, a, b []F, m, k, n int) { w.multiply(dst, a, b, m, k, n, false, true, true) }

// AddMulT adds a·bᵀ to dst.
func (w *Work[F]) AddMulT(dst, a, b []F, m, k, n int) {
	w.multiply(dst, a, b, m, k, n, false, true, false)
}

// Mul writes a·b: dst[m, n] = a[m, k]·b[k, n]. dst must not overlap a or b.
func (w *Work[F]) Mul(dst, a, b []F, m, k, n int) { w.multiply(dst, a, b, m, k, n, false, false, true) }

// AddMul adds a·b to dst.
func (w *Work[F]) AddMul(dst, a, b []F, m, k, n int) {
	w.multiply(dst, a, b, m, k, n, false, false, false)
}

// TMul writes aᵀ·b: dst[m, n] = a[k, m]ᵀ·b[k, n]. dst must not overlap a or b.
func (w *Work[F]) TMul(dst, a, b []F, m, k, n int) { w.multiply(dst, a, b, m, k, n, true, false, true) }

// AddTMul adds aᵀ·b to dst.
func (w *Work[F]) AddTMul(dst, a, b []F, m, k, n int) {
	w.multiply(dst, a, b, m, k, n, true, false, false)
}

// A product adds a·b to dst[m, n], or writes it there if fresh. Strides are
// between rows; a is [k, m] if aT, b is [n, k] if bT.
type product[F Float] struct {
	dst, a, b     []F
	ldd, lda, ldb int
	m, k, n       int
	aT, bT, fresh bool
}

func (w *Work[F]) multiply(dst, a, b []F, m, k, n int, aT, bT, fresh bool) {
	p := product[F]{dst: dst[:m*n], a: a[:m*k], b: b[:k*n], ldd: n, lda: k, ldb: n, m: m, k: k, n: n, aT: aT, bT: bT, fresh: fresh}
	if aT {
		p.lda = m
	}
	if bT {
		p.ldb = k
	}
	if single[F]() {
		level(w.panels)
		w.gemm = p.gemm(w.panels)
		work := w.gemm.cut(w.Threads())
		if m*k*n < smallProduct {
			w.gemm.Range(0, 0, work)
		} else {
			w.each(work, 1, &w.gemm)
		}
		w.gemm.dst, w.gemm.a, w.gemm.b = nil, nil, nil
		return
	}
	w.product = p
	w.each(m, grainOf(k*n), &w.product)
	w.product = product[F]{}
}

// smallProduct is the number of multiplications that finish before another
// thread is awake.
const smallProduct = 1 << 18

// gemm returns the product as one of float32 matrices.
func (p *product[F]) gemm(panels []panel) gemm {
	return gemm{dst: singles(p.dst), a: singles(p.a), b: singles(p.b), ldd: p.ldd, lda: p.lda, ldb: p.ldb,
		m: p.m, k: p.k, n: p.n, aT: p.aT, bT: p.bT, fresh: p.fresh, panels: panels}
}

// do computes the whole product on this thread. ready is b packed, or nil.
func (p *product[F]) do(scratch *panel, ready []float32) {
	if single[F]() {
		g := p.gemm(nil)
		g.ready = ready
		g.block(scratch, 0, p.m, 0, p.n)
		return
	}
	p.Range(0, 0, p.m)
}

// Range computes rows [lo, hi) of a float64 product.
func (p *product[F]) Range(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		row := p.dst[i*p.ldd:][:p.n]
		if p.fresh {
			clear(row)
		}
		if p.bT {
			p.byColumns(row, i)
		} else {
			p.byRows(row, i)
		}
	}
}

// left returns the index in a of row i's first value, and the distance to the
// next.
func (p *product[F]) left(i int) (at, step int) {
	if p.aT {
		return i, p.lda
	}
	return i * p.lda, 1
}

// byRows adds rows of b, four at a time.
func (p *product[F]) byRows(row []F, i int) {
	at, step := p.left(i)
	q := 0
	for ; q+4 <= p.k; q += 4 {
		a0, a1, a2, a3 := p.a[at], p.a[at+step], p.a[at+2*step], p.a[at+3*step]
		b0, b1 := p.b[q*p.ldb:][:len(row)], p.b[(q+1)*p.ldb:][:len(row)]
		b2, b3 := p.b[(q+2)*p.ldb:][:len(row)], p.b[(q+3)*p.ldb:][:len(row)]
		for j, v := range row {
			row[j] = v + F(a0*b0[j]) + F(a1*b1[j]) + F(a2*b2[j]) + F(a3*b3[j])
		}
		at += 4 * step
	}
	for ; q < p.k; q++ {
		Axpy(row, p.a[at], p.b[q*p.ldb:][:len(row)])
		at += step
	}
}

// byColumns multiplies a row of a with rows of bᵀ, four at a time. No caller
// combines aT with bT.
func (p *product[F]) byColumns(row []F, i int) {
	a := p.a[i*p.lda:][:p.k]
	j := 0
	for ; j+4 <= len(row); j += 4 {
		b0, b1 := p.b[j*p.ldb:][:len(a)], p.b[(j+1)*p.ldb:][:len(a)]
		b2, b3 := p.b[(j+2)*p.ldb:][:len(a)], p.b[(j+3)*p.ldb:][:len(a)]
		var s0, s1, s2, s3 F
		for q, v := range a {
			s0 += F(v * b0[q])
			s1 += F(v * b1[q])
			s2 += F(v * b2[q])
			s3 += F(v * b3[q])
		}
		row[j] += s0
		row[j+1] += s1
		row[j+2] += s2
		row[j+3] += s3
	}
	for ; j < len(row); j++ {
		row[j] += Dot(a, p.b[j*p.ldb:][:p.k])
	}
}
