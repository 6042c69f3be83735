package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The structure panel: bytes of one group of 16 columns and of one block of it
// with its scales, and where scales and minima are.
const (
	chunkBlocks = 8
	panelGroup  = chunkBlocks * panelBlock
	panelBlock  = 256
	scaleGroup  = chunkBlocks * 64
	panelScales = 16 * panelGroup
	panelMins   = panelScales + 16*scaleGroup
)

// interleave makes one block of a panel.
func interleave(i isa) {
	text("interleave"+string(i), "func(q *uint8, s *float32, part *int8, mins int)")
	Doc("interleave" + string(i) + " writes one block of a panel from 16 unpacked rows.")
	q, s, part, mins := arg("q"), arg("s"), arg("part"), arg("mins")
	var flip reg.VecVirtual
	if i == avx512 {
		flip = i.bits("flip", 0x80808080)
	}
	n, loop := GP64(), label("loop")
	MOVQ(U32(16), n)
	Label(loop)
	transpose16(i, part, func(k, h int, v reg.VecVirtual) {
		if i == avx512 {
			VPXORD(flip, v, v)
		}
		i.store(v, at(q, 64*k+32*h))
	})
	ADDQ(U32(panelGroup), q)
	ADDQ(Imm(16), part)
	DECQ(n)
	JNZ(LabelRef(loop))
	// part is now at the scales, and s takes scales, then minima
	groups := label("groups")
	SHLQ(Imm(2), mins)
	ADDQ(Imm(4), mins)
	Label(groups)
	transpose16(i, part, func(k, h int, v reg.VecVirtual) {
		VMOVUPS(v, at(s, scaleGroup*k+32*h))
	})
	ADDQ(U32(4*scaleGroup), s)
	ADDQ(Imm(16), part)
	DECQ(mins)
	JNZ(LabelRef(groups))
	ret()
}

// transpose16 reads 16 bytes of each of 16 rows and gives four vectors of the
// rows' words to store; AVX2 does two halves.
func transpose16(i isa, part reg.GPVirtual, store func(k, h int, v reg.VecVirtual)) {
	for h := range i.parts() {
		var v [4]reg.VecVirtual
		row := func(r int) Mem { return at(part, (8*h+r)*wBlockBytes) }
		for r := range v {
			v[r] = i.vec()
			if i == avx2 {
				VBROADCASTI128(row(r), v[r])
				VINSERTI128(Imm(1), row(r+4), v[r], v[r])
				continue
			}
			VBROADCASTI32X4(row(r), v[r])
			for l := 1; l < 4; l++ {
				VINSERTI32X4(Imm(uint64(l)), row(r+4*l), v[r], v[r])
			}
		}
		t := i.vecs(8)
		VPUNPCKLDQ(v[1], v[0], t[0])
		VPUNPCKHDQ(v[1], v[0], t[1])
		VPUNPCKLDQ(v[3], v[2], t[2])
		VPUNPCKHDQ(v[3], v[2], t[3])
		VPUNPCKLQDQ(t[2], t[0], t[4])
		VPUNPCKHQDQ(t[2], t[0], t[5])
		VPUNPCKLQDQ(t[3], t[1], t[6])
		VPUNPCKHQDQ(t[3], t[1], t[7])
		for k := range 4 {
			store(k, h, t[4+k])
		}
	}
}

// A panelState is the registers of a product with a panel.
type panelState struct {
	i     isa
	per16 bool
	rows  int
	q, s  reg.GPVirtual // weights and scales of the block
	x, f  rowBases      // activations and their scales
	ones  reg.VecVirtual
	acc   []reg.VecVirtual // [rows]
	half  int              // AVX2: which 8 of 16 weight rows
}

// panelDot makes the product of a panel with some activation rows: for every
// group of columns a sum over blocks in registers, which is put away, and at
// the end the fold of these.
func panelDot(i isa, per16 bool, rows int) {
	name := "panel32"
	if per16 {
		name = "panel16"
	}
	text(fmt.Sprintf("%sx%d%s", name, rows, i), "func(dst *float32, dstStride int, q *uint8, x *int8, xStride, blocks, mins int, sums *float32)")
	Doc(fmt.Sprintf("%sx%d%s adds the product of a panel with %d activation rows to dst; strides are in bytes.", name, rows, i, rows))
	p := &panelState{i: i, per16: per16, rows: rows, q: arg("q"), s: GP64()}
	LEAQ(at(p.q, panelScales), p.s)
	p.x.first = arg("x")
	if rows > 1 {
		p.x.stride = arg("xStride")
	}
	p.x.begin(rows)
	p.f = p.x.plus(xScales)
	if i == avx2 {
		p.ones = YMM()
		VBROADCASTSS(table("words1", 0x00010001), p.ones)
	}
	sums, groups := arg("sums"), GP64()
	MOVQ(U32(8), groups)
	loop := label("group")
	Label(loop)
	halves := 1
	if per16 {
		halves = 2
	}
	for h := range halves {
		for part := range i.parts() {
			p.half = part
			p.blocks(h)
			for r, a := range p.acc {
				VMOVUPS(a, at(sums, (8*h*rows+r)*64+32*part))
			}
		}
	}
	ADDQ(U32(uint32(64*rows)), sums)
	ADDQ(U32(2*panelGroup), p.q)
	ADDQ(U32(2*scaleGroup), p.s)
	p.x.add(32)
	p.f.add(4)
	DECQ(groups)
	JNZ(LabelRef(loop))
	p.fold(sums)
	ret()
}

// blocks adds a group of columns of all blocks into acc.
func (p *panelState) blocks(h int) {
	p.acc = p.i.vecs(p.rows)
	p.i.zero(p.acc...)
	n := GP64()
	MOVQ(NewParamAddr("blocks", 40), n)
	loop, plain := label("block"), label("plain")
	starts, xm := xStarts, xMins
	if p.per16 {
		starts, xm = xStarts16+32*h, xMins16+32*h
	}
	Label(loop)
	CMPQ(NewParamAddr("mins", 48), Imm(0))
	JE(LabelRef(plain))
	m := p.i.vec()
	VMOVUPS(at(p.s, 16*scaleGroup+scaleGroup*h+32*p.half), m)
	for r, a := range p.acc {
		if p.i == avx512 {
			VFNMADD231PS_BCST(p.f.at(r, xm-xScales), m, a)
			continue
		}
		t := YMM()
		VBROADCASTSS(p.f.at(r, xm-xScales), t)
		VFNMADD231PS(t, m, a)
	}
	Label(plain)
	if p.i == avx512 {
		p.dot512(h, starts)
	} else {
		p.dot256(h)
	}
	ADDQ(U32(panelBlock), p.q)
	ADDQ(Imm(64), p.s)
	p.x.add(xBlockBytes)
	p.f.add(xBlockBytes)
	DECQ(n)
	JNZ(LabelRef(loop))
	// and back
	MOVQ(NewParamAddr("blocks", 40), n)
	t := GP64()
	IMUL3Q(U32(panelBlock), n, t)
	SUBQ(t, p.q)
	IMUL3Q(U32(64), n, t)
	SUBQ(t, p.s)
	IMUL3Q(U32(xBlockBytes), n, t)
	p.x.sub(t)
	p.f.sub(t)
}

// quads returns the weights' vectors of a group: where 4 columns of 16 rows
// are, and which 4 columns they are.
func (p *panelState) quads(h int) (ms []Mem, cols []int) {
	for c := range 8 {
		if p.per16 && c/4 != h {
			continue
		}
		ms = append(ms, at(p.q, c/4*panelGroup+c%4*64+32*p.half))
		cols = append(cols, 4*c)
	}
	return ms, cols
}

func (p *panelState) dot512(h, starts int) {
	ms, cols := p.quads(h)
	w := p.i.vecs(len(ms))
	for k, m := range ms {
		VMOVDQU64(m, w[k])
	}
	scale := ZMM()
	VMOVUPS(at(p.s, scaleGroup*h), scale)
	const together = 6 // sums at a time, or else the wait for each fills the scheduler
	for first := 0; first < p.rows; first += together {
		t := make([]reg.VecVirtual, min(together, p.rows-first))
		for r := range t {
			t[r] = ZMM()
			VPBROADCASTD(p.f.at(first+r, starts-xScales), t[r])
		}
		for k := range w {
			for r := range t {
				VPDPBUSD_BCST(p.x.at(first+r, cols[k]), w[k], t[r])
			}
		}
		for r := range t {
			f := ZMM()
			VCVTDQ2PS(t[r], t[r])
			VMULPS_BCST(p.f.at(first+r, 0), scale, f)
			VFMADD231PS(f, t[r], p.acc[first+r])
		}
	}
}

func (p *panelState) dot256(h int) {
	ms, cols := p.quads(h)
	t := p.i.vecs(p.rows)
	p.i.zero(t...)
	for k, m := range ms {
		w, u := YMM(), YMM()
		VMOVDQU(m, w)
		VPABSB(w, u)
		for r := range t {
			x := YMM()
			VPBROADCASTD(p.x.at(r, cols[k]), x)
			VPSIGNB(w, x, x)
			VPMADDUBSW(x, u, x)
			VPMADDWD(p.ones, x, x)
			VPADDD(x, t[r], t[r])
		}
	}
	scale := YMM()
	VMOVUPS(at(p.s, scaleGroup*h+32*p.half), scale)
	for r, a := range p.acc {
		f := YMM()
		VCVTDQ2PS(t[r], t[r])
		VBROADCASTSS(p.f.at(r, 0), f)
		VMULPS(scale, f, f)
		VFMADD231PS(f, t[r], a)
	}
}

// fold adds the groups' sums, which end, but for the odd ones of 16 columns,
// at end, in the order of lanes.sum.
func (p *panelState) fold(end reg.GPVirtual) {
	dst, n := arg("dst"), GP64()
	MOVQ(U32(uint32(p.rows)), n)
	loop := label("fold")
	Label(loop)
	for half := range p.i.parts() {
		sum := func(g int) Mem { return at(end, (g-8)*p.rows*64+32*half) }
		var quarters [4]reg.VecVirtual
		for k := range quarters {
			halves := []reg.VecVirtual{p.i.vec(), p.i.vec()}
			for e, v := range halves {
				VMOVUPS(sum(k+4*e), v)
				if p.per16 {
					VADDPS(sum(k+4*e+8), v, v)
				}
			}
			VADDPS(halves[1], halves[0], halves[0])
			quarters[k] = halves[0]
		}
		VADDPS(quarters[1], quarters[0], quarters[0])
		VADDPS(quarters[3], quarters[2], quarters[2])
		VADDPS(quarters[2], quarters[0], quarters[0])
		VADDPS(at(dst, 32*half), quarters[0], quarters[0])
		VMOVUPS(quarters[0], at(dst, 32*half))
	}
	ADDQ(Imm(64), end)
	ADDQ(NewParamAddr("dstStride", 8), dst)
	DECQ(n)
	JNZ(LabelRef(loop))
}
