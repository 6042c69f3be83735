package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Where the fields of dsp's group[float32] are, in bytes.
const (
	groupCoef    = 0
	groupState   = 5 * 64
	groupAdjoint = 7 * 64
	groupPart    = 9 * 64
	groupSum     = 14 * 64
)

// rowsOf are the pointers to rows, 4 of a vector's lanes at a time: lane
// 4q+j of part h is row 8h+4q+j.
type rowsOf struct {
	i     isa
	rows  reg.GPVirtual // of pointers
	frame reg.GPVirtual // bytes from the first frame
}

// pointer loads the address of a row.
func (p rowsOf) pointer(part, q, j int) Mem {
	r := GP64()
	lane := part*p.i.width()/4 + 4*q + j
	MOVQ(at(p.rows, 8*lane), r)
	return Mem{Base: r, Index: p.frame, Scale: 1}
}

// A tile is 4 vectors, of rows or of frames, and a fifth to work with. Tiles
// are used again and again, so that 16 registers are enough.
type tile struct {
	v     [4]reg.VecVirtual
	spare reg.VecVirtual
}

func newTile(i isa) *tile {
	v := i.vecs(5)
	return &tile{[4]reg.VecVirtual(v), v[4]}
}

// transpose exchanges frames and rows in every quarter or half.
func (t *tile) transpose() {
	a, b, c, d, e := t.v[0], t.v[1], t.v[2], t.v[3], t.spare
	VUNPCKLPS(b, a, e)
	VUNPCKHPS(b, a, a)
	VUNPCKLPS(d, c, b)
	VUNPCKHPS(d, c, c)
	VUNPCKLPD(b, e, d)
	VUNPCKHPD(b, e, e)
	VUNPCKLPD(c, a, b)
	VUNPCKHPD(c, a, a)
	t.v, t.spare = [4]reg.VecVirtual{d, e, b, a}, c
}

// load reads 4 frames of the rows of one part: a vector for each frame.
func (p rowsOf) load(part int, t *tile) {
	for j, v := range t.v {
		VMOVUPS(p.pointer(part, 0, j), v.AsX())
		for q := 1; q < p.i.width()/16; q++ {
			if p.i == avx512 {
				VINSERTF32X4(Imm(uint64(q)), p.pointer(part, q, j), v, v)
			} else {
				VINSERTF128(Imm(uint64(q)), p.pointer(part, q, j), v, v)
			}
		}
	}
	t.transpose()
}

// store writes 4 frames.
func (p rowsOf) store(part int, t *tile) {
	t.transpose()
	for j, v := range t.v {
		VMOVUPS(v.AsX(), p.pointer(part, 0, j))
		for q := 1; q < p.i.width()/16; q++ {
			if p.i == avx512 {
				VEXTRACTF32X4(Imm(uint64(q)), v, p.pointer(part, q, j))
			} else {
				VEXTRACTF128(Imm(uint64(q)), v, p.pointer(part, q, j))
			}
		}
	}
}

// field is part of one of a group's arrays.
func field(i isa, g reg.Register, offset, k, part int) Mem {
	return at(g, offset+64*k+part*i.width())
}

// coefficients keeps them in registers where there are many.
func coefficients(i isa, g reg.Register, part int) (c [5]Op) {
	for k := range c {
		m := field(i, g, groupCoef, k, part)
		c[k] = m
		if i == avx512 {
			c[k] = i.loadPS(m)
		}
	}
	return c
}

// biquadForward filters so many rows, a multiple of 4 frames.
func biquadForward(suffix string, i isa, lanes int) {
	text("forward"+suffix, "func(group *float32, y, x **float32, n int)")
	Doc("forward" + suffix + " filters a multiple of 4 frames.")
	g, n := arg("group"), arg("n")
	frame := GP64()
	XORQ(frame, frame)
	x, y := rowsOf{i, arg("x"), frame}, rowsOf{i, arg("y"), frame}
	parts := lanes * 4 / i.width()
	var coef [2][5]Op
	var s1, s2 [2]reg.VecVirtual
	for p := range parts {
		coef[p] = coefficients(i, g, p)
		s1[p] = i.loadPS(field(i, g, groupState, 0, p))
		s2[p] = i.loadPS(field(i, g, groupState, 1, p))
	}
	t := newTile(i)
	loop := label("loop")
	Label(loop)
	for p := range parts {
		b0, c1, c2, a1, a2 := coef[p][0], coef[p][1], coef[p][2], coef[p][3], coef[p][4]
		x.load(p, t)
		state, old := s1[p], s2[p]
		for _, v := range t.v {
			u := t.spare
			VMULPS(c2, v, u)
			VFMADD231PS(c1, v, old)      // t = c1·x + s2
			VFMADD132PS(b0, state, v)    // y = x·b0 + s1
			VFNMADD231PS(a2, state, u)   // s2' = c2·x − a2·s1
			VFNMADD132PS(a1, old, state) // s1' = t − a1·s1
			t.spare, old = old, u        // and back, four times
		}
		y.store(p, t)
	}
	ADDQ(Imm(16), frame)
	SUBQ(Imm(4), n)
	JNZ(LabelRef(loop))
	for p := range parts {
		VMOVUPS(s1[p], field(i, g, groupState, 0, p))
		VMOVUPS(s2[p], field(i, g, groupState, 1, p))
	}
	ret()
}

// biquadRow filters one row, the group's first.
func biquadRow() {
	text("forward1AVX2", "func(group, y, x *float32, n int)")
	Doc("forward1AVX2 filters the first row of a group.")
	g, y, x, n := arg("group"), arg("y"), arg("x"), arg("n")
	load := func(offset, k int) reg.VecVirtual {
		v := XMM()
		VMOVSS(field(avx2, g, offset, k, 0), v)
		return v
	}
	b0, c1, c2, a1, a2 := load(groupCoef, 0), load(groupCoef, 1), load(groupCoef, 2), load(groupCoef, 3), load(groupCoef, 4)
	s1, s2 := load(groupState, 0), load(groupState, 1)
	loop := label("loop")
	Label(loop)
	v, u := XMM(), XMM()
	VMOVSS(at(x, 0), v)
	VMULSS(c2, v, u)
	VFMADD231SS(c1, v, s2)
	VFMADD132SS(b0, s1, v)
	VFNMADD231SS(a2, s1, u)
	VFNMADD132SS(a1, s2, s1)
	VMOVAPS(u, s2)
	VMOVSS(v, at(y, 0))
	ADDQ(Imm(4), x)
	ADDQ(Imm(4), y)
	DECQ(n)
	JNZ(LabelRef(loop))
	VMOVSS(s1, field(avx2, g, groupState, 0, 0))
	VMOVSS(s2, field(avx2, g, groupState, 1, 0))
	ret()
}

// biquadBackward is the transpose over a multiple of 4 frames, whose last is
// before frame start+n, with and without gradients of the coefficients, of as
// many rows as a vector has lanes.
func biquadBackward(i isa) {
	for _, sums := range []bool{false, true} {
		name := "backward" + string(i)
		if sums {
			name = "backwardSums" + string(i)
		}
		text(name, "func(group *float32, p **float32, start, n int)")
		Doc(name + " goes back over a multiple of 4 frames from start on.")
		g, p, frame, n := arg("group"), arg("p"), arg("start"), arg("n")
		ADDQ(n, frame)
		SHLQ(Imm(2), frame)
		rows := func(k int) rowsOf {
			r := GP64()
			LEAQ(at(p, 128*k), r)
			return rowsOf{i, r, frame}
		}
		dx, dy, x, y := rows(0), rows(1), rows(2), rows(3)
		coef := coefficients(i, g, 0)
		l1, l2 := i.loadPS(field(i, g, groupAdjoint, 0, 0)), i.loadPS(field(i, g, groupAdjoint, 1, 0))
		back, d := newTile(i), newTile(i)
		loop := label("loop")
		Label(loop)
		SUBQ(Imm(16), frame)
		// t[f] is the gradient of s1 before frame f: of those after it, λ1 is
		// t[f+1] and λ2 is t[f+2].
		back.spare = d.spare
		dy.load(0, back)
		d.spare = back.spare
		t := append(back.v[:4:4], l1, l2)
		transposed(coef, t, d.v[:])
		dx.store(0, d)
		if sums {
			x.load(0, d)
			addGradients(i, g, t, d, []int{0, 1, 2}, 0)
			y.load(0, d)
			addGradients(i, g, t, d, []int{1, 2}, 3)
		}
		VMOVAPS(t[1], l2)
		VMOVAPS(t[0], l1)
		SUBQ(Imm(4), n)
		JNZ(LabelRef(loop))
		VMOVUPS(l1, field(i, g, groupAdjoint, 0, 0))
		VMOVUPS(l2, field(i, g, groupAdjoint, 1, 0))
		ret()
	}
}

// transposed replaces gradients of outputs in t by those of the state, and
// writes those of inputs.
func transposed(coef [5]Op, t, d []reg.VecVirtual) {
	b0, c1, c2, a1, a2 := coef[0], coef[1], coef[2], coef[3], coef[4]
	for f := 3; f >= 0; f-- {
		VMULPS(b0, t[f], d[f])
		VFMADD231PS(c2, t[f+2], d[f])
		VFMADD231PS(c1, t[f+1], d[f])
		VFNMADD231PS(a2, t[f+2], t[f])
		VFNMADD231PS(a1, t[f+1], t[f])
	}
}

// addGradients adds t[f+k]·x[f] to a sum for each k.
func addGradients(i isa, g reg.Register, t []reg.VecVirtual, x *tile, ks []int, first int) {
	for n, k := range ks {
		m := field(i, g, groupPart, first+n, 0)
		VMOVUPS(m, x.spare)
		for f := 3; f >= 0; f-- {
			VFMADD231PS(t[f+k], x.v[f], x.spare)
		}
		VMOVUPS(x.spare, m)
	}
}

// biquadFlush moves the float32 sums of a group to its float64 ones.
func biquadFlush(i isa) {
	text("flush"+string(i), "func(group *float32)")
	Doc("flush" + string(i) + " moves float32 sums to float64 ones.")
	g := arg("group")
	zero := i.vec()
	i.zero(zero)
	for k := range 5 {
		for p := range 2 * i.parts() {
			v := i.widen(at(g, groupPart+64*k+p*i.width()/2))
			m := at(g, groupSum+128*k+p*i.width())
			VADDPD(m, v, v)
			VMOVUPD(v, m)
		}
		for p := range i.parts() {
			VMOVUPS(zero, field(i, g, groupPart, k, p))
		}
	}
	ret()
}
