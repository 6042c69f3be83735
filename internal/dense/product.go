// Products of matrices in three orientations.

package dense

// chainCols products are one chain of additions of a float32 product.
const chainCols = 256

// MulT writes a·bᵀ: dst[m, n] = a[m, k]·b[n, k]ᵀ. dst must overlap neither.
func (w *Work[F]) MulT(dst, a, b []F, m, k, n int) {
	clear(dst[:m*n])
	w.AddMulT(dst, a, b, m, k, n)
}

// AddMulT adds a·bᵀ to dst.
func (w *Work[F]) AddMulT(dst, a, b []F, m, k, n int) {
	w.multiply(product[F]{dst: dst[:m*n], a: a[:m*k], b: b[:n*k], k: k, n: n, ai: k, ap: 1, bp: 1, bj: k}, m)
}

// Mul writes a·b: dst[m, n] = a[m, k]·b[k, n]. dst must overlap neither.
func (w *Work[F]) Mul(dst, a, b []F, m, k, n int) {
	clear(dst[:m*n])
	w.AddMul(dst, a, b, m, k, n)
}

// AddMul adds a·b to dst.
func (w *Work[F]) AddMul(dst, a, b []F, m, k, n int) {
	w.multiply(product[F]{dst: dst[:m*n], a: a[:m*k], b: b[:k*n], k: k, n: n, ai: k, ap: 1, bp: n, bj: 1}, m)
}

// TMul writes aᵀ·b: dst[m, n] = a[k, m]ᵀ·b[k, n]. dst must overlap neither.
func (w *Work[F]) TMul(dst, a, b []F, m, k, n int) {
	clear(dst[:m*n])
	w.AddTMul(dst, a, b, m, k, n)
}

// AddTMul adds aᵀ·b to dst.
func (w *Work[F]) AddTMul(dst, a, b []F, m, k, n int) {
	w.multiply(product[F]{dst: dst[:m*n], a: a[:k*m], b: b[:k*n], k: k, n: n, ai: 1, ap: m, bp: n, bj: 1}, m)
}

// A product adds a·b to dst[m, n], where a[i, p] lies at i·ai+p·ap and b[p, j]
// at p·bp+j·bj.
type product[F Float] struct {
	dst, a, b      []F
	k, n           int
	ai, ap, bp, bj int
}

func (w *Work[F]) multiply(p product[F], m int) {
	w.product = p
	w.each(m, grainOf(p.k*p.n), &w.product)
	w.product = product[F]{}
}

// Range computes rows [lo, hi) of dst.
func (p *product[F]) Range(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		switch row := p.dst[i*p.n : (i+1)*p.n]; {
		case single[F]():
			p.chains(row, i)
		case p.bj == 1:
			p.byRows(row, i)
		default:
			p.byColumns(row, i)
		}
	}
}

// chains says what float32 products are.
func (p *product[F]) chains(row []F, i int) {
	for j := range row {
		for c := 0; c < p.k; c += chainCols {
			sum := F(0)
			for q := c; q < min(c+chainCols, p.k); q++ {
				sum = fma(p.a[i*p.ai+q*p.ap], p.b[q*p.bp+j*p.bj], sum)
			}
			row[j] += sum
		}
	}
}

// byRows adds rows of b, four at a time.
func (p *product[F]) byRows(row []F, i int) {
	q := 0
	for ; q+4 <= p.k; q += 4 {
		at := i*p.ai + q*p.ap
		a0, a1, a2, a3 := p.a[at], p.a[at+p.ap], p.a[at+2*p.ap], p.a[at+3*p.ap]
		b0, b1 := p.b[q*p.n:][:len(row)], p.b[(q+1)*p.n:][:len(row)]
		b2, b3 := p.b[(q+2)*p.n:][:len(row)], p.b[(q+3)*p.n:][:len(row)]
		for j, v := range row {
			row[j] = v + F(a0*b0[j]) + F(a1*b1[j]) + F(a2*b2[j]) + F(a3*b3[j])
		}
	}
	for ; q < p.k; q++ {
		Axpy(row, p.a[i*p.ai+q*p.ap], p.b[q*p.n:][:len(row)])
	}
}

// byColumns multiplies a row of a with rows of bᵀ, four at a time.
func (p *product[F]) byColumns(row []F, i int) {
	a := p.a[i*p.k:][:p.k]
	j := 0
	for ; j+4 <= len(row); j += 4 {
		b0, b1 := p.b[j*p.k:][:len(a)], p.b[(j+1)*p.k:][:len(a)]
		b2, b3 := p.b[(j+2)*p.k:][:len(a)], p.b[(j+3)*p.k:][:len(a)]
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
		row[j] += Dot(a, p.b[j*p.k:][:p.k])
	}
}
