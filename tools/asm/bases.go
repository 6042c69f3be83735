package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowBases addresses rows at a stride, with a register for every fourth.
type rowBases struct {
	first           reg.GPVirtual
	stride, stride3 reg.GPVirtual
	every4          []reg.GPVirtual
}

func (b *rowBases) begin(rows int) {
	b.every4 = []reg.GPVirtual{b.first}
	if rows == 1 {
		return
	}
	b.stride3 = GP64()
	LEAQ(Mem{Base: b.stride, Index: b.stride, Scale: 2}, b.stride3)
	for k := 4; k < rows; k += 4 {
		next := GP64()
		LEAQ(Mem{Base: b.every4[k/4-1], Index: b.stride, Scale: 4}, next)
		b.every4 = append(b.every4, next)
	}
}

func (b rowBases) at(r, disp int) Mem {
	base := b.every4[r/4]
	switch r % 4 {
	case 0:
		return at(base, disp)
	case 3:
		return Mem{Base: base, Index: b.stride3, Scale: 1, Disp: disp}
	}
	return Mem{Base: base, Index: b.stride, Scale: uint8(r % 4), Disp: disp}
}

func (b rowBases) add(n uint32) {
	for _, r := range b.every4 {
		ADDQ(U32(n), r)
	}
}

func (b rowBases) sub(n reg.GPVirtual) {
	for _, r := range b.every4 {
		SUBQ(n, r)
	}
}
