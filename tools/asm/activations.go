package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The functions of internal/kernel/activate.go on whole vectors. Operations and their order
// are those of the portable code, which fuses in the exponential alone.

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
		y = i.expBelow(y) // or equal to zero: top is the largest
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
func maximum(i isa) {
	text("max"+string(i), "func(x *float32, n int) float32")
	Doc("max" + string(i) + " returns the largest of a multiple of 16 numbers, negative infinity if there is none; of zeros any.")
	x, n := arg("x"), arg("n")
	tops := i.vecs(2 * i.parts())
	for _, m := range tops {
		VBROADCASTSS(table("negInf", 0xff800000), m)
	}
	loop, odd, done := label("loop"), label("odd"), label("done")
	raise := func(tops []reg.VecVirtual) { // the first operand of two without order
		for k, m := range tops {
			VMAXPS(m, i.loadPS(at(x, k*i.width())), m)
		}
	}
	Label(loop)
	SUBQ(Imm(32), n)
	JL(LabelRef(odd))
	raise(tops)
	ADDQ(U32(128), x)
	JMP(LabelRef(loop))
	Label(odd)
	ADDQ(Imm(32), n)
	JZ(LabelRef(done))
	raise(tops[:i.parts()])
	Label(done)
	for k := len(tops) - 1; k > 0; k-- {
		VMAXPS(tops[k], tops[k-1], tops[k-1])
	}
	y, z := tops[0], YMM()
	if i == avx512 {
		VEXTRACTF64X4(Imm(1), y, z)
		VMAXPS(z, y.AsY(), y.AsY())
	}
	VEXTRACTF128(Imm(1), y.AsY(), z.AsX())
	VMAXPS(z.AsX(), y.AsX(), y.AsX())
	for _, order := range []uint64{0x4e, 0xb1} {
		VPERMILPS(Imm(order), y.AsX(), z.AsX())
		VMAXPS(z.AsX(), y.AsX(), y.AsX())
	}
	Store(y.AsX(), ReturnIndex(0))
	ret()
}

func (i isa) loadPS(m Mem) reg.VecVirtual { y := i.vec(); VMOVUPS(m, y); return y }

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

// fma is a·b+c.
func (i isa) fma(a, b, c reg.VecVirtual) reg.VecVirtual {
	y := i.vec()
	VMOVAPS(c, y)
	VFMADD231PS(a, b, y)
	return y
}

func (i isa) exp(x reg.VecVirtual) reg.VecVirtual {
	y := i.vec()
	VMINPS(x, i.c(89), y)
	return i.expBelow(y)
}

// expBelow is exp of what is below its upper bound, or NaN.
func (i isa) expBelow(x reg.VecVirtual) reg.VecVirtual {
	r := i.vec()
	VMAXPS(x, i.c(-104), r)
	shift := i.c(12582912)
	k := i.fma(r, i.c(1.44269504088896341), shift)
	n := i.sub(k, shift)
	VFMADD231PS(n, i.c(-0.693359375), r)
	VFMADD231PS(n, i.c(2.12194440e-4), r)
	p := i.c(1.9875691500e-4)
	for _, c := range []float32{1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1, 1} {
		VFMADD213PS(i.c(c), r, p)
	}
	if i == avx512 {
		VSCALEFPS(n, p, p)
		return p
	}
	VPSUBD(shift, k, k)
	h := i.vec()
	VPSRAD(Imm(1), k, h)
	VPSUBD(h, k, k)
	for _, e := range []reg.VecVirtual{h, k} {
		VPADDD(i.bits("bias", 127), e, e)
		VPSLLD(Imm(23), e, e)
	}
	return i.mul(i.mul(p, h), k)
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
