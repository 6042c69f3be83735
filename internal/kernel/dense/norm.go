// Norms of rows.

package dense

import "math"

// sumRows is the number of rows that are summed for the gradient of a weight
// before these sums are added in order.
const sumRows = 64

// RMSNorm divides every row of x [rows, n] by its root mean square and
// multiplies by (weight+offset):
//
//	inv = 1/√(mean x² + eps)     y = x·inv·(weight + offset)
//
// A nil weight means ones and no offset. inv [rows], unless nil, is kept for
// RMSNormBack. dst may be x.
func (w *Work[F]) RMSNorm(dst, inv, x, weight []F, rows, n int, eps, offset F) {
	factors := factorsOf(w.take(n), weight, n, offset)
	w.eachRow(rowTask[F]{do: rmsRows, dst: dst[:rows*n], inv: inv, src: x[:rows*n], factors: factors, n: n, rows: rows, eps: eps}, grainOf(n))
}

func rmsRange[F Float](t *rowTask[F], lo, hi int) {
	for r := lo; r < hi; r++ {
		x, y := t.src[r*t.n:(r+1)*t.n], t.dst[r*t.n:(r+1)*t.n]
		inv := F(1 / math.Sqrt(SumSquares(x)/float64(t.n)+float64(t.eps)))
		if t.inv != nil {
			t.inv[r] = inv
		}
		scaled(y, x, inv)
		if t.factors != nil {
			Mul(y, y, t.factors)
		}
	}
}

// RMSNormBack adds the gradients of [Work.RMSNorm] to dx [rows, n] and to
// dweight [n]; either may be nil.
//
//	g = dy·(weight + offset)     dx += inv·(g − x·inv²·mean(g·x))
//	                             dweight += Σ_rows dy·x·inv
func (w *Work[F]) RMSNormBack(dx, dweight, x, weight, inv, dy []F, rows, n int, offset F) {
	t := rowTask[F]{do: rmsBackRows, dst: dx, src: x[:rows*n], inv: inv[:rows], dy: dy[:rows*n], n: n, rows: rows}
	w.sumBlocks(t, weight, offset, dweight, nil)
}

func rmsBackRange[F Float](t *rowTask[F], worker, lo, hi int) {
	row := t.scratch[worker*t.n:][:t.n]
	for r := lo; r < hi; r++ {
		x, dy, inv := t.src[r*t.n:(r+1)*t.n], t.dy[r*t.n:(r+1)*t.n], t.inv[r]
		if t.sums != nil {
			scaled(row, x, inv)
			AddMul(t.block(r, 0), row, dy)
		}
		if t.dst == nil {
			continue
		}
		g := dy
		if t.factors != nil {
			Mul(row, dy, t.factors)
			g = row
		}
		c := Dot(g, x) * inv * inv / F(t.n)
		dx := t.dst[r*t.n : (r+1)*t.n]
		Axpy(dx, inv, g)
		Axpy(dx, -inv*c, x)
	}
}

// factorsOf returns weight + offset, stored in the first n values of scratch,
// or weight itself if offset is zero.
func factorsOf[F Float](scratch, weight []F, n int, offset F) []F {
	if weight == nil || offset == 0 {
		return weight
	}
	scratch = scratch[:n]
	for i, v := range weight[:n] {
		scratch[i] = v + offset
	}
	return scratch
}

// factor returns the multiplier of column i.
func (t *rowTask[F]) factor(i int) F {
	if t.factors == nil {
		return 1
	}
	return t.factors[i]
}

// block returns the sums, first or second, of row r's block.
func (t *rowTask[F]) block(r, which int) []F {
	return t.sums[(2*(r/sumRows)+which)*t.n:][:t.n]
}

// LayerNorm writes (x−mean)/√(variance+eps), times weight, plus bias; either
// may be nil. mean and inv [rows], unless nil, are kept for LayerNormBack. dst
// may be x.
func (w *Work[F]) LayerNorm(dst, mean, inv, x, weight, bias []F, rows, n int, eps F) {
	w.eachRow(rowTask[F]{do: layerRows, dst: dst[:rows*n], mean: mean, inv: inv, src: x[:rows*n], factors: weight, bias: bias, n: n, rows: rows, eps: eps}, grainOf(6*n))
}

func layerRange[F Float](t *rowTask[F], lo, hi int) {
	for r := lo; r < hi; r++ {
		x, y := t.src[r*t.n:(r+1)*t.n], t.dst[r*t.n:(r+1)*t.n]
		sum, squares := float64(0), float64(0)
		for _, v := range x {
			sum += float64(v)
		}
		mean := sum / float64(t.n)
		for _, v := range x {
			d := float64(v) - mean
			squares += float64(d * d)
		}
		m, inv := F(mean), F(1/math.Sqrt(squares/float64(t.n)+float64(t.eps)))
		if t.mean != nil {
			t.mean[r], t.inv[r] = m, inv
		}
		for i, v := range x {
			y[i] = F(F((v-m)*inv) * t.factor(i))
			if t.bias != nil {
				y[i] += t.bias[i]
			}
		}
	}
}

// LayerNormBack adds the gradients of [Work.LayerNorm] to dx [rows, n],
// dweight and dbias [n]; each may be nil.
//
//	h = (x−mean)·inv   g = dy·weight   dx += inv·(g − mean(g) − h·mean(g·h))
func (w *Work[F]) LayerNormBack(dx, dweight, dbias, x, weight, mean, inv, dy []F, rows, n int) {
	t := rowTask[F]{do: layerBackRows, dst: dx, src: x[:rows*n], mean: mean[:rows], inv: inv[:rows], dy: dy[:rows*n], n: n, rows: rows}
	w.sumBlocks(t, weight, 0, dweight, dbias)
}

func layerBackRange[F Float](t *rowTask[F], lo, hi int) {
	for r := lo; r < hi; r++ {
		x, dy, m, inv := t.src[r*t.n:(r+1)*t.n], t.dy[r*t.n:(r+1)*t.n], t.mean[r], t.inv[r]
		if t.sums != nil {
			sum := t.block(r, 0)
			for i, v := range x {
				sum[i] += F(dy[i] * F((v-m)*inv))
			}
			Add(t.block(r, 1), dy)
		}
		if t.dst == nil {
			continue
		}
		dx := t.dst[r*t.n : (r+1)*t.n]
		var sum, dot F
		for i, v := range x {
			g := F(dy[i] * t.factor(i))
			sum += g
			dot += F(g * F((v-m)*inv))
		}
		sum, dot = sum/F(t.n), dot/F(t.n)
		for i, v := range x {
			dx[i] += F(inv * (F(dy[i]*t.factor(i)) - sum - F(F((v-m)*inv)*dot)))
		}
	}
}

// sumBlocks runs t over whole blocks of rows, with factors weight + offset, and
// adds the blocks' sums to first and second, in order.
func (w *Work[F]) sumBlocks(t rowTask[F], weight []F, offset F, first, second []F) {
	blocks := 0
	if first != nil || second != nil {
		blocks = (t.rows + sumRows - 1) / sumRows
	}
	memory := w.take((1 + w.Threads() + 2*blocks) * t.n)
	t.factors = factorsOf(memory, weight, t.n, offset)
	t.scratch = memory[t.n:][:w.Threads()*t.n]
	sums := memory[(1+w.Threads())*t.n:]
	if blocks > 0 {
		clear(sums)
		t.sums = sums
	}
	w.eachRow(t, max(sumRows, grainOf(2*t.n)/sumRows*sumRows))
	for i := 0; i < len(sums); i += 2 * t.n {
		if first != nil {
			Add(first[:t.n], sums[i:i+t.n])
		}
		if second != nil {
			Add(second[:t.n], sums[i+t.n:i+2*t.n])
		}
	}
}
