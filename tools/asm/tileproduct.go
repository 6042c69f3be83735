package main

import (
	"fmt"
	"math/bits"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Prefetch distances: into the second-level cache, and from there into the
// first, whose few outstanding misses should not all wait for memory.
const (
	tileAhead = 8192
	nearAhead = 2048
)

// Fields of tileArgs.
const (
	argDst = 8 * iota
	argDstStride
	argW
	argStep
	argTiles
	argX
	argXStride
	argCols
	argSums
	argXBack
	// what functions keep there
	varLeft
	varBlocks
	varFull
	varPass
	varW // copies, because the garbage collector may read pointer arguments
	varDst
	varTiles
)

// A tileState is the registers of a product of packed weights.
type tileState struct {
	i                  isa
	f                  packed
	rows               int
	a                  reg.GPVirtual
	code, scale, block reg.GPVirtual
	ahead, n, sums     reg.GPVirtual
	x                  rowBases
	acc                [2][]reg.VecVirtual // [half][row]
	constants          map[string]reg.VecVirtual
	table              reg.VecVirtual
	ones               reg.VecVirtual
	part               int // AVX2: which 8 of 16 weight rows
}

// tileProduct makes the product of packed tiles with some activation rows: for
// every group of columns it sums over blocks in registers and stores the sums,
// and after each chunk it folds them.
func tileProduct(i isa, f packed, rows int) {
	name := packedName(f, i, rows)
	text(name, "func(a *byte)")
	Doc(fmt.Sprintf("%s adds the product of tiles with %d activation rows; a is a tileArgs.", name, rows))
	t := &tileState{i: i, f: f, rows: rows, a: arg("a"), constants: map[string]reg.VecVirtual{}}
	t.code, t.scale, t.ahead, t.n, t.sums = GP64(), GP64(), GP64(), GP64(), GP64()
	t.block = t.scale
	if f.block > 0 {
		t.block = GP64()
	}
	t.x.first = GP64()
	MOVQ(at(t.a, argX), t.x.first)
	if rows > 1 {
		t.x.stride = GP64()
		MOVQ(at(t.a, argXStride), t.x.stride)
	}
	t.x.begin(rows)
	if i == avx2 {
		t.ones = i.bits("words1", 0x00010001)
	}
	f.begin(t)
	tile, chunk, r := label("tile"), label("chunk"), GP64()
	for _, v := range [][2]int{{argW, varW}, {argDst, varDst}, {argTiles, varTiles}} {
		MOVQ(at(t.a, v[0]), r)
		MOVQ(r, at(t.a, v[1]))
	}
	Label(tile)
	MOVQ(at(t.a, varW), t.code)
	MOVQ(at(t.a, argCols), r)
	MOVQ(r, at(t.a, varLeft))
	Label(chunk)
	t.beginChunk()
	t.passes()
	t.fold()
	SUBQ(U32(2048), at(t.a, varLeft))
	JG(LabelRef(chunk))
	// the next tile
	MOVQ(at(t.a, argXBack), r)
	t.x.sub(r)
	MOVQ(at(t.a, argStep), r)
	ADDQ(r, at(t.a, varW))
	ADDQ(Imm(64), at(t.a, varDst))
	SUBQ(Imm(1), at(t.a, varTiles))
	JNZ(LabelRef(tile))
	ret()
}

// tileExpand writes a chunk in the layout of a panel, for products with so many
// activation rows that unpacking once pays.
func tileExpand(f packed) {
	name := "expandTile" + f.name
	text(name, "func(a *byte)")
	Doc(name + " writes the panel of a chunk at x; a is a tileArgs.")
	t := &tileState{i: avx512, f: f, a: arg("a"), constants: map[string]reg.VecVirtual{}}
	t.code, t.scale, t.ahead, t.n, t.sums = GP64(), GP64(), GP64(), GP64(), GP64()
	t.block = t.scale
	if f.block > 0 {
		t.block = GP64()
	}
	f.begin(t)
	if !f.signed {
		t.constant(fmt.Sprintf("plus%d", 128-f.bias), uint32(128-f.bias)*0x01010101)
	}
	MOVQ(at(t.a, argW), t.code)
	r := GP64()
	MOVQ(at(t.a, argCols), r)
	MOVQ(r, at(t.a, varLeft))
	t.beginChunk()
	// scales first, then codes, as beginChunk finds them
	t.x.first, t.x.stride = GP64(), GP64()
	MOVQ(at(t.a, argX), t.x.first)
	SHRQ(Imm(5), r)
	IMUL3Q(U32(uint32(f.panel().scale)), r, r)
	LEAQ(Mem{Base: t.x.first, Index: r, Scale: 1}, t.x.stride)
	t.passes()
	ret()
}

// panel returns the format of the expanded form.
func (f packed) panel() packed {
	for _, p := range panelFormats {
		if p.per16 == f.per16 && p.mins == f.mins {
			return p
		}
	}
	panic("no panel for " + f.name)
}

// expandCell writes 32 columns, or half h of them.
func (t *tileState) expandCell(h int) {
	ks, to, p := []int{0, 1, 2, 3, 4, 5, 6, 7}, 0, t.f.panel()
	if t.f.per16 {
		ks, to = ks[4*h:4*h+4], 64*h
	}
	s, m := t.f.scales(t, h)
	VMOVUPS(s, at(t.x.first, to))
	if m != nil {
		VMOVUPS(m, at(t.x.first, p.scale/2+to))
	}
	for n, w := range t.f.quads(t, ks) {
		if !t.f.signed {
			VPADDB(t.constants[fmt.Sprintf("plus%d", 128-t.f.bias)], w, w)
		}
		VMOVDQU64(w, at(t.x.stride, 64*ks[n]))
	}
	if !t.f.per16 || h == 1 {
		ADDQ(U32(uint32(p.scale)), t.x.first)
		ADDQ(U32(512), t.x.stride)
	}
}

// beginChunk finds the parts of the chunk at code.
func (t *tileState) beginChunk() {
	cols, n := GP64(), GP64()
	MOVQ(at(t.a, varLeft), cols)
	MOVQ(U32(2048), n)
	CMPQ(cols, n)
	CMOVQGT(n, cols)
	LEAQ(at(cols, 255), n)
	SHRQ(Imm(8), n) // blocks
	MOVQ(n, at(t.a, varBlocks))
	SHRQ(Imm(5), cols) // cells
	full := GP64()
	LEAQ(Mem{Index: n, Scale: 8, Base: t.a}, full)
	SUBQ(t.a, full)
	SUBQ(cols, full)
	NEGQ(full)
	ADDQ(Imm(8), full)
	MOVQ(full, at(t.a, varFull))
	align := func(r reg.GPVirtual) {
		ADDQ(Imm(63), r)
		ANDQ(I8(-64), r)
	}
	MOVQ(t.code, t.scale)
	LEAQ(at(t.code, tileAhead), t.ahead)
	if t.f.block > 0 {
		MOVQ(t.code, t.block)
		IMUL3Q(U32(uint32(t.f.block)), n, n)
		align(n)
		ADDQ(n, t.scale)
	}
	IMUL3Q(U32(uint32(t.f.scale)), cols, cols)
	align(cols)
	LEAQ(Mem{Base: t.scale, Index: cols, Scale: 1}, t.code)
}

// passes sums a chunk, group by group.
func (t *tileState) passes() {
	pass, some, next := label("pass"), label("some"), label("next")
	MOVQ(at(t.a, argSums), t.sums)
	MOVQ(U32(8), at(t.a, varPass))
	Label(pass)
	MOVQ(at(t.a, varBlocks), t.n)
	SUBQ(Imm(1), at(t.a, varFull))
	JGE(LabelRef(some))
	DECQ(t.n)
	Label(some)
	count := GP64()
	MOVQ(t.n, count)
	for k, run := range t.runs() {
		if k > 0 {
			t.back(count)
		}
		t.part = run.part
		for _, h := range run.halves {
			t.acc[h] = t.i.vecs(t.rows)
			t.i.zero(t.acc[h]...)
		}
		store, loop := label("store"), label("cell")
		TESTQ(t.n, t.n)
		JZ(LabelRef(store))
		Label(loop)
		if k == 0 && t.rows <= 8 && !t.f.inCache {
			t.prefetch()
		}
		for _, h := range run.halves {
			if t.rows == 0 {
				t.expandCell(h)
			} else {
				t.cell(h)
			}
		}
		t.step()
		DECQ(t.n)
		JNZ(LabelRef(loop))
		Label(store)
		for _, h := range run.halves {
			for r, a := range t.acc[h] {
				VMOVUPS(a, at(t.sums, (8*h*t.rows+r)*64+32*t.part))
			}
		}
	}
	// the blocks' part is the same for all groups, and activations have all
	if t.f.block > 0 {
		IMUL3Q(U32(uint32(t.f.block)), count, count)
		SUBQ(count, t.block)
	}
	if t.rows > 0 {
		CMPQ(at(t.a, varFull), Imm(0))
		JGE(LabelRef(next))
		t.x.add(xCellBytes)
		Label(next)
	}
	ADDQ(U32(uint32(64*t.rows)), t.sums)
	SUBQ(Imm(1), at(t.a, varPass))
	JNZ(LabelRef(pass))
}

// A run goes once through the cells of a pass. AVX2 has the registers for half
// of the rows, and of the columns if they have scales of their own.
type run struct {
	part   int
	halves []int
}

func (t *tileState) runs() []run {
	switch {
	case t.i == avx2 && t.f.per16:
		return []run{{0, []int{0}}, {0, []int{1}}, {1, []int{0}}, {1, []int{1}}}
	case t.i == avx2:
		return []run{{0, []int{0}}, {1, []int{0}}}
	case t.f.per16 && t.rows > 8:
		return []run{{0, []int{0}}, {0, []int{1}}}
	case t.f.per16:
		return []run{{0, []int{0, 1}}}
	}
	return []run{{0, []int{0}}}
}

// back returns to the first of count cells.
func (t *tileState) back(count reg.GPVirtual) {
	MOVQ(count, t.n)
	sub := func(p reg.GPVirtual, bytes int) {
		back := GP64()
		IMUL3Q(U32(uint32(bytes)), count, back)
		SUBQ(back, p)
	}
	sub(t.code, t.f.code)
	sub(t.scale, t.f.scale)
	if t.f.block > 0 {
		sub(t.block, t.f.block)
	}
	back := GP64()
	IMUL3Q(U32(xCellBytes), count, back)
	t.x.sub(back)
}

// prefetch prefetches a cell and its scales, some cells ahead.
func (t *tileState) prefetch() {
	bytes := t.f.code + t.f.scale + t.f.block/8
	for k := 0; k < bytes; k += 64 {
		PREFETCHT1(at(t.ahead, k))
		if k < t.f.code {
			PREFETCHT0(at(t.code, nearAhead+k))
		}
	}
	ADDQ(U32(uint32(bytes)), t.ahead)
}

func (t *tileState) step() {
	ADDQ(U32(uint32(t.f.code)), t.code)
	ADDQ(U32(uint32(t.f.scale)), t.scale)
	if t.f.block > 0 {
		ADDQ(U32(uint32(t.f.block)), t.block)
	}
	if t.rows > 0 {
		t.x.add(xCellBytes)
	}
}

// cell adds 32 columns, or half h of them.
func (t *tileState) cell(h int) {
	start, xm, ks := cellStart, cellMin, []int{0, 1, 2, 3, 4, 5, 6, 7}
	if t.f.per16 {
		start, xm, ks = cellStart16+4*h, cellMin16+4*h, ks[4*h:4*h+4]
	}
	s, m := t.f.scales(t, h)
	if m != nil {
		for r, a := range t.acc[h] {
			if t.i == avx512 {
				VFNMADD231PS_BCST(t.x.at(r, xm), m, a)
				continue
			}
			b := YMM()
			VBROADCASTSS(t.x.at(r, xm), b)
			VFNMADD231PS(b, m, a)
		}
	}
	if t.i == avx512 {
		t.dot512(h, ks, start, s)
	} else {
		t.dot256(h, ks, start, s)
	}
}

// start is the sums of integers before the first product.
func (t *tileState) start(v reg.VecVirtual, r, disp int) {
	shift := 7
	if t.f.bias > 0 {
		shift = bits.TrailingZeros(uint(t.f.bias))
	} else if !t.f.signed || t.i == avx2 {
		t.i.zero(v)
		return
	}
	VPBROADCASTD(t.x.at(r, disp), v)
	if shift < 7 {
		VPSRAD(Imm(uint64(7-shift)), v, v)
	}
}

func (t *tileState) dot512(h int, ks []int, start int, s reg.VecVirtual) {
	together := 8
	if t.rows == 12 {
		together = 6 // or else the wait for each fills the scheduler
	}
	w := t.f.quads(t, ks)
	for first := 0; first < t.rows; first += together {
		sums := make([]reg.VecVirtual, min(together, t.rows-first))
		for r := range sums {
			sums[r] = ZMM()
			t.start(sums[r], first+r, start)
		}
		for n, k := range ks {
			for r, sum := range sums {
				VPDPBUSD_BCST(t.x.at(first+r, 4*k), w[n], sum)
			}
		}
		for r, sum := range sums {
			f := ZMM()
			VCVTDQ2PS(sum, sum)
			VMULPS_BCST(t.x.at(first+r, cellScale), s, f)
			VFMADD231PS(f, sum, t.acc[h][first+r])
		}
	}
}

// dot256 multiplies bytes to words. Products of small codes are added as
// words; weights with a sign give it to the activations.
func (t *tileState) dot256(h int, ks []int, start int, s reg.VecVirtual) {
	sums := t.i.vecs(t.rows)
	for r, sum := range sums {
		t.start(sum, r, start)
	}
	group := max(1, t.f.words)
	if len(ks) == 8 && group < 8 { // pairs share a vector
		ks = []int{0, 4, 1, 5, 2, 6, 3, 7}
	}
	for len(ks) > 0 {
		some := ks[:min(group, len(ks), 2)]
		ks = ks[len(some):]
		ws := t.f.quads(t, some)
		for r, sum := range sums {
			var words reg.VecVirtual
			for n, k := range some {
				x := YMM()
				VPBROADCASTD(t.x.at(r, 4*k), x)
				if t.f.signed {
					u := YMM()
					VPABSB(ws[n], u)
					VPSIGNB(ws[n], x, x)
					VPMADDUBSW(x, u, x)
				} else {
					VPMADDUBSW(x, ws[n], x)
				}
				if words == nil {
					words = x
				} else {
					VPADDW(x, words, words)
				}
			}
			VPMADDWD(t.ones, words, words)
			VPADDD(words, sum, sum)
		}
	}
	for r, sum := range sums {
		f := YMM()
		VCVTDQ2PS(sum, sum)
		VBROADCASTSS(t.x.at(r, cellScale), f)
		VMULPS(s, f, f)
		VFMADD231PS(f, sum, t.acc[h][r])
	}
}

// fold adds the groups' sums in the order of kernel.Lanes.Sum.
func (t *tileState) fold() {
	out, n := GP64(), GP64()
	MOVQ(at(t.a, varDst), out)
	MOVQ(at(t.a, argSums), t.sums)
	MOVQ(U32(uint32(t.rows)), n)
	loop := label("fold")
	Label(loop)
	for part := range t.i.parts() {
		sum := func(g int) Mem { return at(t.sums, g*t.rows*64+32*part) }
		var quarters [4]reg.VecVirtual
		for k := range quarters {
			halves := []reg.VecVirtual{t.i.vec(), t.i.vec()}
			for e, v := range halves {
				VMOVUPS(sum(k+4*e), v)
				if t.f.per16 {
					VADDPS(sum(k+4*e+8), v, v)
				}
			}
			VADDPS(halves[1], halves[0], halves[0])
			quarters[k] = halves[0]
		}
		VADDPS(quarters[1], quarters[0], quarters[0])
		VADDPS(quarters[3], quarters[2], quarters[2])
		VADDPS(quarters[2], quarters[0], quarters[0])
		VADDPS(at(out, 32*part), quarters[0], quarters[0])
		VMOVUPS(quarters[0], at(out, 32*part))
	}
	ADDQ(Imm(64), t.sums)
	ADDQ(at(t.a, argDstStride), out)
	DECQ(n)
	JNZ(LabelRef(loop))
}
