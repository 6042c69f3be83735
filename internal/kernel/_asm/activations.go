package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The functions of activate.go on whole vectors. Operations and their order
// are those of the portable code, without fusing.

func activations(i isa) {
	lanes := i.width() / 4
	for _, f := range []struct {
		name string
		f    func(x reg.VecVirtual) reg.VecVirtual
	}{
		{"exp", i.exp}, {"sigmoid", i.sigmoid}, {"tanh", i.tanh}, {"silu", i.silu},
		{"geluTanh", i.geluTanh}, {"geluErf", i.geluErf}, {"relu", i.relu}, {"relu2", i.relu2},
	} {
		name := f.name + string(i)
		text(name, "func(dst, src *float32, n int)")
		Doc(fmt.Sprintf("%s applies the function to a multiple of %d values.", name, lanes))
		dst, src, n := arg("dst"), arg("src"), arg("n")
		x := i.vec()
		eachOf(lanes, n, []reg.GPVirtual{dst, src}, func() {
			VMOVUPS(at(src, 0), x)
			VMOVUPS(f.f(x), at(dst, 0))
		})
	}

	text("expSum"+string(i), "func(acc *float32, x *float32, n int, top float32)")
	Doc("expSum" + string(i) + " does expSumGeneric for a multiple of 16.")
	acc, x, n := arg("acc"), arg("x"), arg("n")
	top, a := i.vec(), i.vecs(i.parts())
	VBROADCASTSS(NewParamAddr("top", 24), top)
	for k := range a {
		VMOVUPS(at(acc, k*i.width()), a[k])
	}
	loop := label("loop")
	Label(loop)
	for k := range a {
		y := i.vec()
		VMOVUPS(at(x, k*i.width()), y)
		VSUBPS(top, y, y)
		y = i.exp(y)
		VMOVUPS(y, at(x, k*i.width()))
		VADDPS(y, a[k], a[k])
	}
	ADDQ(Imm(64), x)
	SUBQ(Imm(16), n)
	JNZ(LabelRef(loop))
	for k := range a {
		VMOVUPS(a[k], at(acc, k*i.width()))
	}
	ret()
}

// maximum makes the largest value of a row.
func maximum() {
	text("maxAVX2", "func(x *float32, n int, top *[8]float32)")
	Doc("maxAVX2 raises eight maxima; numbers win over NaN.")
	x, n, out := arg("x"), arg("n"), arg("top")
	m := load(out, 0)
	loop := label("loop")
	Label(loop)
	y := load(x, 0)
	VMAXPS(m, y, m) // the first operand of two without order
	ADDQ(Imm(32), x)
	SUBQ(Imm(8), n)
	JNZ(LabelRef(loop))
	VMOVUPS(m, at(out, 0))
	ret()
}

func (i isa) c(f float32) reg.VecVirtual { return broadcastF(i, f) }

func (i isa) mul(a, b reg.VecVirtual) reg.VecVirtual { y := i.vec(); VMULPS(a, b, y); return y }
func (i isa) add(a, b reg.VecVirtual) reg.VecVirtual { y := i.vec(); VADDPS(a, b, y); return y }
func (i isa) sub(a, b reg.VecVirtual) reg.VecVirtual { y := i.vec(); VSUBPS(b, a, y); return y }
func (i isa) div(a, b reg.VecVirtual) reg.VecVirtual { y := i.vec(); VDIVPS(b, a, y); return y }

// clamp bounds x; a NaN stays one, since the second operand wins.
func (i isa) clamp(x reg.VecVirtual, lo, hi float32) reg.VecVirtual {
	y := i.vec()
	VMAXPS(x, i.c(lo), y)
	VMINPS(y, i.c(hi), y)
	return y
}

func (i isa) exp(x reg.VecVirtual) reg.VecVirtual {
	x = i.clamp(x, -104, 89)
	n := i.mul(x, i.c(1.44269504088896341))
	if i == avx512 {
		VRNDSCALEPS(Imm(8), n, n)
	} else {
		VROUNDPS(Imm(8), n, n)
	}
	r := i.sub(x, i.mul(n, i.c(0.693359375)))
	r = i.sub(r, i.mul(n, i.c(-2.12194440e-4)))
	p := i.c(1.9875691500e-4)
	for _, k := range []float32{1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1} {
		p = i.add(i.mul(p, r), i.c(k))
	}
	y := i.add(i.add(i.mul(p, i.mul(r, r)), r), i.c(1))
	k, h := i.vec(), i.vec()
	VCVTPS2DQ(n, k)
	VPSRAD(Imm(1), k, h)
	VPSUBD(h, k, k)
	for _, e := range []reg.VecVirtual{h, k} {
		VPADDD(i.bits("bias", 127), e, e)
		VPSLLD(Imm(23), e, e)
	}
	return i.mul(i.mul(y, h), k)
}

// onePlusExp is 1 + e⁻ˣ.
func (i isa) onePlusExp(x reg.VecVirtual) reg.VecVirtual {
	y := i.vec()
	VXORPS(i.bits("signBit", 0x80000000), x, y)
	return i.add(i.c(1), i.exp(y))
}

func (i isa) sigmoid(x reg.VecVirtual) reg.VecVirtual { return i.div(i.c(1), i.onePlusExp(x)) }
func (i isa) silu(x reg.VecVirtual) reg.VecVirtual    { return i.div(x, i.onePlusExp(x)) }

func (i isa) horner(x reg.VecVirtual, ascending ...float32) reg.VecVirtual {
	n := len(ascending) - 1
	p := i.c(ascending[n])
	for k := n - 1; k >= 0; k-- {
		p = i.add(i.mul(p, x), i.c(ascending[k]))
	}
	return p
}

func (i isa) tanh(x reg.VecVirtual) reg.VecVirtual {
	a := i.vec()
	VANDPS(i.bits("absMask", 0x7fffffff), x, a)
	t := i.clamp(x, -9, 9)
	s := i.mul(t, t)
	y := i.div(
		i.mul(t, i.horner(s, 4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05, 5.12229709037114e-08, -8.60467152213735e-11, 2.00018790482477e-13, -2.76076847742355e-16)),
		i.horner(s, 4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06))
	const less = 1 // |x| < 0.0004 gives x
	if i == avx512 {
		small := K()
		VCMPPS(Imm(less), i.c(0.0004), a, small)
		VMOVAPS(x, small, y)
		return y
	}
	VCMPPS(Imm(less), i.c(0.0004), a, a)
	VBLENDVPS(a, x, y, y)
	return y
}

func (i isa) erf(x reg.VecVirtual) reg.VecVirtual {
	t := i.clamp(x, -4, 4)
	s := i.mul(t, t)
	return i.div(
		i.mul(t, i.horner(s, -1.60960333262415e-02, -2.95459980854025e-03, -7.34990630326855e-04, -5.69250639462346e-05, -2.10102402082508e-06, 2.77068142495902e-08, -2.72614225801306e-10)),
		i.horner(s, -1.42647390514189e-02, -7.37332916720468e-03, -1.68282697438203e-03, -2.13374055278905e-04, -1.45660718464996e-05))
}

func (i isa) geluTanh(x reg.VecVirtual) reg.VecVirtual {
	x3 := i.mul(i.mul(x, x), x)
	t := i.tanh(i.mul(i.c(0.79788456080286535588), i.add(x, i.mul(i.c(0.044715), x3))))
	return i.mul(i.mul(i.c(0.5), x), i.add(i.c(1), t))
}

func (i isa) geluErf(x reg.VecVirtual) reg.VecVirtual {
	t := i.erf(i.mul(x, i.c(0.70710678118654752440)))
	return i.mul(i.mul(i.c(0.5), x), i.add(i.c(1), t))
}

func (i isa) relu(x reg.VecVirtual) reg.VecVirtual {
	y, z := i.vec(), i.vec()
	i.zero(z)
	const notLessEqual = 0x16
	if i == avx512 {
		keep := K()
		VCMPPS(Imm(notLessEqual), z, x, keep)
		VMOVAPS_Z(x, keep, y)
		return y
	}
	VCMPPS(Imm(notLessEqual), z, x, y)
	VANDPS(x, y, y)
	return y
}

func (i isa) relu2(x reg.VecVirtual) reg.VecVirtual {
	y := i.relu(x)
	return i.mul(y, y)
}
