// Functions of one value and their derivatives.

package dense

import (
	"math"

	"atenia/internal/kernel"
)

// An Activation is a function of one value.
type Activation uint8

// The activations. GELUErf is x·Φ(x), GELUTanh its usual approximation, ReLU2
// the square of ReLU, Softplus ln(1+eˣ).
const (
	Identity Activation = iota
	Sigmoid
	Tanh
	SiLU
	GELUTanh
	GELUErf
	ReLU
	ReLU2
	Softplus
)

// pieceLen is the number of values processed at a time, which fit the L1 cache.
const pieceLen = 512

// Activate writes the activation of every value of x to dst, which may be x.
func Activate[F Float](a Activation, dst, x []F) {
	dst = dst[:len(x)]
	if single[F]() && a != Softplus {
		activate32(a, singles(dst), singles(x))
		return
	}
	for i, v := range x {
		dst[i] = F(valueOf(a, float64(v)))
	}
}

// ActivateBack adds to dx the derivative at x times dy.
func ActivateBack[F Float](a Activation, dx, x, dy []F) {
	var piece [pieceLen]F
	dx, dy = dx[:len(x)], dy[:len(x)]
	for i := 0; i < len(x); i += pieceLen {
		n := min(pieceLen, len(x)-i)
		derivatives(a, piece[:n], x[i:i+n])
		AddMul(dx[i:i+n], piece[:n], dy[i:i+n])
	}
}

// activateMul writes activation(gate)·up. dst may be either operand.
func activateMul[F Float](a Activation, dst, gate, up []F) {
	var piece [pieceLen]F
	gate, up = gate[:len(dst)], up[:len(dst)]
	for i := 0; i < len(dst); i += pieceLen {
		n := min(pieceLen, len(dst)-i)
		Activate(a, piece[:n], gate[i:i+n])
		Mul(dst[i:i+n], piece[:n], up[i:i+n])
	}
}

// activateMulBack adds to dgate and dup the gradients of [activateMul].
func activateMulBack[F Float](a Activation, dgate, dup, gate, up, dy []F) {
	var piece [pieceLen]F
	first := 0
	if single[F]() && a == SiLU {
		first = siluMulBack32(singles(dgate), singles(dup), singles(gate), singles(up), singles(dy))
	}
	for i := first; i < len(dy); i += pieceLen {
		n := min(pieceLen, len(dy)-i)
		part, d := piece[:n], dy[i:i+n]
		Activate(a, part, gate[i:i+n])
		AddMul(dup[i:i+n], part, d)
		derivatives(a, part, gate[i:i+n])
		Mul(part, part, up[i:i+n])
		AddMul(dgate[i:i+n], part, d)
	}
}

// Softcap writes cap·tanh(x/cap). dst may be x.
func Softcap[F Float](dst, x []F, cap F) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = v / cap
	}
	Activate(Tanh, dst, dst)
	Scale(dst, cap)
}

// SoftcapBack adds to dx the gradient of [Softcap], whose result is y.
func SoftcapBack[F Float](dx, y, dy []F, cap F) {
	y, dy = y[:len(dx)], dy[:len(dx)]
	for i, v := range y {
		t := v / cap
		dx[i] += F((1 - F(t*t)) * dy[i])
	}
}

func activate32(a Activation, dst, x []float32) {
	switch a {
	case Identity:
		copy(dst, x)
	case Sigmoid:
		kernel.Sigmoid(dst, x)
	case Tanh:
		kernel.Tanh(dst, x)
	case SiLU:
		kernel.SiLU(dst, x)
	case GELUTanh:
		kernel.GELUTanh(dst, x)
	case GELUErf:
		kernel.GELUErf(dst, x)
	case ReLU:
		kernel.ReLU(dst, x)
	case ReLU2:
		kernel.ReLU2(dst, x)
	}
}

const (
	geluScale = 0.79788456080286535588 // √(2/π)
	geluCubic = 0.044715
	invSqrt2  = 0.70710678118654752440
	invSqrt2π = 0.39894228040143267794
)

func valueOf(a Activation, x float64) float64 {
	switch a {
	case Sigmoid:
		return sigmoid(x)
	case Tanh:
		return math.Tanh(x)
	case SiLU:
		return x * sigmoid(x)
	case GELUTanh:
		return 0.5 * x * (1 + math.Tanh(geluScale*(x+geluCubic*x*x*x)))
	case GELUErf:
		return 0.5 * x * (1 + math.Erf(x*invSqrt2))
	case ReLU:
		return max(x, 0)
	case ReLU2:
		return max(x, 0) * max(x, 0)
	case Softplus:
		return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
	}
	return x
}

// sigmoid avoids overflow.
func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

// derivatives writes the derivative at every value of x.
func derivatives[F Float](a Activation, dst, x []F) {
	if single[F]() && slopes(a, singles(dst), singles(x)) {
		return
	}
	for i, v := range x {
		dst[i] = F(derivativeOf(a, float64(v)))
	}
}

// slopes handles those that follow from a sigmoid or a hyperbolic tangent.
func slopes(a Activation, dst, x []float32) bool {
	if a == Softplus {
		kernel.Sigmoid(dst, x)
		return true
	}
	return slopes32(a, dst, x)
}

func derivativeOf(a Activation, x float64) float64 {
	switch a {
	case Sigmoid:
		s := sigmoid(x)
		return s * (1 - s)
	case Tanh:
		t := math.Tanh(x)
		return 1 - t*t
	case SiLU:
		s := sigmoid(x)
		return s * (1 + x*(1-s))
	case GELUTanh:
		t := math.Tanh(geluScale * (x + geluCubic*x*x*x))
		return 0.5*(1+t) + 0.5*x*(1-t*t)*geluScale*(1+3*geluCubic*x*x)
	case GELUErf:
		return 0.5*(1+math.Erf(x*invSqrt2)) + x*invSqrt2π*math.Exp(-0.5*x*x)
	case ReLU:
		if x <= 0 {
			return 0
		}
	case ReLU2:
		return 2 * max(x, 0)
	case Softplus:
		return sigmoid(x)
	}
	return 1
}
