package neuron

import (
	"slices"

	"atenia/grad"
)

// Top appends the indices of the k largest values that are allowed, ascending;
// nil allows all. It allocates only to grow dst.
func Top[F grad.Float](dst []int32, u []F, k int, allowed []bool) []int32 {
	from := len(dst)
	for i := range u {
		if allowed != nil && !allowed[i] {
			continue
		}
		h := dst[from:] // a heap with the worst on top
		switch {
		case len(h) < k:
			dst = append(dst, int32(i))
			up(dst[from:], u)
		case k > 0 && worse(u, h[0], int32(i)):
			h[0] = int32(i)
			down(h, u)
		}
	}
	slices.Sort(dst[from:])
	return dst
}

// worse reports whether i is chosen after j.
func worse[F grad.Float](u []F, i, j int32) bool { return u[i] < u[j] || u[i] == u[j] && i > j }

// up moves the last entry of a heap to its place.
func up[F grad.Float](h []int32, u []F) {
	for at := len(h) - 1; at > 0; {
		above := (at - 1) / 2
		if !worse(u, h[at], h[above]) {
			return
		}
		h[at], h[above] = h[above], h[at]
		at = above
	}
}

// down moves the first entry of a heap to its place.
func down[F grad.Float](h []int32, u []F) {
	for at := 0; ; {
		next := 2*at + 1
		if next >= len(h) {
			return
		}
		if next+1 < len(h) && worse(u, h[next+1], h[next]) {
			next++
		}
		if !worse(u, h[next], h[at]) {
			return
		}
		h[at], h[next] = h[next], h[at]
		at = next
	}
}
