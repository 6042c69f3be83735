package chunk

import "atenia/internal/kernel/dense"

// A Scan is one span of a recurrence that is given what it writes, with a state [N, P]:
// rows [0, Rows), of which those from At on are new.
type Scan[F dense.Float] struct {
	At, Rows int
	N, P     int
	Decay    []float64     // [Rows] sums of λ from the first row to each, inclusive
	X        []F           // [Rows, P]
	B        dense.Part[F] // [N, Rows]: rows of b as columns
	C        dense.Part[F] // [Rows−At, N] of the new rows
	CB       dense.Part[F] // [Rows−At, Rows] products of c and b; those with later rows are not used
	State    []F           // [N, P] before the first row
}

// Scores writes c·b for the new rows, [Rows−At, Rows], which all recurrences with
// the same c and b share. Rows of dst are as long as those of b, or longer.
func Scores[F dense.Float](w *Work[F], dst, c, b dense.Part[F], at, rows, n int) {
	w.rows(dst, c, b, rows-at, n, rows)
}

// Outputs writes the outputs of the new rows, [Rows−At, P].
func (c *Scan[F]) Outputs(w *Work[F], y dense.Part[F]) {
	m, n := c.memory(), c.Rows-c.At
	decays(w, c.Decay[:c.Rows], c.At)
	m.Read(w, y, c.C, n)
	m.Outputs(w, y, c.CB, c.At, n)
}

func (c *Scan[F]) memory() memory[F] {
	return memory[F]{K: c.N, V: c.P, S: c.State, Keys: c.B, U: c.X}
}

// Advance replaces the state by that after the last row. It follows [Scan.Outputs].
func (c *Scan[F]) Advance(w *Work[F]) {
	m := c.memory()
	m.Advance(w, c.Rows, c.Rows-c.At)
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
