// Vectors, and products of a matrix and a vector.

package dense

import (
	"math"

	"atenia/internal/kernel"
)

// Dot returns the sum of a·b. Both must have the same length.
func Dot[F Float](a, b []F) F {
	if single[F]() {
		return F(dot32(singles(a), singles(b[:len(a)])))
	}
	b = b[:len(a)]
	var s0, s1, s2, s3 F
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += F(a[i] * b[i])
		s1 += F(a[i+1] * b[i+1])
		s2 += F(a[i+2] * b[i+2])
		s3 += F(a[i+3] * b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += F(a[i] * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// SumSquares returns the sum of x², in float64.
func SumSquares[F Float](x []F) float64 {
	if single[F]() {
		return kernel.SumSquares(singles(x))
	}
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		a, b, c, d := float64(x[i]), float64(x[i+1]), float64(x[i+2]), float64(x[i+3])
		s0 += float64(a * a)
		s1 += float64(b * b)
		s2 += float64(c * c)
		s3 += float64(d * d)
	}
	for ; i < len(x); i++ {
		s0 += float64(float64(x[i]) * float64(x[i]))
	}
	return (s0 + s1) + (s2 + s3)
}

// Norm returns the Euclidean length of x.
func Norm[F Float](x []F) F { return F(math.Sqrt(SumSquares(x))) }

// Add adds x to dst.
func Add[F Float](dst, x []F) {
	x = x[:len(dst)]
	if single[F]() {
		kernel.AddBias(singles(dst), singles(x))
		return
	}
	for i, v := range x {
		dst[i] += v
	}
}

// Scale multiplies dst by s.
func Scale[F Float](dst []F, s F) {
	if single[F]() {
		kernel.Scale(singles(dst), float32(s))
		return
	}
	for i := range dst {
		dst[i] *= s
	}
}

// Mul writes the elementwise product of a and b. dst may be either.
func Mul[F Float](dst, a, b []F) {
	a, b = a[:len(dst)], b[:len(dst)]
	if single[F]() {
		kernel.Mul(singles(dst), singles(a), singles(b))
		return
	}
	for i, v := range a {
		dst[i] = v * b[i]
	}
}

// AddMul adds the elementwise product of a and b to dst.
func AddMul[F Float](dst, a, b []F) {
	a, b = a[:len(dst)], b[:len(dst)]
	if single[F]() {
		addMul32(singles(dst), singles(a), singles(b))
		return
	}
	for i, v := range a {
		dst[i] += F(v * b[i])
	}
}

// Axpy adds s·x to dst.
func Axpy[F Float](dst []F, s F, x []F) {
	x = x[:len(dst)]
	if single[F]() {
		kernel.Add(singles(dst), singles(dst), singles(x), float32(s))
		return
	}
	for i, v := range x {
		dst[i] += F(s * v)
	}
}

// MatVec writes m·x; m is [len(dst), len(x)].
func MatVec[F Float](dst, m, x []F) {
	clear(dst)
	AddMatVec(dst, m, x)
}

// AddMatVec adds m·x to dst.
func AddMatVec[F Float](dst, m, x []F) {
	if single[F]() {
		matVec32(singles(dst), singles(m), singles(x))
		return
	}
	for i := range dst {
		dst[i] += Dot(x, m[i*len(x):][:len(x)])
	}
}

// MatVecT writes mᵀ·x; m is [len(x), len(dst)].
func MatVecT[F Float](dst, m, x []F) {
	clear(dst)
	AddMatVecT(dst, m, x)
}

// AddMatVecT adds mᵀ·x to dst.
func AddMatVecT[F Float](dst, m, x []F) {
	if single[F]() {
		matVecT32(singles(dst), singles(m), singles(x))
		return
	}
	for i, v := range x {
		Axpy(dst, v, m[i*len(dst):][:len(dst)])
	}
}

// AddOuter adds s·x·yᵀ to m [len(x), len(y)].
func AddOuter[F Float](m []F, s F, x, y []F) {
	if single[F]() {
		addOuter32(singles(m), float32(s), singles(x), singles(y))
		return
	}
	for i, v := range x {
		Axpy(m[i*len(y):][:len(y)], s*v, y)
	}
}

// ScaleAddOuter replaces m [len(x), len(y)] by r·m + s·x·yᵀ.
func ScaleAddOuter[F Float](m []F, r, s F, x, y []F) {
	if single[F]() {
		scaleAddOuter32(singles(m), float32(r), float32(s), singles(x), singles(y))
		return
	}
	for i, v := range x {
		row, t := m[i*len(y):][:len(y)], s*v
		for j, u := range y {
			row[j] = F(r*row[j]) + F(t*u)
		}
	}
}
