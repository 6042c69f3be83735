package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// An isa is an instruction set, named as the functions' suffix.
type isa string

const (
	avx2   isa = "AVX2"
	avx512 isa = "AVX512"
)

// vec returns a new vector register of the set's full width.
func (i isa) vec() reg.VecVirtual {
	if i == avx512 {
		return ZMM()
	}
	return YMM()
}

// parts is how many vectors hold 16 float32 lanes, width one vector's bytes.
func (i isa) parts() int { return map[isa]int{avx2: 2, avx512: 1}[i] }
func (i isa) width() int { return 64 / i.parts() }

// vecs returns n new registers.
func (i isa) vecs(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for k := range v {
		v[k] = i.vec()
	}
	return v
}

// zero clears vectors.
func (i isa) zero(vs ...reg.VecVirtual) {
	for _, v := range vs {
		VXORPS(v, v, v)
	}
}

// text starts a function.
func text(name, signature string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
}

// ret ends it.
func ret() {
	VZEROUPPER()
	RET()
}

// arg loads a parameter into a register.
func arg(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

// at is base+disp.
func at(base reg.Register, disp int) Mem { return Mem{Base: base, Disp: disp} }

// labels makes names unique across functions.
var labels int

func label(s string) string {
	labels++
	return fmt.Sprintf("%s%d", s, labels)
}

var tables = map[string]Mem{}

// table returns read-only data of 32-bit words, made once for each name.
func table(name string, words ...uint32) Mem {
	if m, ok := tables[name]; ok {
		return m
	}
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for i, w := range words {
		DATA(4*i, U32(w))
	}
	tables[name] = m
	return m
}

// repeat makes a table of groups: each word n times.
func repeat(n int, words ...uint32) (out []uint32) {
	for _, w := range words {
		for range n {
			out = append(out, w)
		}
	}
	return out
}

// repeatAll makes a table of the whole sequence n times.
func repeatAll(n int, words ...uint32) (out []uint32) {
	for range n {
		out = append(out, words...)
	}
	return out
}

// constF returns one float32 in memory.
func constF(f float32) Mem {
	b := math.Float32bits(f)
	return table(fmt.Sprintf("f32_%08x", b), b)
}

// broadcastF loads one float32 into every lane.
func broadcastF(i isa, f float32) reg.VecVirtual {
	v := i.vec()
	VBROADCASTSS(constF(f), v)
	return v
}

// quarter folds 16 lanes to 4.
func quarter(i isa, acc []reg.VecVirtual) reg.VecVirtual {
	y, x := YMM(), XMM()
	if i == avx512 {
		VEXTRACTF64X4(Imm(1), acc[0], y)
		VADDPS(y, acc[0].AsY(), y)
		VEXTRACTF32X4(Imm(1), y, x)
	} else {
		VADDPS(acc[1], acc[0], y)
		VEXTRACTF128(Imm(1), y, x)
	}
	VADDPS(x, y.AsX(), x)
	return x
}

// bits loads one word into every lane.
func (i isa) bits(name string, word uint32) reg.VecVirtual {
	v := i.vec()
	VBROADCASTSS(table(name, word), v)
	return v
}

// load reads a whole vector.
func (i isa) load(m Mem, v reg.VecVirtual) {
	if i == avx512 {
		VMOVDQU64(m, v)
	} else {
		VMOVDQU(m, v)
	}
}
