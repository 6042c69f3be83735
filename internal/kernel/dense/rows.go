// Row-wise functions of a batch: softmax, norms and rotary positions.

package dense

import "atenia/internal/kernel"

// A rowTask is a row-wise operation on rows [lo, hi), including those whose
// results are summed over blocks of rows.
type rowTask[F Float] struct {
	do rowStep

	dst, src, dy     []F
	factors, bias    []F
	scratch          []F // [threads, n]
	mean, inv        []F
	n, rows          int
	eps, offset      F
	cos, sin         []F
	pos              []int32
	targets          []int32
	heads, dim, half int
	interleaved      bool
	act              Activation
	other, dother    []F
	sums             []F // [blocks, 2, n]
}

// A rowStep names the operation. It is a number, since a generic function value
// would be allocated on every call.
type rowStep uint8

const (
	entropyRows rowStep = iota
	entropyBackRows
	rmsRows
	rmsBackRows
	layerRows
	layerBackRows
	ropeRows
	ropeBackRows
	activateRows
	activateBackRows
	activateMulRows
	activateMulBackRows
	softmaxRows
	softmaxBackRows
	sumElements
)

// Range processes rows [lo, hi).
func (t *rowTask[F]) Range(worker, lo, hi int) {
	switch t.do {
	case entropyRows:
		entropyRange(t, lo, hi)
	case entropyBackRows:
		entropyBackRange(t, lo, hi)
	case rmsRows:
		rmsRange(t, lo, hi)
	case rmsBackRows:
		rmsBackRange(t, worker, lo, hi)
	case layerRows:
		layerRange(t, lo, hi)
	case layerBackRows:
		layerBackRange(t, lo, hi)
	case ropeRows:
		ropeRange(t, lo, hi)
	case ropeBackRows:
		ropeBackRange(t, lo, hi)
	case activateRows:
		activateRange(t, lo, hi)
	case activateBackRows:
		activateBackRange(t, lo, hi)
	case activateMulRows:
		activateMulRange(t, lo, hi)
	case activateMulBackRows:
		activateMulBackRange(t, lo, hi)
	case softmaxRows:
		softmaxRange(t, lo, hi)
	case softmaxBackRows:
		softmaxBackRange(t, lo, hi)
	case sumElements:
		sumRange(t, lo, hi)
	}
}

// eachRow runs a task over rows.
func (w *Work[F]) eachRow(t rowTask[F], grain int) {
	w.rows = t
	w.each(t.rows, grain, &w.rows)
	w.rows = rowTask[F]{}
}

// Activate is [Activate] on all threads.
func (w *Work[F]) Activate(a Activation, dst, x []F) {
	w.eachRow(rowTask[F]{do: activateRows, act: a, dst: dst[:len(x)], src: x, rows: len(x)}, 8192)
}

func activateRange[F Float](t *rowTask[F], lo, hi int) {
	Activate(t.act, t.dst[lo:hi], t.src[lo:hi])
}

// ActivateBack is [ActivateBack] on all threads.
func (w *Work[F]) ActivateBack(a Activation, dx, x, dy []F) {
	w.eachRow(rowTask[F]{do: activateBackRows, act: a, dst: dx[:len(x)], src: x, dy: dy[:len(x)], rows: len(x)}, 8192)
}

func activateBackRange[F Float](t *rowTask[F], lo, hi int) {
	ActivateBack(t.act, t.dst[lo:hi], t.src[lo:hi], t.dy[lo:hi])
}

// ActivateMul is [activateMul] on all threads.
func (w *Work[F]) ActivateMul(a Activation, dst, gate, up []F) {
	n := len(dst)
	w.eachRow(rowTask[F]{do: activateMulRows, act: a, dst: dst, src: gate[:n], other: up[:n], rows: n}, 8192)
}

func activateMulRange[F Float](t *rowTask[F], lo, hi int) {
	activateMul(t.act, t.dst[lo:hi], t.src[lo:hi], t.other[lo:hi])
}

// ActivateMulBack is [activateMulBack] on all threads.
func (w *Work[F]) ActivateMulBack(a Activation, dgate, dup, gate, up, dy []F) {
	n := len(dy)
	w.eachRow(rowTask[F]{do: activateMulBackRows, act: a, dst: dgate[:n], dother: dup[:n], src: gate[:n], other: up[:n], dy: dy, rows: n}, 8192)
}

func activateMulBackRange[F Float](t *rowTask[F], lo, hi int) {
	activateMulBack(t.act, t.dst[lo:hi], t.dother[lo:hi], t.src[lo:hi], t.other[lo:hi], t.dy[lo:hi])
}

// Sum writes a + scale·b on all threads, with separate rounding of the product
// and the sum. dst may be a or b.
func (w *Work[F]) Sum(dst, a, b []F, scale F) {
	n := len(dst)
	w.eachRow(rowTask[F]{do: sumElements, dst: dst, src: a[:n], other: b[:n], offset: scale, rows: n}, 8192)
}

func sumRange[F Float](t *rowTask[F], lo, hi int) {
	dst, a, b := t.dst[lo:hi], t.src[lo:hi], t.other[lo:hi]
	if single[F]() {
		kernel.Add(singles(dst), singles(a), singles(b), float32(t.offset))
		return
	}
	for i, v := range a {
		dst[i] = v + F(t.offset*b[i])
	}
}

// SoftmaxRows writes e^(x−max)/Σ of every row of x [rows, n]. dst may be x.
func (w *Work[F]) SoftmaxRows(dst, x []F, rows, n int) {
	w.eachRow(rowTask[F]{do: softmaxRows, dst: dst[:rows*n], src: x[:rows*n], n: n, rows: rows}, grainOf(8*n))
}

func softmaxRange[F Float](t *rowTask[F], lo, hi int) {
	for r := lo; r < hi; r++ {
		Softmax(t.dst[r*t.n:(r+1)*t.n], t.src[r*t.n:(r+1)*t.n])
	}
}

// SoftmaxRowsBack adds to dx the gradient of [Work.SoftmaxRows], whose result
// is y: dx += y·(dy − Σ y·dy).
func (w *Work[F]) SoftmaxRowsBack(dx, y, dy []F, rows, n int) {
	w.eachRow(rowTask[F]{do: softmaxBackRows, dst: dx[:rows*n], src: y[:rows*n], dy: dy[:rows*n], n: n, rows: rows}, grainOf(4*n))
}

func softmaxBackRange[F Float](t *rowTask[F], lo, hi int) {
	for r := lo; r < hi; r++ {
		softmaxBack(t.dst[r*t.n:(r+1)*t.n], t.src[r*t.n:(r+1)*t.n], t.dy[r*t.n:(r+1)*t.n])
	}
}

// Softmax writes e^(x−max)/Σ. dst may be x.
func Softmax[F Float](dst, x []F) {
	top := greatest(x)
	sum := sumExps(x, top)
	dst = dst[:len(x)]
	copy(dst, x)
	exps(dst, top)
	Scale(dst, F(1/sum))
}

// softmaxBack adds to dx the gradient of [Softmax], whose result is y.
func softmaxBack[F Float](dx, y, dy []F) {
	y, dy = y[:len(dx)], dy[:len(dx)]
	s := Dot(y, dy)
	if single[F]() {
		addWeighed32(singles(dx), singles(y), singles(dy), float32(s))
		return
	}
	for i, v := range y {
		dx[i] += F(v * (dy[i] - s))
	}
}
