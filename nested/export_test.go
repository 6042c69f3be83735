package nested

import "atenia/grad"

// AttendOn records attention of the plain form on a tape whose registry knows
// it.
func AttendOn[F Float](t *grad.Tape[F], heads, size int, rope float64, q, k, v grad.Ref) grad.Ref {
	w := window{heads: heads, window: size, group: 1, rope: rope, width: t.Shape(q)[1]}
	return attentionOp(t, new(attentionAux[F]), w, q, k, v)
}

// RegisterAttention makes a registry know attention.
func RegisterAttention[F Float](reg *grad.Registry[F]) { reg.Register(attentionKey, attentionBack[F]) }

// Values returns the flat vector of all parameters and Offset where one is.
func (m *Model[F]) Values() []F { return m.values }
func (m *Model[F]) Offset(name string) int {
	for _, s := range m.plan.slots {
		if s.name == name {
			return s.at
		}
	}
	return -1
}

// Replace makes a model's tapes go back through another function.
func (m *Model[F]) Replace(k grad.Key, f func(real grad.BackwardFunc[F]) grad.BackwardFunc[F]) {
	reals := map[grad.Key]grad.BackwardFunc[F]{attentionKey: attentionBack[F], tapsKey: tapsBack[F]}
	m.reg.Register(k, f(reals[k]))
}
