// Cross-entropy over a vocabulary, and embedding rows.

package dense

import "math"

// CrossEntropy returns the sum over rows of −ln softmax(logits)[target] and the
// number of rows with a target; a negative target means none. lse [rows]
// receives the logarithms of the sums of e^logit, for CrossEntropyBack.
func (w *Work[F]) CrossEntropy(lse, logits []F, targets []int32, rows, n int) (sum float64, count int) {
	w.eachRow(rowTask[F]{do: entropyRows, dst: lse[:rows], src: logits[:rows*n], targets: targets[:rows], n: n, rows: rows}, grainOf(8*n))
	for r, t := range targets[:rows] {
		if t >= 0 {
			sum += float64(lse[r]) - float64(logits[r*n+int(t)])
			count++
		}
	}
	return sum, count
}

func entropyRange[F Float](t *rowTask[F], lo, hi int) {
	for r := lo; r < hi; r++ {
		if t.targets[r] >= 0 {
			t.dst[r] = LogSumExp(t.src[r*t.n : (r+1)*t.n])
		}
	}
}

// LogSumExp returns ln Σ e^x.
func LogSumExp[F Float](x []F) F {
	top := greatest(x)
	return F(float64(top) + math.Log(sumExps(x, top)))
}

// CrossEntropyBack adds scale times the gradient of [Work.CrossEntropy]'s sum
// to dlogits: scale·(softmax − one at the target), nothing for rows without
// one.
func (w *Work[F]) CrossEntropyBack(dlogits, logits, lse []F, targets []int32, rows, n int, scale F) {
	w.eachRow(rowTask[F]{do: entropyBackRows, dst: dlogits[:rows*n], src: logits[:rows*n], inv: lse[:rows], targets: targets[:rows], n: n, rows: rows, offset: scale}, grainOf(8*n))
}

func entropyBackRange[F Float](t *rowTask[F], lo, hi int) {
	for r := lo; r < hi; r++ {
		if t.targets[r] < 0 {
			continue
		}
		d := t.dst[r*t.n : (r+1)*t.n]
		addExps(d, t.src[r*t.n:(r+1)*t.n], t.inv[r], t.offset)
		d[t.targets[r]] -= t.offset
	}
}

// columnTask adds rows of d to rows ids of a table, columns [lo, hi).
type columnTask[F Float] struct {
	table, d []F
	ids      []int32
	n        int
}

// Range adds columns [lo, hi).
func (t *columnTask[F]) Range(_, lo, hi int) {
	for r, id := range t.ids {
		Add(t.table[int(id)*t.n+lo:int(id)*t.n+hi], t.d[r*t.n+lo:r*t.n+hi])
	}
}

// Gather copies rows ids of table [·, n] to dst [len(ids), n].
func (w *Work[F]) Gather(dst, table []F, ids []int32, n int) {
	for r, id := range ids {
		copy(dst[r*n:(r+1)*n], table[int(id)*n:])
	}
}

// ScatterAdd adds rows of d [len(ids), n] to rows ids of dtable, in order.
func (w *Work[F]) ScatterAdd(dtable, d []F, ids []int32, n int) {
	w.columns = columnTask[F]{table: dtable, d: d[:len(ids)*n], ids: ids, n: n}
	w.each(n, max(64, grainOf(len(ids))), &w.columns)
	w.columns = columnTask[F]{}
}
