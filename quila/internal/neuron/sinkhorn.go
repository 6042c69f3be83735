package neuron

import (
	"math"

	"atenia/grad"
)

// A SinkhornMode is how the gradient goes through the rounds.
type SinkhornMode string

const (
	Centred SinkhornMode = "centred" // C(H ⊙ C(g)), zero where the logits are clamped
	Plain   SinkhornMode = "plain"   // g itself
	Exact   SinkhornMode = "exact"   // through all rounds
)

// Sinkhorn writes the n×n matrix of logits w to h.
func Sinkhorn[F grad.Float](h, w []F, n, rounds int, limit F) {
	for i, x := range w {
		h[i] = F(math.Exp(float64(min(max(x, -limit), limit))))
	}
	for range rounds {
		divideRows(h, n)
		divideColumns(h, n)
	}
}

// divideRows divides every row by its sum.
func divideRows[F grad.Float](h []F, n int) {
	for i := 0; i < n*n; i += n {
		var sum F
		for _, x := range h[i : i+n] {
			sum += x
		}
		for j := range n {
			h[i+j] /= sum
		}
	}
}

// divideColumns divides every column by its sum.
func divideColumns[F grad.Float](h []F, n int) {
	for j := range n {
		var sum F
		for i := j; i < n*n; i += n {
			sum += h[i]
		}
		for i := j; i < n*n; i += n {
			h[i] /= sum
		}
	}
}

// SinkhornBackward adds the gradient of the logits w to dw, given that of h, the matrix
// that Forward made of them.
func SinkhornBackward[F grad.Float](dw, dh, h, w []F, n, rounds int, limit F, mode SinkhornMode) {
	switch mode {
	case Plain:
		for i, g := range dh {
			dw[i] += g
		}
	case Exact:
		exact(dw, dh, w, n, rounds, limit)
	default:
		var small [144]F // enough for a nano, so that training allocates nothing
		x := small[:]
		if n*n > len(small) {
			x = make([]F, n*n)
		}
		x = x[:copy(x[:n*n], dh)]
		centreRows(x, n)
		for i := range x {
			x[i] *= h[i]
		}
		centreRows(x, n)
		for i, g := range x {
			if w[i] >= -limit && w[i] <= limit {
				dw[i] += g
			}
		}
	}
}

// centreRows subtracts the means of rows, and then those of columns.
func centreRows[F grad.Float](x []F, n int) {
	for i := range n {
		var sum F
		for _, v := range x[i*n : (i+1)*n] {
			sum += v
		}
		for j := range n {
			x[i*n+j] -= sum / F(n)
		}
	}
	for j := range n {
		var sum F
		for i := range n {
			sum += x[i*n+j]
		}
		for i := range n {
			x[i*n+j] -= sum / F(n)
		}
	}
}

// exact differentiates every round.
func exact[F grad.Float](dw, dh, w []F, n, rounds int, limit F) {
	size := n * n
	kept := make([]F, size*(2*rounds+1)) // the matrix before every division, and the last
	Sinkhorn(kept[:size], w, n, 0, limit)
	for r := range 2 * rounds {
		next := kept[(r+1)*size : (r+2)*size]
		copy(next, kept[r*size:(r+1)*size])
		if r%2 == 0 {
			divideRows(next, n)
		} else {
			divideColumns(next, n)
		}
	}
	g := make([]F, size)
	copy(g, dh)
	for r := 2*rounds - 1; r >= 0; r-- {
		before, after := kept[r*size:(r+1)*size], kept[(r+1)*size:(r+2)*size]
		along, across := 1, n // a row's elements are neighbours
		if r%2 == 1 {
			along, across = n, 1
		}
		for i := range n {
			var sum, dot F
			for j := range n {
				k := i*across + j*along
				sum += before[k]
				dot += g[k] * after[k]
			}
			for j := range n {
				k := i*across + j*along
				g[k] = (g[k] - dot) / sum
			}
		}
	}
	for i := range g {
		if w[i] >= -limit && w[i] <= limit {
			dw[i] += g[i] * kept[i]
		}
	}
}
