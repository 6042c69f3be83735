package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dspWindows slide over a row.
func dspWindows(i isa) {
	correlate(i)
	addCorrelation(i)
}

// blocks makes loops over n results, a multiple of 16: large blocks first, then
// blocks of 16. body gets the number of vectors of a block.
func blocks(n reg.GPVirtual, vectors []int, perBlock func(vectors int) int, body func(vectors int)) {
	for _, v := range vectors {
		loop, next := label("block"), label("next")
		size := uint32(perBlock(v))
		Label(loop)
		CMPQ(n, U32(size))
		JL(LabelRef(next))
		body(v)
		SUBQ(U32(size), n)
		JMP(LabelRef(loop))
		Label(next)
	}
}

// correlate writes dst[j] = Σ h[k]·x[j+k] for a multiple of 16 results.
func correlate(i isa) {
	text("correlate"+string(i), "func(dst, x, h *float32, n, taps int)")
	Doc("correlate" + string(i) + " does a multiple of 16 results; there is at least one tap.")
	dst, x, h, n, taps := arg("dst"), arg("x"), arg("h"), arg("n"), arg("taps")
	blocks(n, []int{4 * i.parts(), i.parts()}, func(v int) int { return v * i.width() / 4 }, func(v int) {
		acc := i.vecs(v)
		i.zero(acc...)
		k, window := GP64(), GP64()
		XORQ(k, k)
		MOVQ(x, window)
		loop := label("taps")
		Label(loop)
		tap := i.vec()
		VBROADCASTSS(Mem{Base: h, Index: k, Scale: 4}, tap)
		for a, s := range acc {
			VFMADD231PS(at(window, a*i.width()), tap, s)
		}
		ADDQ(Imm(4), window)
		INCQ(k)
		CMPQ(k, taps)
		JL(LabelRef(loop))
		for a, s := range acc {
			VMOVUPS(s, at(dst, a*i.width()))
		}
		ADDQ(U32(uint32(v*i.width())), dst)
		ADDQ(U32(uint32(v*i.width())), x)
	})
	ret()
}

// addCorrelation adds Σ y[n]·x[n+k] to sum[k], last n first, for a multiple of
// 16 sums.
func addCorrelation(i isa) {
	text("addCorrelation"+string(i), "func(sum *float64, y, x *float32, sums, n int)")
	Doc("addCorrelation" + string(i) + " does a multiple of 16 sums over at least one frame.")
	sum, y, x, sums, n := arg("sum"), arg("y"), arg("x"), arg("sums"), arg("n")
	blocks(sums, []int{4 * i.parts(), 2 * i.parts()}, func(v int) int { return v * i.width() / 8 }, func(v int) {
		acc := i.vecs(v)
		for a, s := range acc {
			VMOVUPD(at(sum, a*i.width()), s)
		}
		f := GP64()
		MOVQ(n, f)
		loop := label("frames")
		Label(loop)
		DECQ(f)
		g := i.vec()
		VBROADCASTSS(Mem{Base: y, Index: f, Scale: 4}, g.AsX())
		VCVTSS2SD(g.AsX(), g.AsX(), g.AsX())
		VBROADCASTSD(g.AsX(), g)
		for a, s := range acc {
			VFMADD231PD(i.widen(Mem{Base: x, Index: f, Scale: 4, Disp: a * i.width() / 2}), g, s)
		}
		TESTQ(f, f)
		JNZ(LabelRef(loop))
		for a, s := range acc {
			VMOVUPD(s, at(sum, a*i.width()))
		}
		ADDQ(U32(uint32(v*i.width())), sum)
		ADDQ(U32(uint32(v*i.width()/2)), x)
	})
	ret()
}
