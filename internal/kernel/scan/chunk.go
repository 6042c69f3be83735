package scan

import (
	"math"

	"atenia/internal/kernel/dense"
)

// A Chunk is one chunk of a recurrence with a state [N, P]: rows [0, Rows), of
// which those from At on are new.
type Chunk[F dense.Float] struct {
	At, Rows int
	N, P     int
	Decay    []float64     // [Rows] sums of λ from the first row to each, inclusive
	X        []F           // [Rows, P]
	B        dense.Part[F] // [N, Rows]: rows of b as columns
	C        dense.Part[F] // [Rows−At, N] of the new rows
	CB       dense.Part[F] // [Rows−At, Rows] products of c and b; those with later rows are not used
	State    []F           // [N, P] before the first row
}

// A Work is the scratch memory of one goroutine.
type Work[F dense.Float] struct {
	Tile    dense.Tile[F]
	weights []F // [Rows−At, whole(Rows)]
	inputs  []F // [Rows, P]
	back    backWork[F]
}

// Room makes room for chunks of at most rows rows of width p, so that later calls
// allocate nothing.
func (w *Work[F]) Room(rows, p int) {
	w.weights, w.inputs = grow(w.weights, rows*whole(rows)), grow(w.inputs, rows*p)
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

// Scores writes c·b for the new rows, [Rows−At, Rows], which all recurrences with
// the same c and b share. One row writes as many values as rows of dst and of b
// have in common.
func Scores[F dense.Float](w *Work[F], dst, c, b dense.Part[F], at, rows, n int) {
	if m := rows - at; m > 1 {
		w.Tile.Mul(dst, c, b, m, n, rows)
		return
	}
	// Products of one row and of several add in the same order.
	dense.MatVecT(dst.V[:b.Stride], b.V[:n*b.Stride], c.V[:n])
}

// triangle is the number of rows whose weights are multiplied together: those of
// rows after the last of them are zero.
const triangle = 64

// Outputs writes the outputs of the new rows, [Rows−At, P].
func (c *Chunk[F]) Outputs(w *Work[F], y dense.Part[F]) {
	m, stride := c.Rows-c.At, whole(c.Rows)
	w.Room(c.Rows, c.P)
	for r := range m {
		t := c.At + r
		row := w.weights[r*stride : (r+1)*stride]
		c.weigh(row, t)
		dense.Mul(row[:t+1], row[:t+1], c.CB.V[r*c.CB.Stride:])
	}
	if m == 1 {
		row := y.V[:c.P]
		dense.MatVecT(row, c.State, c.C.V[:c.N])
		dense.Scale(row, decayed[F](c.Decay[c.At]))
		dense.AddMatVecT(row, c.X[:c.Rows*c.P], w.weights[:c.Rows])
		return
	}
	w.Tile.Mul(y, c.C, dense.Part[F]{V: c.State, Stride: c.P}, m, c.N, c.P)
	for r := range m {
		dense.Scale(y.V[r*y.Stride:][:c.P], decayed[F](c.Decay[c.At+r]))
	}
	for r := 0; r < m; r += triangle {
		n := min(triangle, m-r)
		w.Tile.AddMul(dense.Part[F]{V: y.V[r*y.Stride:], Stride: y.Stride}, dense.Part[F]{V: w.weights[r*stride:], Stride: stride}, dense.Part[F]{V: c.X, Stride: c.P}, n, c.At+r+n, c.P)
	}
}

// weigh writes the decay from each row to row t, and zeros for later rows.
func (c *Chunk[F]) weigh(dst []F, t int) {
	last, sums := c.Decay[t], c.Decay[:t+1]
	for i, v := range sums {
		dst[i] = F(last - v)
	}
	clear(dst[t+1:])
	dense.Exp(dst[:whole(t+1)], dst[:whole(t+1)])
	clear(dst[t+1 : whole(t+1)])
}

// decayed returns e^x, as Exp of a vector does.
func decayed[F dense.Float](x float64) F {
	one := [1]F{F(x)}
	dense.Exp(one[:], one[:])
	return one[0]
}

// Advance replaces the state by that after the last row.
func (c *Chunk[F]) Advance(w *Work[F]) {
	w.Room(c.Rows, c.P)
	c.weigh(w.weights[:whole(c.Rows)], c.Rows-1)
	for i, v := range w.weights[:c.Rows] {
		row := w.inputs[i*c.P : (i+1)*c.P]
		copy(row, c.X[i*c.P:(i+1)*c.P])
		dense.Scale(row, v)
	}
	dense.Scale(c.State, decayed[F](c.Decay[c.Rows-1]))
	w.Tile.AddMul(dense.Part[F]{V: c.State, Stride: c.P}, c.B, dense.Part[F]{V: w.inputs, Stride: c.P}, c.N, c.Rows, c.P)
}

// Accumulate writes sums of λ from the first row of a chunk to rows from at on,
// given their values of λ in the same place.
func Accumulate(decay []float64, at int) {
	sum := 0.0
	if at > 0 {
		sum = decay[at-1]
	}
	for i := at; i < len(decay); i++ {
		sum += decay[i]
		decay[i] = sum
	}
}

// Softplus is ln(1+eˣ), in place.
func Softplus[F dense.Float](x []F) {
	for i, v := range x {
		x[i] = F(math.Max(float64(v), 0) + math.Log1p(math.Exp(-math.Abs(float64(v)))))
	}
}
