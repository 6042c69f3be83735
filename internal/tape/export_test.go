package tape

import "atenia/grad"

// Rules calls f with the kind and gradient of every block.
func Rules[F Float](f func(grad.Key, grad.BackwardFunc[F])) {
	for _, r := range rules[F]() {
		f(r.key, r.back)
	}
}

// ZeroGrad sets all gradients to zero.
func (p *Params[F]) ZeroGrad() {
	for _, q := range p.list {
		clear(q.Grad)
	}
}

// SetHeadMost sets how many logits have their gradient found at a time.
func (m *Model[F]) SetHeadMost(n int) { m.headMost = n }

var ErrBatch = errBatch
