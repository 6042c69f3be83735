package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// cacheTile is the number of keys in a tile of the cache; the scores or weights
// of one query and tile have so many bytes.
const (
	cacheTile = 16
	spanBytes = 4 * 256
)

// tilesAhead is the prefetch distance in tiles: a few hundred cycles of work
// for a group of queries.
const tilesAhead = 4

// A scoring is the registers of queries against two vectors of keys: two tiles
// for AVX-512, the halves of one for AVX2. A lane is a key, so nothing is
// added across lanes.
type scoring struct {
	i       isa
	d       string
	k, next []reg.GPVirtual // tiles, and those to fetch meanwhile
	idx     reg.GPVirtual   // where in the tiles the columns are
	left    reg.GPVirtual   // columns
	q       rowBases
	scales  []reg.VecVirtual // Q8_0, of a block
	acc     []reg.VecVirtual // [queries][2]
}

// columnBytes is the size of one column of a tile.
var columnBytes = map[string]int{"F32": 4 * cacheTile, "F16": 2 * cacheTile, "Q80": cacheTile}

// queriesAtOnce is how many queries have two vectors of sums in registers.
func queriesAtOnce(i isa, d string) int {
	switch {
	case i == avx512:
		return 12
	case d == "Q80": // whose scales take registers, too
		return 5
	}
	return 6
}

// scores makes the products of queries with tiles of keys.
func scores(i isa, d string) {
	tiles := 2 / i.parts()
	text(fmt.Sprintf("scores%s%s", d, i), "func(dst, q *float32, n, dim int, tiles **byte, groups int, scale float32)")
	Doc(fmt.Sprintf("scores%s%s does scoresGeneric for groups of %d tiles; %d pointers more are read.", d, i, tiles, tilesAhead))
	dst, list, groups := NewParamAddr("dst", 0), NewParamAddr("tiles", 32), NewParamAddr("groups", 40)
	s := &scoring{i: i, d: d, idx: GP64(), left: GP64()}
	for range tiles {
		s.k, s.next = append(s.k, GP64()), append(s.next, GP64())
	}
	s.q.stride = arg("dim")
	SHLQ(Imm(2), s.q.stride)
	n, q, out := GP64(), GP64(), GP64()
	loop, done := label("tiles"), label("done")
	Label(loop)
	MOVQ(list, out)
	for t := range tiles {
		MOVQ(at(out, 8*t), s.k[t])
		MOVQ(at(out, 8*(tilesAhead+t)), s.next[t])
	}
	ADDQ(Imm(uint64(8*tiles)), list)
	MOVQ(NewParamAddr("n", 16), n)
	MOVQ(NewParamAddr("q", 8), q)
	MOVQ(dst, out)
	forQueries(queriesAtOnce(i, d), n, done, func(count int) {
		s.q.first = q
		s.dot(count)
		for r := range count {
			for v := range 2 {
				if i == avx512 {
					VMULPS_BCST(NewParamAddr("scale", 48), s.acc[2*r+v], s.acc[2*r+v])
				} else {
					x := YMM()
					VBROADCASTSS(NewParamAddr("scale", 48), x)
					VMULPS(x, s.acc[2*r+v], s.acc[2*r+v])
				}
				VMOVUPS(s.acc[2*r+v], at(out, r*spanBytes+v*i.width()))
			}
		}
		ADDQ(U32(uint32(count*spanBytes)), out)
		if count == queriesAtOnce(i, d) {
			IMUL3Q(Imm(uint64(count)), s.q.stride, s.left)
			ADDQ(s.left, q)
		}
	})
	Label(done)
	ADDQ(Imm(uint64(2*i.width())), dst)
	DECQ(groups)
	JNZ(LabelRef(loop))
	ret()
}

// forQueries makes body for most queries at a time while n are left, then for
// the rest, and ends at done.
func forQueries(most int, n reg.GPVirtual, done string, body func(count int)) {
	again, rest := label("queries"), label("rest")
	Label(again)
	CMPQ(n, Imm(uint64(most)))
	JL(LabelRef(rest))
	body(most)
	SUBQ(Imm(uint64(most)), n)
	JMP(LabelRef(again))
	Label(rest)
	for count := most - 1; count > 0; count-- {
		other := label("fewer")
		CMPQ(n, Imm(uint64(count)))
		JNE(LabelRef(other))
		body(count)
		JMP(LabelRef(done))
		Label(other)
	}
}

// dot adds all columns for some queries.
func (s *scoring) dot(count int) {
	q := s.q
	q.first = GP64()
	MOVQ(s.q.first, q.first)
	q.begin(count)
	s.acc = s.i.vecs(2 * count)
	s.i.zero(s.acc...)
	XORQ(s.idx, s.idx)
	MOVQ(NewParamAddr("dim", 24), s.left)
	block, loop := label("block"), label("columns")
	const step = 4
	if s.d == "Q80" {
		Label(block)
		s.scales = s.i.vecs(2)
		for v := range s.scales {
			VCVTPH2PS(s.at(v, 2, 0), s.scales[v])
		}
		ADDQ(Imm(2*cacheTile), s.idx)
	}
	Label(loop)
	for c := range step {
		if c*columnBytes[s.d]%64 == 0 {
			for _, f := range s.next {
				PREFETCHT0(Mem{Base: f, Index: s.idx, Scale: 1, Disp: c * columnBytes[s.d]})
			}
		}
		k := s.i.vecs(2)
		for v := range k {
			s.load(v, c, k[v])
		}
		for r := range count {
			x := s.i.vec()
			VBROADCASTSS(q.at(r, 4*c), x)
			for v := range k {
				VFMADD231PS(k[v], x, s.acc[2*r+v])
			}
		}
	}
	ADDQ(U32(uint32(step*columnBytes[s.d])), s.idx)
	q.add(4 * step)
	SUBQ(Imm(step), s.left)
	if s.d != "Q80" {
		JNZ(LabelRef(loop))
		return
	}
	TESTQ(U32(31), s.left)
	JNZ(LabelRef(loop))
	TESTQ(s.left, s.left)
	JNZ(LabelRef(block))
}

// at addresses vector v of elements of some bytes.
func (s *scoring) at(v, element, disp int) Mem {
	if s.i == avx2 {
		return Mem{Base: s.k[0], Index: s.idx, Scale: 1, Disp: disp + v*8*element}
	}
	return Mem{Base: s.k[v], Index: s.idx, Scale: 1, Disp: disp}
}

func (s *scoring) load(v, c int, k reg.VecVirtual) {
	disp := c * columnBytes[s.d]
	if s.d == "Q80" {
		loadScaled(s.at(v, 1, disp), s.scales[v], k)
		return
	}
	loadFloat(s.d, s.at(v, elementBytes[s.d], disp), k)
}

// blockScale loads a half into all lanes.
func (i isa) blockScale(m Mem) reg.VecVirtual {
	d := i.vec()
	if i == avx512 {
		VPBROADCASTW(m, d.AsY())
		VCVTPH2PS(d.AsY(), d)
	} else {
		VPBROADCASTW(m, d.AsX())
		VCVTPH2PS(d.AsX(), d)
	}
	return d
}

// loadScaled loads bytes as float32 values times scale.
func loadScaled(m Mem, scale, v reg.VecVirtual) {
	VPMOVSXBD(m, v)
	VCVTDQ2PS(v, v)
	VMULPS(scale, v, v)
}
