package chunk

import "atenia/internal/kernel/dense"

// chain is the length of the chains of additions in products of package dense.
const chain = 256

// A memory is the state of one head: the matrix at the beginning of a span, and the
// keys of the span so far with what was written under them.
type memory[F dense.Float] struct {
	K, V int
	S    []F           // [K, V]
	Keys dense.Part[F] // [K, rows]: a column each
	U    []F           // [rows, V]
}

// A Work is the scratch memory of one goroutine. Its zero value works.
type Work[F dense.Float] struct {
	Tile   dense.Tile[F]
	stride int // of rows of decays
	decay  []F // [new, stride]
	grown  []F // [new]
	mix    []F // [new, rows] weights of vectors u
	scaled []F // [rows, V]
	back   backWork[F]
}

// Room makes room for spans of at most rows rows of width v, so that later calls
// allocate nothing.
func (w *Work[F]) Room(rows, v int) {
	n := whole(rows)
	w.decay, w.mix = grow(w.decay, rows*n), grow(w.mix, rows*n)
	w.grown, w.scaled = grow(w.grown, n), grow(w.scaled, rows*v)
}

// whole rounds a number of values up to whole vectors: exponentials of a part of one
// would take as long as some of a whole one.
func whole(n int) int { return (n + 15) &^ 15 }

func grow[F dense.Float](s []F, n int) []F {
	if len(s) >= n {
		return s
	}
	return make([]F, n)
}

// rows writes a·b, [m, k]·[k, n], with the additions of a product of many rows. A row
// of dst has room for a whole row of b; values past n are not used.
func (w *Work[F]) rows(dst, a, b dense.Part[F], m, k, n int) {
	if m > 2 {
		w.Tile.Mul(dst, a, b, m, k, n)
		return
	}
	for i := range m {
		row := dst.V[i*dst.Stride:][:b.Stride]
		clear(row)
		for c := 0; c < k; c += chain {
			d := min(chain, k-c)
			dense.AddMatVecT(row, b.V[c*b.Stride:(c+d)*b.Stride], a.V[i*a.Stride+c:][:d])
		}
	}
}

// add adds a·b to dst, like [Work.rows]; k is at most one chain, and b has no other
// columns than n.
func (w *Work[F]) add(dst, a, b dense.Part[F], m, k, n int) {
	if m > 2 {
		w.Tile.AddMul(dst, a, b, m, k, n)
		return
	}
	for i := range m {
		dense.AddMatVecT(dst.V[i*dst.Stride:][:n], b.V[:k*n], a.V[i*a.Stride:][:k])
	}
}

// decays computes what is left at each row t from at on of what was written at rows up
// to t, e^(L_t−L_i), and of the memory before the span, e^L_t, given the sums L.
// [memory.Outputs] and [memory.Advance] use it.
func decays[F, S dense.Float](w *Work[F], sums []S, at int) {
	n := len(sums) - at
	w.stride = whole(len(sums))
	w.decay, w.grown = grow(w.decay, n*w.stride), grow(w.grown, whole(n))
	for r := range n {
		row, last := w.decay[r*w.stride:][:w.stride], sums[at+r]
		for i, v := range sums[:at+r+1] {
			row[i] = F(last - v)
		}
		clear(row[at+r+1:])
		dense.Exp(row[:whole(at+r+1)], row[:whole(at+r+1)])
		clear(row[at+r+1:])
		w.grown[r] = F(last)
	}
	grown := w.grown[:whole(n)]
	clear(grown[n:])
	dense.Exp(grown, grown)
}

// weigh writes the scores of n rows that follow at, times their decays, and zeros for
// later rows.
func (w *Work[F]) weigh(scores dense.Part[F], at, n int) dense.Part[F] {
	w.mix = grow(w.mix, n*w.stride)
	for r := range n {
		row := w.mix[r*w.stride:][:w.stride]
		dense.Mul(row[:at+r+1], w.decay[r*w.stride:][:at+r+1], scores.V[r*scores.Stride:])
		clear(row[at+r+1:])
	}
	return dense.Part[F]{V: w.mix, Stride: w.stride}
}

// Read writes what the memory before the span answers to n rows x, without decay.
func (m *memory[F]) Read(w *Work[F], dst, x dense.Part[F], n int) {
	w.rows(dst, x, dense.Part[F]{V: m.S, Stride: m.V}, n, m.K, m.V)
}

// Outputs turns the answers of the memory before the span to n queries that follow at
// into those of the memory at their tokens. scores are the products of queries and keys.
func (m *memory[F]) Outputs(w *Work[F], y, scores dense.Part[F], at, n int) {
	weights := w.weigh(scores, at, n)
	for r := range n {
		dense.Scale(y.V[r*y.Stride:][:m.V], w.grown[r])
	}
	m.mix(w, y, weights, at, n, 1)
}

// triangle is the number of rows whose weights are multiplied together: those of
// rows after the last of them are zero.
const triangle = 36

// mix adds what was written under the keys up to each of n tokens that follow at, each
// of which has per keys.
func (m *memory[F]) mix(w *Work[F], y, weights dense.Part[F], at, n, per int) {
	for r := 0; r < n; r += triangle {
		k := min(triangle, n-r)
		w.add(dense.Part[F]{V: y.V[r*y.Stride:], Stride: y.Stride}, dense.Part[F]{V: weights.V[r*weights.Stride:], Stride: weights.Stride},
			dense.Part[F]{V: m.U, Stride: m.V}, k, per*(at+r+k), m.V)
	}
}

// Advance replaces S by that after the last of the rows of a span, with whose new rows,
// n, the last [decays] were.
func (m *memory[F]) Advance(w *Work[F], rows, n int) {
	w.scaled = grow(w.scaled, rows*m.V)
	ScaleRows(w.scaled, m.U[:rows*m.V], w.decay[(n-1)*w.stride:][:rows])
	dense.Scale(m.S, w.grown[n-1])
	m.write(w, w.scaled, rows)
}

// write adds vectors under keys to S.
func (m *memory[F]) write(w *Work[F], u []F, rows int) {
	s := dense.Part[F]{V: m.S, Stride: m.V}
	w.Tile.AddMul(s, m.Keys, dense.Part[F]{V: u, Stride: m.V}, m.K, rows, m.V)
}

// ScaleRows writes the rows of x, each times its factor. dst may be x.
func ScaleRows[F dense.Float](dst, x, by []F) {
	if len(by) == 0 {
		return
	}
	v := len(x) / len(by)
	for i, s := range by {
		row := dst[i*v:][:v]
		copy(row, x[i*v:])
		dense.Scale(row, s)
	}
}
