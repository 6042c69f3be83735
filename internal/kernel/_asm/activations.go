package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The functions of activate.go, eight lanes at a time. Operations and their
// order are those of the portable code, without fusing.

func activations() {
	for _, f := range []struct {
		name string
		f    func(x reg.VecVirtual) reg.VecVirtual
	}{
		{"exp", exp}, {"sigmoid", sigmoid}, {"tanh", tanh}, {"silu", silu},
		{"geluTanh", geluTanh}, {"geluErf", geluErf}, {"relu", relu}, {"relu2", relu2},
	} {
		text(f.name+"AVX2", "func(dst, src *float32, n int)")
		Doc(f.name + "AVX2 applies the function to a multiple of 8 values.")
		dst, src, n := arg("dst"), arg("src"), arg("n")
		each(n, []reg.GPVirtual{dst, src}, func() {
			VMOVUPS(f.f(load(src, 0)), at(dst, 0))
		})
	}

	text("expSumAVX2", "func(acc *float32, x *float32, n int, top float32)")
	Doc("expSumAVX2 does expSumGeneric for a multiple of 16.")
	acc, x, n := arg("acc"), arg("x"), arg("n")
	top := scalar("top")
	a := []reg.VecVirtual{load(acc, 0), load(acc, 32)}
	loop := label("loop")
	Label(loop)
	for k := range a {
		y := load(x, 32*k)
		VSUBPS(top, y, y)
		y = exp(y)
		VMOVUPS(y, at(x, 32*k))
		VADDPS(y, a[k], a[k])
	}
	ADDQ(Imm(64), x)
	SUBQ(Imm(16), n)
	JNZ(LabelRef(loop))
	for k := range a {
		VMOVUPS(a[k], at(acc, 32*k))
	}
	ret()

	text("maxAVX2", "func(x *float32, n int, top *[8]float32)")
	Doc("maxAVX2 raises eight maxima; numbers win over NaN.")
	x, n = arg("x"), arg("n")
	out := arg("top")
	m := load(out, 0)
	loop = label("loop")
	Label(loop)
	y := load(x, 0)
	VMAXPS(m, y, m) // the first operand of two without order
	ADDQ(Imm(32), x)
	SUBQ(Imm(8), n)
	JNZ(LabelRef(loop))
	VMOVUPS(m, at(out, 0))
	ret()
}

func c(f float32) reg.VecVirtual { return broadcastF(avx2, f) }

func mul(a, b reg.VecVirtual) reg.VecVirtual { y := YMM(); VMULPS(a, b, y); return y }
func add(a, b reg.VecVirtual) reg.VecVirtual { y := YMM(); VADDPS(a, b, y); return y }
func sub(a, b reg.VecVirtual) reg.VecVirtual { y := YMM(); VSUBPS(b, a, y); return y }
func div(a, b reg.VecVirtual) reg.VecVirtual { y := YMM(); VDIVPS(b, a, y); return y }

// clamp bounds x; a NaN stays one, since the second operand wins.
func clamp(x reg.VecVirtual, lo, hi float32) reg.VecVirtual {
	y := YMM()
	VMAXPS(x, c(lo), y)
	VMINPS(y, c(hi), y)
	return y
}

func exp(x reg.VecVirtual) reg.VecVirtual {
	x = clamp(x, -104, 89)
	n := mul(x, c(1.44269504088896341))
	VROUNDPS(Imm(8), n, n)
	r := sub(x, mul(n, c(0.693359375)))
	r = sub(r, mul(n, c(-2.12194440e-4)))
	p := c(1.9875691500e-4)
	for _, k := range []float32{1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1} {
		p = add(mul(p, r), c(k))
	}
	y := add(add(mul(p, mul(r, r)), r), c(1))
	k, h := YMM(), YMM()
	VCVTPS2DQ(n, k)
	VPSRAD(Imm(1), k, h)
	VPSUBD(h, k, k)
	for _, e := range []reg.VecVirtual{h, k} {
		VPADDD(broadcastBits("bias", 127), e, e)
		VPSLLD(Imm(23), e, e)
	}
	return mul(mul(y, h), k)
}

// onePlusExp is 1 + e⁻ˣ.
func onePlusExp(x reg.VecVirtual) reg.VecVirtual {
	y := YMM()
	VXORPS(broadcastBits("signBit", 0x80000000), x, y)
	return add(c(1), exp(y))
}

func sigmoid(x reg.VecVirtual) reg.VecVirtual { return div(c(1), onePlusExp(x)) }
func silu(x reg.VecVirtual) reg.VecVirtual    { return div(x, onePlusExp(x)) }

func horner(x reg.VecVirtual, ascending ...float32) reg.VecVirtual {
	n := len(ascending) - 1
	p := c(ascending[n])
	for i := n - 1; i >= 0; i-- {
		p = add(mul(p, x), c(ascending[i]))
	}
	return p
}

func tanh(x reg.VecVirtual) reg.VecVirtual {
	a, m := YMM(), YMM()
	VANDPS(broadcastBits("absMask", 0x7fffffff), x, a)
	VCMPPS(Imm(1), c(0.0004), a, m) // |x| < 0.0004
	t := clamp(x, -9, 9)
	s := mul(t, t)
	y := div(
		mul(t, horner(s, 4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05, 5.12229709037114e-08, -8.60467152213735e-11, 2.00018790482477e-13, -2.76076847742355e-16)),
		horner(s, 4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06))
	VBLENDVPS(m, x, y, y)
	return y
}

func erf(x reg.VecVirtual) reg.VecVirtual {
	t := clamp(x, -4, 4)
	s := mul(t, t)
	return div(
		mul(t, horner(s, -1.60960333262415e-02, -2.95459980854025e-03, -7.34990630326855e-04, -5.69250639462346e-05, -2.10102402082508e-06, 2.77068142495902e-08, -2.72614225801306e-10)),
		horner(s, -1.42647390514189e-02, -7.37332916720468e-03, -1.68282697438203e-03, -2.13374055278905e-04, -1.45660718464996e-05))
}

func geluTanh(x reg.VecVirtual) reg.VecVirtual {
	x3 := mul(mul(x, x), x)
	t := tanh(mul(c(0.79788456080286535588), add(x, mul(c(0.044715), x3))))
	return mul(mul(c(0.5), x), add(c(1), t))
}

func geluErf(x reg.VecVirtual) reg.VecVirtual {
	t := erf(mul(x, c(0.70710678118654752440)))
	return mul(mul(c(0.5), x), add(c(1), t))
}

func relu(x reg.VecVirtual) reg.VecVirtual {
	y, z := YMM(), YMM()
	avx2.zero(z)
	VCMPPS(Imm(0x16), z, x, y) // not x ≤ 0
	VANDPS(x, y, y)
	return y
}

func relu2(x reg.VecVirtual) reg.VecVirtual {
	y := relu(x)
	return mul(y, y)
}
