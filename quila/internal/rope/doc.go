// Package rope turns embeddings by their positions (J. Su et al., RoFormer,
// arXiv 2104.09864), along one axis for text, two for images and sound, three
// for video.
//
//	Code      how an embedding is divided among axes
//	Apply     y = R(pos)·x
//	Backward  gradients of x and of the logarithms of the bases
//
// Two axes do not share an embedding side by side but as a Kronecker product:
// with d = d₁·d₂, x is a d₁×d₂ matrix X and
//
//	Y = R₁ X R₂ᵀ       which is (R₁ ⊗ R₂) vec(X), row-major
//
// so that every component is turned by every axis. Axial is the usual
// alternative, in which each axis turns a segment of its own.
//
// The rotation of an axis with n components at position p turns the pairs
// (2k, 2k+1) by θ = p·base^(−2k/n), computed and reduced modulo 2π in float64,
// because positions reach 10⁶ and more. The base is kept as its logarithm b and
// is learned: ∂θ/∂b = −(2k/n)·θ, with the angle that is not reduced.
package rope
