package chunk

import "atenia/internal/kernel/dense"

// A System is the triangular system of n tokens that follow At of a span, in the vectors
// u that a rule writes there:
//
//	u_t = C_t·p_t ,  p_t = P_t + Σ_(i < Per·t) L_ti U_i
//
// P is what the memory before the span answers to a key, less the value that it should
// be. A token has Per rows of U: its u, and others that are given.
type System[F dense.Float] struct {
	At, N, Per, V int
	L             dense.Part[F] // [N, Per·(At+N)]; of token t those below Per·t are used
	U             []F           // [Per·(At+N), V], row Per·t is written for token t
	P             []F           // [N, V], which becomes p
	C             []F           // [N], nil = −1
}

// block is the number of tokens whose system is solved one by one: what earlier blocks
// contribute to theirs is one product.
const block = 16

// Solve solves a system. Its additions do not depend on how tokens are divided into
// calls.
func (w *Work[F]) Solve(s *System[F]) {
	for i := 0; i < s.N; {
		first := (s.At + i) / block * block
		m := min(first+block-s.At-i, s.N-i)
		l := dense.Part[F]{V: s.L.V[i*s.L.Stride:], Stride: s.L.Stride}
		if first > 0 {
			w.add(dense.Part[F]{V: s.P[i*s.V:], Stride: s.V}, l, dense.Part[F]{V: s.U, Stride: s.V}, m, s.Per*first, s.V)
		}
		for r := range m {
			p, t := s.P[(i+r)*s.V:][:s.V], s.At+i+r
			if from, to := s.Per*first, s.Per*t; to > from {
				dense.AddMatVecT(p, s.U[from*s.V:to*s.V], l.V[r*l.Stride+from:r*l.Stride+to])
			}
			u, c := s.U[s.Per*t*s.V:][:s.V], F(-1)
			if s.C != nil {
				c = s.C[i+r]
			}
			copy(u, p)
			dense.Scale(u, c)
		}
		i += m
	}
}

// SolveBack is the adjoint of [Work.Solve] for a whole span, with one row a token: it
// replaces the adjoints of u in du by those of P, and writes those of C.
func (w *Work[F]) SolveBack(s *System[F], du, dc []F) {
	n, v := s.N, s.V
	var turned [block * block]F // a block of L, its columns as rows
	for first := (n - 1) / block * block; first >= 0; first -= block {
		end := min(first+block, n)
		m := end - first
		if end < n {
			l := dense.Part[F]{V: s.L.V[end*s.L.Stride+first:], Stride: s.L.Stride}
			w.Tile.AddTMul(part(du[first*v:], v), l, part(du[end*v:], v), m, n-end, v)
		}
		for t := 1; t < m; t++ {
			for i, l := range s.L.V[(first+t)*s.L.Stride+first:][:t] {
				turned[i*block+t] = l
			}
		}
		for t := m - 1; t >= 0; t-- {
			row := du[(first+t)*v:][:v]
			if t < m-1 {
				dense.AddMatVecT(row, du[(first+t+1)*v:end*v], turned[t*block+t+1:][:m-t-1])
			}
			dc[first+t] = dense.Dot(row, s.P[(first+t)*v:][:v])
			dense.Scale(row, s.C[first+t])
		}
	}
}
