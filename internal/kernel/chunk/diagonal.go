package chunk

import "atenia/internal/kernel/dense"

// A Diagonal is a recurrence of a block of channels, each with N values of state
// that decay by themselves.
type Diagonal[F dense.Float] struct {
	N int
	A dense.Part[F] // [N, channels], not above zero
}

// Step advances the state [N, channels] by a row and writes its output y. delta
// and u are the channels' steps and inputs, b and c [N]. work has twice the
// length of a row.
func (d *Diagonal[F]) Step(state dense.Part[F], y, delta, u, b, c, work []F) {
	n := len(y)
	in, decay := work[:n], work[n:2*n]
	dense.Mul(in, delta, u)
	clear(y)
	for i := range d.N {
		s := state.V[i*state.Stride:][:n]
		dense.Mul(decay, delta, d.A.V[i*d.A.Stride:][:n])
		dense.Exp(decay, decay)
		dense.Mul(s, s, decay)
		dense.Axpy(s, b[i], in)
		dense.Axpy(y, c[i], s)
	}
}
