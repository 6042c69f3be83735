package nested

import (
	"atenia/grad"
)

// tapsKey names the convolution of memory keys on a tape.
const tapsKey grad.Key = "nested.taps"

// keys records the rows from which memory keys are computed, or returns 0 if
// they are those of u: a causal depthwise convolution,
//
//	keys_t = Σ_j taps_j ⊙ u_{t−j}
//
// over this chunk and the end of the preceding one. A value can thus be stored
// under the preceding token, which attention cannot do for memory.
func (r *Runner[F]) keys(layer int, u grad.Ref) grad.Ref {
	s, t := &r.model.plan.layers[layer], r.tape
	if s.taps < 0 || t.Err() != nil {
		return 0
	}
	d, tail := r.model.cfg.Width, r.ctx.tails[layer]
	rows, taps := t.Value(u), r.param(s.taps)
	keys := t.Alloc(r.tokens, d)
	before := t.Const(tail, len(tail))
	for at := range r.tokens {
		k := t.Data(keys)[at*d:][:d]
		clear(k)
		for j, c := 0, t.Value(taps); j*d < len(c); j++ {
			mulAdd(k, c[j*d:][:d], earlier(rows, tail, at-j, d))
		}
	}
	next := r.ctx.nextTails[layer]
	for i := range len(next) / d {
		copy(next[i*d:][:d], earlier(rows, tail, r.tokens-len(next)/d+i, d))
	}
	in, out := [3]grad.Ref{u, taps, before}, [1]grad.Ref{keys}
	if t.Opaque(tapsKey, in[:], out[:], nil, nil) != nil {
		return 0
	}
	return keys
}

// earlier returns row at of a chunk; rows before the chunk are at the end of
// tail.
func earlier[F Float](rows, tail []F, at, d int) []F {
	if at >= 0 {
		return rows[at*d:][:d]
	}
	return tail[len(tail)+at*d:][:d]
}

func mulAdd[F Float](dst, a, b []F) {
	for i := range dst {
		dst[i] += F(a[i] * b[i])
	}
}

// tapsBack is the adjoint of keys.
func tapsBack[F Float](b *grad.OpaqueBack[F]) {
	rows, taps, tail, dk := b.In(0), b.In(1), b.In(2), b.DOut(0)
	du, dtaps := b.DIn(0), b.DIn(1)
	d := len(taps) - len(tail) // width of a row: the tail has one row fewer
	for at := range len(rows) / d {
		for j := range len(taps) / d {
			if dtaps != nil {
				mulAdd(dtaps[j*d:][:d], dk[at*d:][:d], earlier(rows, tail, at-j, d))
			}
			if du != nil && at >= j {
				mulAdd(du[(at-j)*d:][:d], dk[at*d:][:d], taps[j*d:][:d])
			}
		}
	}
}
