package rule

import "math"

// featureDim is the width of phi(x) for x of width d.
func featureDim(d int, kind string) int {
	if kind == Poly2 {
		return d + d*(d+1)/2
	}
	return d
}

// feature writes phi(x): x itself, or if phi is longer
//
//	[x_i ; sqrt(1/2) x_i^2 ; x_i x_j (i < j)]
//
// in which phi(x).phi(y) = x.y + (x.y)^2 / 2 (Atlas, arXiv 2505.23735: features
// of a polynomial kernel with coefficients 1/i!).
func feature[F Float](phi, x []F) {
	copy(phi, x)
	if len(phi) == len(x) {
		return
	}
	p := len(x)
	for i, a := range x {
		phi[p] = F(math.Sqrt2/2) * a * a
		p++
		for _, b := range x[i+1:] {
			phi[p] = a * b
			p++
		}
	}
}

// featureBack writes the adjoint of x, given that of phi(x).
func featureBack[F Float](dx, x, dphi []F) {
	copy(dx, dphi)
	if len(dphi) == len(x) {
		return
	}
	p := len(x)
	for i, a := range x {
		dx[i] += F(math.Sqrt2) * dphi[p] * a
		p++
		for j, b := range x[i+1:] {
			dx[i] += dphi[p] * b
			dx[i+1+j] += dphi[p] * a
			p++
		}
	}
}
