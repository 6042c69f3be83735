package stores

import (
	"math"

	"atenia/grad"
)

// epsilon of the RMS norm.
const epsilon = 1e-6

// Gate makes keys W_k e and values g·W_v e of rows e [n, D], with
// g = σ(rms(state)·rms(W_k e) ÷ √D). Matrices are [D, D] and act on columns. The
// gates are written to g [n].
func Gate[F grad.Float](k, v, g, rows, state, wk, wv []F) {
	d := len(state)
	ns := rms(state)
	for i := range g {
		e, ki, vi := rows[i*d:(i+1)*d], k[i*d:(i+1)*d], v[i*d:(i+1)*d]
		product(ki, wk, e)
		product(vi, wv, e)
		g[i] = sigmoid(ns * rms(ki) * dot(state, ki) / F(math.Sqrt(float64(d))))
		for j := range vi {
			vi[j] *= g[i]
		}
	}
}

// product is y = w x for a matrix of rows.
func product[F grad.Float](y, w, x []F) {
	for i := range y {
		y[i] = dot(w[i*len(x):(i+1)*len(x)], x)
	}
}

// rms is 1 ÷ √(mean x² + ε).
func rms[F grad.Float](x []F) F { return F(1 / math.Sqrt(float64(dot(x, x)/F(len(x)))+epsilon)) }

func sigmoid[F grad.Float](x F) F { return F(1 / (1 + math.Exp(-float64(x)))) }

func dot[F grad.Float](a, b []F) (s F) {
	for i, x := range a {
		s += x * b[i]
	}
	return s
}
