// Elementwise operations on rows. A result may be the same row as an operand.

package dsp

import "unsafe"

// Scale writes g·x.
func Scale[F Float](dst, x []F, g F) {
	dst = dst[:len(x)]
	n := 0
	if single[F]() {
		n = scale32(as32(dst), as32(x), float32(g))
	}
	for i := n; i < len(x); i++ {
		dst[i] = x[i] * g
	}
}

// BindScale returns Scale(dst, x, *g) as a closure for rows that never move:
// only the gain is read anew.
func BindScale[F Float](dst, x []F, g *F) func() {
	dst = dst[:len(x)]
	if single[F]() {
		if f := bindScale32(as32(dst), as32(x), (*float32)(unsafe.Pointer(g))); f != nil {
			return f
		}
	}
	return func() { Scale(dst, x, *g) }
}

// Mul writes a·b.
func Mul[F Float](dst, a, b []F) {
	dst, b = dst[:len(a)], b[:len(a)]
	n := 0
	if single[F]() {
		n = mul32(as32(dst), as32(a), as32(b))
	}
	for i := n; i < len(a); i++ {
		dst[i] = a[i] * b[i]
	}
}

// Add writes a+b.
func Add[F Float](dst, a, b []F) {
	dst, b = dst[:len(a)], b[:len(a)]
	n := 0
	if single[F]() {
		n = add32(as32(dst), as32(a), as32(b))
	}
	for i := n; i < len(a); i++ {
		dst[i] = a[i] + b[i]
	}
}

// AddScaled adds s·x to dst.
func AddScaled[F Float](dst, x []F, s F) {
	dst = dst[:len(x)]
	n := 0
	if single[F]() {
		n = addScaled32(as32(dst), as32(x), float32(s))
	}
	for i := n; i < len(x); i++ {
		dst[i] = fma(x[i], s, dst[i])
	}
}

// AddMul adds a·b to dst.
func AddMul[F Float](dst, a, b []F) {
	dst, b = dst[:len(a)], b[:len(a)]
	n := 0
	if single[F]() {
		n = addMul32(as32(dst), as32(a), as32(b))
	}
	for i := n; i < len(a); i++ {
		dst[i] = fma(a[i], b[i], dst[i])
	}
}
