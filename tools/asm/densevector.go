package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Passes of package dense over vectors of a multiple of 16 values.

// param broadcasts a float32 parameter.
func (i isa) param(name string) reg.VecVirtual {
	v := i.vec()
	c, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(c.Addr, v)
	return v
}

// pass makes a function over n values of arrays; body does the part at disp.
func (i isa) pass(name, doc, signature string, arrays []string, constants []string, body func(a []reg.GPVirtual, c []reg.VecVirtual, disp int)) {
	text(name+string(i), "func("+signature+")")
	Doc(name + string(i) + " " + doc)
	var regs []reg.GPVirtual
	for _, a := range arrays {
		regs = append(regs, arg(a))
	}
	n := arg("n")
	var consts []reg.VecVirtual
	for _, c := range constants {
		consts = append(consts, i.param(c))
	}
	eachOf(16, n, regs, func() {
		for k := range i.parts() {
			body(regs, consts, k*i.width())
		}
	})
}

func densePasses(i isa) {
	ld := func(r reg.GPVirtual, disp int) reg.VecVirtual { return i.loadPS(at(r, disp)) }
	i.pass("addMul", "adds a·b to dst.", "dst, a, b *float32, n int", []string{"dst", "a", "b"}, nil, func(r []reg.GPVirtual, _ []reg.VecVirtual, d int) {
		VMOVUPS(i.add(ld(r[0], d), i.mul(ld(r[1], d), ld(r[2], d))), at(r[0], d))
	})
	i.pass("weigh", "replaces d by p·(d−c).", "d, p *float32, n int, c float32", []string{"d", "p"}, []string{"c"}, func(r []reg.GPVirtual, c []reg.VecVirtual, d int) {
		VMOVUPS(i.mul(ld(r[1], d), i.sub(ld(r[0], d), c[0])), at(r[0], d))
	})
	i.pass("addWeighed", "adds p·(d−c) to dst.", "dst, p, d *float32, n int, c float32", []string{"dst", "p", "d"}, []string{"c"}, func(r []reg.GPVirtual, c []reg.VecVirtual, d int) {
		VMOVUPS(i.add(ld(r[0], d), i.mul(ld(r[1], d), i.sub(ld(r[2], d), c[0]))), at(r[0], d))
	})
	i.pass("scaled", "writes s·x.", "dst, x *float32, n int, s float32", []string{"dst", "x"}, []string{"s"}, func(r []reg.GPVirtual, c []reg.VecVirtual, d int) {
		VMOVUPS(i.mul(ld(r[1], d), c[0]), at(r[0], d))
	})
	i.pass("exps", "replaces x by e^(x−c).", "x *float32, n int, c float32", []string{"x"}, []string{"c"}, func(r []reg.GPVirtual, c []reg.VecVirtual, d int) {
		VMOVUPS(i.exp(i.sub(ld(r[0], d), c[0])), at(r[0], d))
	})
	i.pass("addExps", "adds s·e^(x−c) to dst.", "dst, x *float32, n int, c, s float32", []string{"dst", "x"}, []string{"c", "s"}, func(r []reg.GPVirtual, c []reg.VecVirtual, d int) {
		VMOVUPS(i.add(ld(r[0], d), i.mul(c[1], i.exp(i.sub(ld(r[1], d), c[0])))), at(r[0], d))
	})
	for _, f := range []struct {
		name string
		f    func(x reg.VecVirtual) reg.VecVirtual
	}{
		{"sigmoidSlope", i.sigmoidSlope}, {"tanhSlope", i.tanhSlope}, {"siluSlope", i.siluSlope}, {"geluTanhSlope", i.geluTanhSlope},
	} {
		i.pass(f.name, "writes derivatives at x.", "dst, x *float32, n int", []string{"dst", "x"}, nil, func(r []reg.GPVirtual, _ []reg.VecVirtual, d int) {
			VMOVUPS(f.f(ld(r[1], d)), at(r[0], d))
		})
	}
	i.pass("siluMulBack", "adds the gradients of silu(gate)·up.", "dgate, dup, gate, up, dy *float32, n int", []string{"dgate", "dup", "gate", "up", "dy"}, nil, func(r []reg.GPVirtual, _ []reg.VecVirtual, d int) {
		x, dy := ld(r[2], d), ld(r[4], d)
		below := i.onePlusExp(x)
		VMOVUPS(i.add(ld(r[1], d), i.mul(i.div(x, below), dy)), at(r[1], d))
		s := i.div(i.c(1), below)
		slope := i.mul(s, i.add(i.c(1), i.mul(x, i.sub(i.c(1), s))))
		VMOVUPS(i.add(ld(r[0], d), i.mul(i.mul(slope, ld(r[3], d)), dy)), at(r[0], d))
	})
	lanes(i, "sumExps", "adds e^(x−c) to 16 lanes.", "acc, x *float32, n int, c float32", []string{"x"}, 1, func(r []reg.GPVirtual, a []reg.VecVirtual, d int) {
		for k := range a {
			VADDPS(i.exp(i.sub(ld(r[0], d+k*i.width()), i.param("c"))), a[k], a[k])
		}
	})
	dotLanes(i)
	matVecRows(i)
	matVecColumns(i)
	outer(i, false)
	outer(i, true)
}

func (i isa) sigmoidSlope(x reg.VecVirtual) reg.VecVirtual {
	s := i.sigmoid(x)
	return i.mul(s, i.sub(i.c(1), s))
}

func (i isa) tanhSlope(x reg.VecVirtual) reg.VecVirtual {
	t := i.tanh(x)
	return i.sub(i.c(1), i.mul(t, t))
}

func (i isa) siluSlope(x reg.VecVirtual) reg.VecVirtual {
	s := i.sigmoid(x)
	return i.mul(s, i.add(i.c(1), i.mul(x, i.sub(i.c(1), s))))
}

func (i isa) geluTanhSlope(x reg.VecVirtual) reg.VecVirtual {
	const scale, cubic = 0.79788456080286535588, 0.044715
	squares := i.mul(x, x)
	t := i.tanh(i.mul(i.c(scale), i.add(x, i.mul(i.c(cubic), i.mul(squares, x)))))
	slope := i.mul(i.c(scale), i.add(i.c(1), i.mul(i.c(3*cubic), squares)))
	half := i.mul(i.c(0.5), i.add(i.c(1), t))
	return i.add(half, i.mul(i.mul(i.mul(i.c(0.5), x), i.sub(i.c(1), i.mul(t, t))), slope))
}

// lanes makes a function that adds to lanes in memory, 16 times groups.
func lanes(i isa, name, doc, signature string, arrays []string, groups int, body func(r []reg.GPVirtual, a []reg.VecVirtual, disp int)) {
	text(name+string(i), "func("+signature+")")
	Doc(name + string(i) + " " + doc)
	acc, n := arg("acc"), arg("n")
	var regs []reg.GPVirtual
	for _, a := range arrays {
		regs = append(regs, arg(a))
	}
	a := i.vecs(groups * i.parts())
	for k, v := range a {
		VMOVUPS(at(acc, k*i.width()), v)
	}
	loop, tail, done := label("loop"), label("tail"), label("done")
	step := func(groups int) {
		for g := range groups {
			body(regs, a[g*i.parts():(g+1)*i.parts()], 64*g)
		}
		for _, r := range regs {
			ADDQ(U32(uint32(64*groups)), r)
		}
	}
	Label(loop)
	SUBQ(U32(uint32(16*groups)), n)
	JL(LabelRef(tail))
	step(groups)
	JMP(LabelRef(loop))
	Label(tail)
	if groups > 1 {
		ADDQ(U32(uint32(16*groups)), n)
		JZ(LabelRef(done))
		step(1)
	}
	Label(done)
	for k, v := range a {
		VMOVUPS(v, at(acc, k*i.width()))
	}
	ret()
}

// dotLanes makes the lanes of a sum of products.
func dotLanes(i isa) {
	lanes(i, "dotLanes", "adds a·b to 32 lanes.", "acc, a, b *float32, n int", []string{"a", "b"}, 2, func(r []reg.GPVirtual, acc []reg.VecVirtual, d int) {
		for k, v := range acc {
			VFMADD231PS(at(r[1], d+k*i.width()), i.loadPS(at(r[0], d+k*i.width())), v)
		}
	})
}

// matVecRows makes dst += m·x, each value in 32 lanes that are folded as
// kernel.Lanes are.
func matVecRows(i isa) {
	text("matVec"+string(i), "func(dst, m, x *float32, rows, n int)")
	Doc("matVec" + string(i) + " adds to dst the products of rows of m, n long, with x.")
	dst, m, x, rows, n := arg("dst"), arg("m"), arg("x"), arg("rows"), arg("n")
	row, loop, tail, done := label("row"), label("loop"), label("tail"), label("done")
	xs, left := GP64(), GP64()
	acc := i.vecs(2 * i.parts())
	step := func(groups int) {
		for k, v := range acc[:groups*i.parts()] {
			VFMADD231PS(at(xs, k*i.width()), i.loadPS(at(m, k*i.width())), v)
		}
		ADDQ(U32(uint32(64*groups)), m)
		ADDQ(U32(uint32(64*groups)), xs)
	}
	Label(row)
	i.zero(acc...)
	MOVQ(x, xs)
	MOVQ(n, left)
	Label(loop)
	SUBQ(Imm(32), left)
	JL(LabelRef(tail))
	step(2)
	JMP(LabelRef(loop))
	Label(tail)
	ADDQ(Imm(32), left)
	JZ(LabelRef(done))
	step(1)
	Label(done)
	for k := range i.parts() {
		VADDPS(acc[i.parts()+k], acc[k], acc[k])
	}
	q := quarter(i, acc[:i.parts()])
	VHADDPS(q, q, q)
	VHADDPS(q, q, q)
	VADDSS(at(dst, 0), q, q)
	VMOVSS(q, at(dst, 0))
	ADDQ(Imm(4), dst)
	DECQ(rows)
	JNZ(LabelRef(row))
	ret()
}

// matVecColumns makes dst += mᵀ·x: chains over rows, 64 columns at a time.
func matVecColumns(i isa) {
	text("matVecT"+string(i), "func(dst, m, x *float32, rows, stride, n int)")
	Doc("matVecT" + string(i) + " adds to n values of dst the products of columns of m, whose rows are stride bytes apart, with x.")
	dst, m, x, stride, n := arg("dst"), arg("m"), arg("x"), arg("stride"), arg("n")
	done := label("done")
	for _, groups := range []int{4, 1} {
		next, loop, row := label("next"), label("columns"), label("row")
		acc := i.vecs(groups * i.parts())
		ms, xs, left := GP64(), GP64(), GP64()
		Label(loop)
		CMPQ(n, Imm(uint64(16*groups)))
		JL(LabelRef(next))
		i.zero(acc...)
		MOVQ(m, ms)
		MOVQ(x, xs)
		MOVQ(NewParamAddr("rows", 24), left)
		Label(row)
		v := i.vec()
		VBROADCASTSS(at(xs, 0), v)
		for k, a := range acc {
			VFMADD231PS(at(ms, k*i.width()), v, a)
		}
		ADDQ(Imm(4), xs)
		ADDQ(stride, ms)
		DECQ(left)
		JNZ(LabelRef(row))
		for k, a := range acc {
			VADDPS(at(dst, k*i.width()), a, a)
			VMOVUPS(a, at(dst, k*i.width()))
		}
		ADDQ(U32(uint32(64*groups)), dst)
		ADDQ(U32(uint32(64*groups)), m)
		SUBQ(Imm(uint64(16*groups)), n)
		JMP(LabelRef(loop))
		Label(next)
	}
	Label(done)
	ret()
}

// outer makes m += s·x·yᵀ, or m = r·m + s·x·yᵀ.
func outer(i isa, scale bool) {
	name, signature := "addOuter", "func(m, x, y *float32, rows, stride, n int, s float32)"
	if scale {
		name, signature = "scaleAddOuter", "func(m, x, y *float32, rows, stride, n int, s, r float32)"
	}
	text(name+string(i), signature)
	Doc(fmt.Sprintf("%s%s changes n columns of rows of m, stride bytes apart.", name, i))
	m, x, y, rows, stride := arg("m"), arg("x"), arg("y"), arg("rows"), arg("stride")
	s := i.param("s")
	var r reg.VecVirtual
	if scale {
		r = i.param("r")
	}
	row, loop := label("row"), label("loop")
	ms, ys, left := GP64(), GP64(), GP64()
	Label(row)
	t := i.vec()
	VBROADCASTSS(at(x, 0), t)
	VMULPS(s, t, t)
	MOVQ(m, ms)
	MOVQ(y, ys)
	MOVQ(NewParamAddr("n", 40), left)
	Label(loop)
	for k := range i.parts() {
		v := i.loadPS(at(ms, k*i.width()))
		if scale {
			VMULPS(r, v, v)
		}
		VFMADD231PS(at(ys, k*i.width()), t, v)
		VMOVUPS(v, at(ms, k*i.width()))
	}
	ADDQ(Imm(64), ms)
	ADDQ(Imm(64), ys)
	SUBQ(Imm(16), left)
	JNZ(LabelRef(loop))
	ADDQ(Imm(4), x)
	ADDQ(stride, m)
	DECQ(rows)
	JNZ(LabelRef(row))
	ret()
}
