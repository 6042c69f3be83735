package record

import "atenia/grad"

// Rules calls f with the kind and gradient of every block.
func Rules[F Float](f func(grad.Key, grad.BackwardFunc[F])) {
	for _, r := range rules[F]() {
		f(r.key, r.back)
	}
}
