package chunk

import (
	"math"

	"atenia/internal/kernel/dense"
)

// A ScanBack is the adjoint of a whole span, whose At is 0 and whose State is that
// before it.
type ScanBack[F dense.Float] struct {
	Y      dense.Part[F] // [Rows, P] of the outputs
	State  []F           // [N, P] of the state after the span, replaced by that of the state before
	Ends   bool          // something reads the state after the span
	X      []F           // [Rows, P], written
	B, C   dense.Part[F] // [N, Rows] and [Rows, N], added to: what does not go through CB
	CB     []F           // [Rows, Rows], added to
	Lambda []float64     // [Rows] of λ, written
}

// backWork is the memory of an adjoint.
type backWork[F dense.Float] struct {
	decay, mixed, dmixed []F // [Rows, Rows]
	scaled, read         []F // [Rows, P]
}

// Back computes the adjoint of [Scan.Outputs] and, if g.Ends, of [Scan.Advance].
func (c *Scan[F]) Back(w *Work[F], g *ScanBack[F]) {
	n, b, t := c.Rows, &w.back, &w.Tile
	for _, m := range []*[]F{&b.decay, &b.mixed, &b.dmixed} {
		*m = grow(*m, n*n)
	}
	b.scaled, b.read = grow(b.scaled, n*c.P), grow(b.read, n*c.P)
	rows := func(v []F) dense.Part[F] { return dense.Part[F]{V: v, Stride: c.P} }
	square := func(v []F) dense.Part[F] { return dense.Part[F]{V: v, Stride: n} }
	state, dstate := rows(c.State), rows(g.State)
	clear(g.Lambda)
	clear(g.X[:n*c.P])
	if g.Ends {
		c.advanceBack(w, g)
	} else {
		clear(g.State)
	}
	// y = e^L (C S) + (CB ⊙ E) X
	clear(b.dmixed[:n*n])
	t.AddMulT(square(b.dmixed), g.Y, rows(c.X), n, c.P, n)
	for r := range n {
		e, mixed, d := b.decay[r*n:(r+1)*n], b.mixed[r*n:(r+1)*n], b.dmixed[r*n:(r+1)*n]
		c.between(e, r)
		for i := range e[:r+1] {
			mixed[i] = e[i] * c.CB.V[r*c.CB.Stride+i]
			v := float64(d[i]) * float64(mixed[i])
			g.Lambda[r] += v
			g.Lambda[i] -= v
			g.CB[r*n+i] += d[i] * e[i]
		}
		clear(mixed[r+1:])
	}
	t.AddTMul(rows(g.X), square(b.mixed), g.Y, n, n, c.P)
	read := b.read[:n*c.P]
	t.Mul(rows(read), c.C, state, n, c.N, c.P)
	for r := range n {
		at, e := b.scaled[r*c.P:(r+1)*c.P], F(math.Exp(c.Decay[r]))
		copy(at, g.Y.V[r*g.Y.Stride:])
		dense.Scale(at, e)
		g.Lambda[r] += float64(dense.Dot(at, read[r*c.P:(r+1)*c.P]))
	}
	t.AddMulT(g.C, rows(b.scaled), state, n, c.P, c.N)
	t.AddTMul(dstate, c.C, rows(b.scaled), c.N, n, c.P)
	// L_t is the sum of λ up to t.
	sum := 0.0
	for r := n - 1; r >= 0; r-- {
		sum += g.Lambda[r]
		g.Lambda[r] = sum
	}
}

// between writes the decay from each row to row r.
func (c *Scan[F]) between(dst []F, r int) {
	for i := range r + 1 {
		dst[i] = F(c.Decay[r] - c.Decay[i])
	}
	dense.Exp(dst[:r+1], dst[:r+1])
}

// advanceBack is the adjoint of S' = e^L_n·S + B·(w ⊙ X). It leaves that of e^L_n·S in
// g.State.
func (c *Scan[F]) advanceBack(w *Work[F], g *ScanBack[F]) {
	n, b, t := c.Rows, &w.back, &w.Tile
	rows := func(v []F) dense.Part[F] { return dense.Part[F]{V: v, Stride: c.P} }
	last, all := F(math.Exp(c.Decay[n-1])), 0.0
	dread := b.read[:n*c.P] // adjoint of w ⊙ X
	clear(dread)
	t.AddTMul(rows(dread), c.B, rows(g.State), n, c.N, c.P)
	weight := b.decay[:n]
	c.between(weight, n-1)
	for i, v := range weight {
		d, x := dread[i*c.P:(i+1)*c.P], c.X[i*c.P:(i+1)*c.P]
		at := b.scaled[i*c.P : (i+1)*c.P]
		copy(at, x)
		dense.Scale(at, v)
		part := float64(dense.Dot(d, at))
		g.Lambda[i] -= part
		all += part
		dense.Axpy(g.X[i*c.P:(i+1)*c.P], v, d)
	}
	t.AddMulT(g.B, rows(g.State), rows(b.scaled), c.N, c.P, n)
	dense.Scale(g.State, last)
	g.Lambda[n-1] += all + float64(dense.Dot(g.State, c.State))
}

// ScoresBack is the adjoint of the products of all rows of c and b, given that of
// CB, [rows, rows]: it adds to those of c and b.
func ScoresBack[F dense.Float](w *Work[F], dcb []F, dc, db, c, b dense.Part[F], rows, n int) {
	d := dense.Part[F]{V: dcb, Stride: rows}
	w.Tile.AddMulT(dc, d, b, rows, rows, n)
	w.Tile.AddTMul(db, c, d, n, rows, rows)
}
