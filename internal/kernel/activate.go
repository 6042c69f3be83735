package kernel

import (
	"math"
)

// The functions below write f of every value of src to dst, which may be src.
// They evaluate float32 polynomials in a fixed order, with fused multiply-adds
// in the exponential only, so that assembly and Go agree bit for bit. Errors are
// in units in the last place of float32, over all arguments whose result is
// normal.

// Exp is within 1 ulp.
func Exp(dst, src []float32) { apply(opExp, dst, src) }

// Sigmoid is 1/(1+e⁻ˣ), within 3 ulp.
func Sigmoid(dst, src []float32) { apply(opSigmoid, dst, src) }

// Tanh is within 8 ulp.
func Tanh(dst, src []float32) { apply(opTanh, dst, src) }

// SiLU is x·Sigmoid(x), within 3 ulp, or 0 for magnitudes below 2⁻¹²⁰.
func SiLU(dst, src []float32) { apply(opSiLU, dst, src) }

// GELUTanh is ½x(1+tanh(√(2/π)(x+0.044715x³))), within 3·10⁻⁷·|x|.
func GELUTanh(dst, src []float32) { apply(opGELUTanh, dst, src) }

// GELUErf is ½x(1+erf(x/√2)), within 3·10⁻⁷·|x|.
func GELUErf(dst, src []float32) { apply(opGELUErf, dst, src) }

// QuickGELU is x·Sigmoid(1.702x).
func QuickGELU(dst, src []float32) {
	var piece [512]float32
	dst = dst[:len(src)]
	for i := 0; i < len(src); i += len(piece) {
		n := copy(piece[:], src[i:])
		scaleBy(piece[:n], 1.702)
		apply(opSigmoid, piece[:n], piece[:n])
		mul(dst[i:i+n], src[i:i+n], piece[:n])
	}
}

// ReLU is max(x, 0); NaN is propagated.
func ReLU(dst, src []float32) { apply(opReLU, dst, src) }

// ReLU2 is the square of ReLU.
func ReLU2(dst, src []float32) { apply(opReLU2, dst, src) }

// Softcap is cap·Tanh(x/cap), in place.
func Softcap(x []float32, cap float32) {
	scaleBy(x, 1/cap)
	apply(opTanh, x, x)
	scaleBy(x, cap)
}

// SiLUMul writes SiLU(gate)·up. dst may be gate or up.
func SiLUMul(dst, gate, up []float32) { applyMul(opSiLU, dst, gate, up) }

// GELUTanhMul writes GELUTanh(gate)·up. dst may be gate or up.
func GELUTanhMul(dst, gate, up []float32) { applyMul(opGELUTanh, dst, gate, up) }

// GELUErfMul writes GELUErf(gate)·up. dst may be gate or up.
func GELUErfMul(dst, gate, up []float32) { applyMul(opGELUErf, dst, gate, up) }

// applyMul works in pieces that stay in L1 and use a scratch buffer, because dst
// may be an operand.
func applyMul(op unary, dst, gate, up []float32) {
	var piece [512]float32
	gate, up = gate[:len(dst)], up[:len(dst)]
	for i := 0; i < len(dst); i += len(piece) {
		n := min(len(piece), len(dst)-i)
		apply(op, piece[:n], gate[i:i+n])
		mul(dst[i:i+n], piece[:n], up[i:i+n])
	}
}

// A unary is a function of one value.
type unary uint8

const (
	opExp unary = iota
	opSigmoid
	opTanh
	opSiLU
	opGELUTanh
	opGELUErf
	opReLU
	opReLU2
)

func applyGeneric(op unary, dst, src []float32) {
	dst = dst[:len(src)]
	for i, x := range src {
		switch op {
		case opExp:
			dst[i] = exp32(x)
		case opSigmoid:
			dst[i] = 1 / (1 + exp32(-x))
		case opTanh:
			dst[i] = tanh32(x)
		case opSiLU:
			dst[i] = x / (1 + exp32(-x))
		case opGELUTanh:
			x3 := float32(x*x) * x
			t := tanh32(geluScale * (x + float32(geluCubic*x3)))
			dst[i] = float32(0.5*x) * (1 + t)
		case opGELUErf:
			dst[i] = float32(0.5*x) * (1 + erf32(x*invSqrt2))
		case opReLU:
			dst[i] = relu32(x)
		case opReLU2:
			r := relu32(x)
			dst[i] = r * r
		}
	}
}

func relu32(x float32) float32 {
	if x <= 0 {
		return 0
	}
	return x
}

const (
	geluScale = 0.79788456080286535588 // √(2/π)
	geluCubic = 0.044715
	invSqrt2  = 0.70710678118654752440
)

// The constants of exp32: ln 2 in two parts, and the polynomial of Cephes expf.
// Adding expShift rounds to an integer, because no mantissa bits are left for a
// fraction.
const (
	expMin   = -104.0
	expMax   = 89.0
	expShift = 3 << 22
	log2e    = 1.44269504088896341
	ln2Hi    = 0.693359375
	ln2Lo    = -2.12194440e-4
)

var expC = [6]float32{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1}

// exp32 splits x into n·ln 2 + r and scales e^r by 2^n in two steps, since n
// reaches 128 and −150.
func exp32(x float32) float32 {
	if x != x {
		return x
	}
	x = min(max(x, expMin), expMax)
	shifted := FMA(x, log2e, expShift)
	n := shifted - expShift
	r := FMA(n, -ln2Hi, x)
	r = FMA(n, -ln2Lo, r)
	p := expC[0]
	for _, c := range expC[1:] {
		p = FMA(p, r, c)
	}
	y := FMA(FMA(p, r, 1), r, 1)
	k := int32(n)
	h := k >> 1
	return float32(y*math.Float32frombits(uint32(h+127)<<23)) * math.Float32frombits(uint32(k-h+127)<<23)
}

// From tanhMax on the float32 tanh is 1; up to tanhTiny it is x.
const (
	tanhMax  = 9.0
	tanhTiny = 0.0004
)

// Rational approximations of tanh and erf on an interval around zero, odd
// numerators over even denominators, ascending (Eigen, MathFunctionsImpl.h;
// the same in XLA).
var (
	tanhP = [7]float32{4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05, 5.12229709037114e-08, -8.60467152213735e-11, 2.00018790482477e-13, -2.76076847742355e-16}
	tanhQ = [4]float32{4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06}
	erfP  = [7]float32{-1.60960333262415e-02, -2.95459980854025e-03, -7.34990630326855e-04, -5.69250639462346e-05, -2.10102402082508e-06, 2.77068142495902e-08, -2.72614225801306e-10}
	erfQ  = [5]float32{-1.42647390514189e-02, -7.37332916720468e-03, -1.68282697438203e-03, -2.13374055278905e-04, -1.45660718464996e-05}
)

// horner evaluates a polynomial of ascending coefficients.
func horner(c []float32, x float32) float32 {
	p := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		p = float32(p*x) + c[i]
	}
	return p
}

func tanh32(x float32) float32 {
	if x > -tanhTiny && x < tanhTiny || x != x {
		return x
	}
	x = min(max(x, -tanhMax), tanhMax)
	s := x * x
	return float32(x*horner(tanhP[:], s)) / horner(tanhQ[:], s)
}

const erfMax = 4.0 // erf is 1 in float32 from 3.92

func erf32(x float32) float32 {
	if x != x {
		return x
	}
	x = min(max(x, -erfMax), erfMax)
	s := x * x
	return float32(x*horner(erfP[:], s)) / horner(erfQ[:], s)
}
