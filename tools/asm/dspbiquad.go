package main

import (
	"slices"

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
// 4q+j is row 4q+j.
type rowsOf struct {
	i     isa
	rows  reg.GPVirtual // of pointers
	disp  int           // of the first of them, in bytes
	frame reg.GPVirtual // bytes from the first frame
}

// pointer loads the address of a row.
func (p rowsOf) pointer(q, j int) Mem {
	r := GP64()
	MOVQ(at(p.rows, p.disp+8*(4*q+j)), r)
	return Mem{Base: r, Index: p.frame, Scale: 1}
}

// A strip is consecutive frames of the rows of a register: tiles of 4 vectors,
// which hold rows or frames, and one vector of scratch. A whole strip is read
// and written row by row, because rows may be so far apart that their cache
// lines evict each other. Registers are reused, so that 16 are enough.
type strip struct {
	tiles [][4]reg.VecVirtual
	spare reg.VecVirtual
}

func newStrip(i isa, tiles int) *strip {
	s := &strip{spare: i.vec()}
	for range tiles {
		s.tiles = append(s.tiles, [4]reg.VecVirtual(i.vecs(4)))
	}
	return s
}

// transpose exchanges frames and rows in every quarter or half of a tile.
func (s *strip) transpose(tile int) {
	t := &s.tiles[tile]
	a, b, c, d, e := t[0], t[1], t[2], t[3], s.spare
	VUNPCKLPS(b, a, e)
	VUNPCKHPS(b, a, a)
	VUNPCKLPS(d, c, b)
	VUNPCKHPS(d, c, c)
	VUNPCKLPD(b, e, d)
	VUNPCKHPD(b, e, e)
	VUNPCKLPD(c, a, b)
	VUNPCKHPD(c, a, a)
	*t, s.spare = [4]reg.VecVirtual{d, e, b, a}, c
}

// load reads rows, which must then be transposed.
func (p rowsOf) load(s *strip) {
	for j := range 4 {
		for q := range p.i.width() / 16 {
			m := p.pointer(q, j)
			for c, t := range s.tiles {
				m.Disp = 16 * c
				switch {
				case q == 0:
					VMOVUPS(m, t[j].AsX())
				case p.i == avx512:
					VINSERTF32X4(Imm(uint64(q)), m, t[j], t[j])
				default:
					VINSERTF128(Imm(uint64(q)), m, t[j], t[j])
				}
			}
		}
	}
}

// store writes rows.
func (p rowsOf) store(s *strip) {
	for j := range 4 {
		for q := range p.i.width() / 16 {
			m := p.pointer(q, j)
			for c, t := range s.tiles {
				m.Disp = 16 * c
				switch {
				case q == 0:
					VMOVUPS(t[j].AsX(), m)
				case p.i == avx512:
					VEXTRACTF32X4(Imm(uint64(q)), t[j], m)
				default:
					VEXTRACTF128(Imm(uint64(q)), t[j], m)
				}
			}
		}
	}
}

// strips makes loops over n frames, a multiple of 4: strips of the most tiles
// first, then tiles.
func strips(n reg.GPVirtual, most int, body func(tiles int)) {
	for _, tiles := range slices.Compact([]int{most, 1}) {
		loop, next := label("strip"), label("next")
		Label(loop)
		CMPQ(n, Imm(uint64(4*tiles)))
		JL(LabelRef(next))
		body(tiles)
		SUBQ(Imm(uint64(4*tiles)), n)
		JMP(LabelRef(loop))
		Label(next)
	}
}

// field is one of a group's arrays.
func field(g reg.Register, offset, k int) Mem { return at(g, offset+64*k) }

// coefficients keeps them in registers if there are enough.
func coefficients(i isa, g reg.Register) (c [5]Op) {
	for k := range c {
		m := field(g, groupCoef, k)
		c[k] = m
		if i == avx512 {
			c[k] = i.loadPS(m)
		}
	}
	return c
}

// biquadForward filters as many rows as a vector has lanes.
func biquadForward(i isa) {
	text("forward"+string(i), "func(group *float32, y, x **float32, n int)")
	Doc("forward" + string(i) + " filters a multiple of 4 frames.")
	g, n := arg("group"), arg("n")
	frame := GP64()
	XORQ(frame, frame)
	x, y := rowsOf{i, arg("x"), 0, frame}, rowsOf{i, arg("y"), 0, frame}
	coef := coefficients(i, g)
	b0, c1, c2, a1, a2 := coef[0], coef[1], coef[2], coef[3], coef[4]
	s1, s2 := i.loadPS(field(g, groupState, 0)), i.loadPS(field(g, groupState, 1))
	whole := newStrip(i, i.strip())
	strips(n, i.strip(), func(tiles int) {
		s := &strip{slices.Clone(whole.tiles[:tiles]), whole.spare}
		x.load(s)
		for c := range s.tiles {
			s.transpose(c)
			old := s2
			for _, v := range s.tiles[c] {
				u := s.spare
				VMULPS(c2, v, u)
				VFMADD231PS(c1, v, old)   // t = c1·x + s2
				VFMADD132PS(b0, s1, v)    // y = x·b0 + s1
				VFNMADD231PS(a2, s1, u)   // s2' = c2·x − a2·s1
				VFNMADD132PS(a1, old, s1) // s1' = t − a1·s1
				s.spare, old = old, u     // and back, four times
			}
			s.transpose(c)
		}
		y.store(s)
		ADDQ(Imm(uint64(16*tiles)), frame)
	})
	VMOVUPS(s1, field(g, groupState, 0))
	VMOVUPS(s2, field(g, groupState, 1))
	ret()
}

// strip is how many tiles there are registers for.
func (i isa) strip() int { return map[isa]int{avx2: 2, avx512: 4}[i] }

// biquadRow filters one row, the group's first.
func biquadRow() {
	text("forward1AVX2", "func(group, y, x *float32, n int)")
	Doc("forward1AVX2 filters the first row of a group.")
	g, y, x, n := arg("group"), arg("y"), arg("x"), arg("n")
	load := func(offset, k int) reg.VecVirtual {
		v := XMM()
		VMOVSS(field(g, offset, k), v)
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
	VMOVSS(s1, field(g, groupState, 0))
	VMOVSS(s2, field(g, groupState, 1))
	ret()
}

// biquadBackward is the transpose over a multiple of 4 frames, whose last is
// before frame start+n, of as many rows as a vector has lanes.
func biquadBackward(i isa) {
	text("backward"+string(i), "func(group *float32, p **float32, start, n int)")
	Doc("backward" + string(i) + " goes back over a multiple of 4 frames from start on.")
	b := newBackward(i)
	whole := newStrip(i, i.strip())
	strips(b.n, i.strip(), func(tiles int) {
		s := &strip{slices.Clone(whole.tiles[:tiles]), whole.spare}
		SUBQ(Imm(uint64(16*tiles)), b.frame)
		b.rows(1).load(s)
		l1, l2 := b.l1, b.l2
		for c := tiles - 1; c >= 0; c-- {
			s.transpose(c)
			for f := 3; f >= 0; f-- {
				t, d := s.tiles[c][f], s.spare
				b.frameBack(t, d, l1, l2)
				s.tiles[c][f], s.spare, l1, l2 = d, l2, t, l1
			}
		}
		// The strip has taken over registers of the gradients.
		for c := range s.tiles {
			s.transpose(c)
		}
		b.rows(0).store(s)
		b.keep(l1, l2)
	})
	b.end()
}

// A backward is what both functions that go back have.
type backward struct {
	i           isa
	group, p, n reg.GPVirtual
	frame       reg.GPVirtual
	l1, l2      reg.VecVirtual
	coef        [5]Op
}

func newBackward(i isa) backward {
	b := backward{i: i, group: arg("group"), p: arg("p"), n: arg("n"), frame: arg("start")}
	ADDQ(b.n, b.frame)
	SHLQ(Imm(2), b.frame)
	b.coef = coefficients(i, b.group)
	b.l1, b.l2 = i.loadPS(field(b.group, groupAdjoint, 0)), i.loadPS(field(b.group, groupAdjoint, 1))
	return b
}

// rows are those of dx, dy, x and y.
func (b backward) rows(k int) rowsOf { return rowsOf{b.i, b.p, 128 * k, b.frame} }

// frameBack replaces the gradient t of an output by that of the state, and
// writes that of the input.
func (b backward) frameBack(t, d, l1, l2 reg.VecVirtual) {
	b0, c1, c2, a1, a2 := b.coef[0], b.coef[1], b.coef[2], b.coef[3], b.coef[4]
	VMULPS(b0, t, d)
	VFMADD231PS(c2, l2, d)
	VFMADD231PS(c1, l1, d)
	VFNMADD231PS(a2, l2, t)
	VFNMADD231PS(a1, l1, t)
}

// keep moves the gradients of the state back to their registers; either may
// hold the other.
func (b backward) keep(l1, l2 reg.VecVirtual) {
	t := b.i.vec()
	VMOVAPS(l1, t)
	VMOVAPS(l2, b.l2)
	VMOVAPS(t, b.l1)
}

func (b backward) end() {
	VMOVUPS(b.l1, field(b.group, groupAdjoint, 0))
	VMOVUPS(b.l2, field(b.group, groupAdjoint, 1))
	ret()
}

// biquadGradients is biquadBackward with the gradients of the coefficients.
func biquadGradients(i isa) {
	text("gradients"+string(i), "func(group *float32, p **float32, start, n int)")
	Doc("gradients" + string(i) + " goes back over a multiple of 4 frames from start on and adds to the gradients of the coefficients.")
	b := newBackward(i)
	most := i.strip() / 2
	wholeT, wholeD := newStrip(i, most), newStrip(i, most)
	strips(b.n, most, func(tiles int) {
		// t[f] is the gradient of s1 before frame f: of those after it, λ1 is
		// t[f+1] and λ2 is t[f+2].
		back := &strip{slices.Clone(wholeT.tiles[:tiles]), wholeD.spare}
		d := &strip{tiles: slices.Clone(wholeD.tiles[:tiles])}
		SUBQ(Imm(uint64(16*tiles)), b.frame)
		b.rows(1).load(back)
		for c := range tiles {
			back.transpose(c)
		}
		d.spare = back.spare
		t := append(back.frames(), b.l1, b.l2)
		for f := 4*tiles - 1; f >= 0; f-- {
			b.frameBack(t[f], d.frames()[f], t[f+1], t[f+2])
		}
		for c := range tiles {
			d.transpose(c)
		}
		b.rows(0).store(d)
		for k, sums := range [][]int{{0, 1, 2}, {1, 2}} {
			b.rows(2 + k).load(d)
			for c := range tiles {
				d.transpose(c)
			}
			for n, ahead := range sums {
				m := field(b.group, groupPart, 3*k+n)
				VMOVUPS(m, d.spare)
				for f := 4*tiles - 1; f >= 0; f-- {
					VFMADD231PS(t[f+ahead], d.frames()[f], d.spare)
				}
				VMOVUPS(d.spare, m)
			}
		}
		b.keep(t[0], t[1])
	})
	b.end()
}

// frames are the vectors of a transposed strip.
func (s *strip) frames() (f []reg.VecVirtual) {
	for _, t := range s.tiles {
		f = append(f, t[:]...)
	}
	return f
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
			VMOVUPS(zero, at(g, groupPart+64*k+p*i.width()))
		}
	}
	ret()
}
