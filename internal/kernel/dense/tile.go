// Products of parts of matrices, on the caller's goroutine.

package dense

// A Tile multiplies parts of matrices, whose rows may be apart, with the memory
// of one goroutine. Values are those of the products of a [Work]: a value of dst
// depends on its row of the left operand and its column of the right one alone.
type Tile[F Float] struct{ panel panel }

// A Part is a matrix whose rows begin Stride values apart.
type Part[F Float] struct {
	V      []F
	Stride int
}

// Mul writes a·b: dst [m, n], a [m, k], b [k, n]. dst must not overlap a or b.
func (t *Tile[F]) Mul(dst, a, b Part[F], m, k, n int) { t.product(dst, a, b, m, k, n, true) }

// AddMul adds a·b to dst.
func (t *Tile[F]) AddMul(dst, a, b Part[F], m, k, n int) { t.product(dst, a, b, m, k, n, false) }

func (t *Tile[F]) product(dst, a, b Part[F], m, k, n int, fresh bool) {
	if m <= 0 || n <= 0 {
		return
	}
	p := product[F]{dst: dst.V, a: a.V, b: b.V, ldd: dst.Stride, lda: a.Stride, ldb: b.Stride, m: m, k: k, n: n, fresh: fresh}
	p.do(&t.panel, nil)
}

// AddMulT adds a·bᵀ to dst: b is [n, k].
func (t *Tile[F]) AddMulT(dst, a, b Part[F], m, k, n int) {
	t.turned(dst, a, b, m, k, n, false, true)
}

// AddTMul adds aᵀ·b to dst: a is [k, m].
func (t *Tile[F]) AddTMul(dst, a, b Part[F], m, k, n int) {
	t.turned(dst, a, b, m, k, n, true, false)
}

func (t *Tile[F]) turned(dst, a, b Part[F], m, k, n int, aT, bT bool) {
	if m <= 0 || n <= 0 {
		return
	}
	p := product[F]{dst: dst.V, a: a.V, b: b.V, ldd: dst.Stride, lda: a.Stride, ldb: b.Stride, m: m, k: k, n: n, aT: aT, bT: bT}
	p.do(&t.panel, nil)
}
